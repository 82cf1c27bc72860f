/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/tree-internal.h"

enum { PATH_TAIL = 1024 }; /* bytes that are kept of a long path: the last ones */

const char *tree_error_text(int error) {
        switch (error) {
        case EPERM:
                return "not permitted: it is immutable or append-only (see lsattr(1)), and chattr -i -a makes it changeable; or the file system or its server lets nobody change the group, and the driver wants FSGroupPolicy=None or Mount";
        case EACCES:
                return "permission denied: the SELinux policy (see ausearch -m avc), or the file system's server, does not let the worker do it";
        case ENOSPC:
                return "no space is left on the volume, for a label or another group: make room; or for labels mount with a context (OnVolumeMount), which needs none";
        case EDQUOT:
                return "the quota leaves no space, for a label or to the new group: raise it; or for labels mount with a context (OnVolumeMount), which needs none";
        case EROFS:
                return "it is read-only: a snapshot within the volume, or the file system became read-only meanwhile (see the kernel's log)";
        case EIO:
                return "the disk could not be read or written; see the kernel's log";
        case EOPNOTSUPP:
                return "it can't have a label, or another group or mode";
        case EXDEV:
                return "something else is mounted there, which is not entered";
        case EMFILE:
        case ENFILE:
                return "the tree is too deep for the limit of open files: raise LimitNOFILE= of selvol-worker.service";
        case EAGAIN:
                return "it changes faster than it can be walked: try again when less is going on";
        case EUCLEAN:
                return "the file system is damaged here: check it";
        default:
                return strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error";
        }
}

/* Writes backwards what fits of s into the buffer's free front. */
static void prepend(char **p, const char *start, const char *s) {
        size_t n = strlen(s), room = (size_t) (*p - start);

        if (n > room) {
                s += n - room;
                n = room;
        }
        *p -= n;
        memcpy(*p, s, n);
}

/* "…" stands for the beginning of a very long path. */
static char *describe_path(const Dir *d, const char *name) {
        char buffer[PATH_TAIL + 1], *p = buffer + sizeof(buffer) - 1;
        const Dir *at = d;

        *p = '\0';
        if (name)
                prepend(&p, buffer, name);
        for (; at && at->parent; at = at->parent) {
                if (*p != '\0')
                        prepend(&p, buffer, "/");
                prepend(&p, buffer, at->name);
        }
        if (*p == '\0')
                return strdup(".");
        if (p > buffer)
                return strdup(p);
        return strdup_printf("…%s", p);
}

void issue_add(Walk *w, const Dir *d, const char *name, const TreeIssue *what) {
        TreeIssue *i;

        if (what->error != 0)
                atomic_fetch_add(&w->failed, 1);

        if (atomic_load(&w->n_issues) >= TREE_ISSUES_MAX)
                return;
        pthread_mutex_lock(&w->lock);
        if (w->n_issues < TREE_ISSUES_MAX) {
                i = &w->issues[w->n_issues];
                *i = *what;
                i->path = describe_path(d, name);
                i->label = what->label ? strdup(what->label) : NULL;
                if (i->path && (i->label || !what->label))
                        w->n_issues++;
                else
                        issues_done(i, 1);
        }
        pthread_mutex_unlock(&w->lock);
}

void issue_add_error(Walk *w, const Dir *d, const char *name, int error) {
        issue_add(w, d, name, &(TreeIssue){ .error = error });
}

void issues_done(TreeIssue *issues, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(issues[i].path);
                free(issues[i].label);
                issues[i] = (TreeIssue){ 0 };
        }
}

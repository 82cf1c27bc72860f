/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tree/visit.h"

static int thread_enter(Thread *t, const Dir *d) {
        if (t->cwd == d->serial)
                return 0;
        if (fchdir(d->fd) < 0)
                return -errno;
        t->cwd = d->serial;
        return 0;
}

static void visit(Thread *t, const Dir *d, const char *name, TreeEntry *e) {
        const Visitor *v = t->walk->spec->visitor;
        TreeVisit done = { 0 };
        int r;

        e->again = t->walk->pass > 1;
        e->describe = !issues_are_full(&t->walk->issues);
        r = v->visit(v, e, t->scratch, &done);
        if (done.changed)
                count(&t->changed);
        for (size_t i = 0; i < TREE_DIFFERENCES; i++)
                if (done.differs[i])
                        count(&t->differ[i]);
        /* A directory that took the name of a file meanwhile is read at the second look, not one that the file system
         * calls a file. */
        if (r == -EISDIR)
                r = name && dir_was_modified(t->walk, d->fd) ? 0 : -EUCLEAN;
        if (r < 0 || done.text)
                dir_add_issue(t->walk, d, name, done.text, -r);
}

/* In a directory of a larger file system a name may be a hard link to a file outside, and may become one at any time:
 * the inode is pinned before its links are counted. */
static void visit_pinned(Thread *t, const Dir *d, const char *name) {
        _cleanup_close_ int fd = openat(d->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        TreeEntry e = { .fd = fd, .follow = true };
        char path[32];
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0) {
                if (errno != ENOENT && errno != ESTALE)
                        dir_add_issue(t->walk, d, name, NULL, errno);
                return;
        }
        if (S_ISDIR(st.st_mode)) {
                if (!dir_was_modified(t->walk, d->fd))
                        dir_add_issue(t->walk, d, name, NULL, EUCLEAN);
                return;
        }
        if (st.st_nlink > 1) {
                count(t->walk->pass == 1 ? &t->skipped : &t->skipped_again);
                return;
        }
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        e.path = path;
        visit(t, d, name, &e);
}

static void visit_with(Thread *t, const Dir *d, const char *name) {
        Walk *w = t->walk;
        int r = 0;

        rate_wait(&w->rate, &w->queue, &t->granted);
        if (name || w->spec->visitor->visits_dirs_by_path)
                r = thread_enter(t, d);
        if (r < 0)
                dir_add_issue(w, d, name, NULL, -r);
        else if (!name)
                visit(t, d, NULL, &(TreeEntry){ .path = ".", .fd = d->fd });
        else if (w->spec->part && walk_changes(w))
                visit_pinned(t, d, name);
        else
                visit(t, d, name, &(TreeEntry){ .path = name, .fd = -EBADF });
}

void visit_entry(Thread *t, const Dir *d, const char *name) {
        const TreeSpec *spec = t->walk->spec;

        count(&t->steps);
        if (t->walk->pass == 1)
                count(&t->done);
        if (spec->visitor)
                visit_with(t, d, name);
        if (spec->max_entries > 0 && t->done >= spec->max_entries)
                queue_stop(&t->walk->queue, 0);
}

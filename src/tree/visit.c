/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/time-util.h"
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
        if (done.mismatched)
                count(&t->mismatched);
        if (done.misowned)
                count(&t->misowned);
        /* A directory that took the name of a file meanwhile is read at the second look, not one that the file system
         * calls a file. */
        if (r == -EISDIR)
                r = name && dir_is_modified(t->walk, d, false) ? 0 : -EUCLEAN;
        if (r < 0 || done.text)
                dir_add_issue(t->walk, d, name, done.text, -r);
}

/* Fails in any case: with EEXIST if the name is there. That is found out under the directory's lock, so when nobody is in the
 * middle of removing it: the file has a link less by then, but can still be reached by its name. */
static int look_under_lock(const Dir *d, const char *name) {
        int r = renameat2(d->fd, name, d->fd, name, RENAME_NOREPLACE);

        return r < 0 && errno != EEXIST ? -errno : 0;
}

/* In a directory of a larger file system a name may be a hard link to a file outside, and may become one, or cease to be one,
 * at any time: the inode is pinned before its links are counted, and the only one has to be the name itself, also afterwards,
 * without a change of links in between. Returns 1 if it is, 0 if there are others, or a negative errno: -ENOENT if the name is
 * another file's by now. */
static int is_only_name(const Dir *d, const char *name, int fd) {
        enum { LOOKS_MAX = 16 }; /* at a file that changes all the time */
        struct stat st, named;
        int r;

        for (unsigned i = 0; i < LOOKS_MAX; i++) {
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (S_ISDIR(st.st_mode))
                        return -EISDIR;
                if (st.st_nlink > 1)
                        return 0;
                r = look_under_lock(d, name);
                if (r < 0)
                        return r;
                if (fstatat(d->fd, name, &named, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
                        return -errno;
                if (named.st_dev != st.st_dev || named.st_ino != st.st_ino)
                        return -ENOENT;
                if (named.st_nlink == 1 && timespec_nsec(&named.st_ctim) == timespec_nsec(&st.st_ctim))
                        return 1;
        }
        return 0;
}

static void visit_pinned(Thread *t, const Dir *d, const char *name) {
        _cleanup_close_ int fd = openat(d->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        TreeEntry e = { .fd = fd, .follow = true };
        char path[32];
        int r;

        r = fd < 0 ? -errno : is_only_name(d, name, fd);
        if (r == -EISDIR)
                r = dir_is_modified(t->walk, d, false) ? -ENOENT : -EUCLEAN;
        if (r < 0) {
                if (r != -ENOENT && r != -ESTALE)
                        dir_add_issue(t->walk, d, name, NULL, -r);
                return;
        }
        if (r == 0) {
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/time-util.h"
#include "tree/engine.h"

enum { SLICE_NSEC = 50000000 };

/* All threads share one clock that tells when the next entries may be visited; each takes entries for a
 * slice of time and waits until that has come, or the walk is stopped. Time that was not used is not made
 * up for. */
static void wait_for_turn(Thread *t) {
        Walk *w = t->walk;
        uint64_t rate = w->spec->entries_per_sec, now = clock_nsec(CLOCK_MONOTONIC), turn, next, length;

        t->granted = rate * SLICE_NSEC / NSEC_PER_SEC ?: 1;
        length = t->granted * NSEC_PER_SEC / rate;
        turn = atomic_load(&w->next_nsec);
        do
                next = (turn < now ? now : turn) + length;
        while (!atomic_compare_exchange_weak(&w->next_nsec, &turn, next));

        for (turn = next - length; now < turn && !queue_is_stopped(&w->queue); now = clock_nsec(CLOCK_MONOTONIC)) {
                const struct timespec wait = { .tv_nsec =
                                                       (long) (turn - now < SLICE_NSEC ? turn - now : SLICE_NSEC) };

                (void) nanosleep(&wait, NULL);
        }
}

static void visit(Thread *t, const Dir *d, const char *name, TreeEntry *e) {
        const Visitor *v = t->walk->spec->visitor;
        TreeVisit done = { 0 };
        int r;

        e->again = t->walk->pass > 1;
        e->describe = walk_names_issues(t->walk);
        r = v->visit(v, e, t->scratch, &done);
        if (done.changed)
                count(&t->changed);
        if (done.mismatched)
                count(&t->mismatched);
        if (done.misowned)
                count(&t->misowned);
        /* A directory that took the name of a file meanwhile is read at the second look, not one that the
         * file system calls a file. */
        if (r == -EISDIR)
                r = name && dir_is_modified(t->walk, d, false) ? 0 : -EUCLEAN;
        if (r < 0 || done.text)
                dir_add_issue(t->walk, d, name, done.text, -r);
}

/* In a directory of a larger file system a name may be a hard link to a file outside, and may become one,
 * or cease to be one, at any time: the inode is pinned before its links are counted, and the only one has
 * to be the name itself, also afterwards, without a change of links in between. Returns 1 if it is, 0 if
 * there are others, or a negative errno: -ENOENT if the name is another file's by now. */
static int is_only_name(const Dir *d, const char *name, int fd) {
        enum { LOOKS_MAX = 16 }; /* at a file that changes all the time */
        struct stat st, named;

        for (unsigned i = 0; i < LOOKS_MAX; i++) {
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (S_ISDIR(st.st_mode))
                        return -EISDIR;
                if (st.st_nlink > 1)
                        return 0;
                /* This fails in any case: with EEXIST if the name is there. That is found out under the
                 * directory's lock, so when nobody is in the middle of removing it: the file has a link less
                 * by then, but can still be reached by its name. */
                if (renameat2(d->fd, name, d->fd, name, RENAME_NOREPLACE) < 0 && errno != EEXIST)
                        return -errno;
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

        if (w->spec->entries_per_sec > 0) {
                if (t->granted == 0)
                        wait_for_turn(t);
                t->granted--;
        }
        if ((name || w->spec->visitor->visits_dirs_by_path) && t->cwd != d->serial) {
                if (fchdir(d->fd) < 0) {
                        dir_add_issue(w, d, name, NULL, errno);
                        return;
                }
                t->cwd = d->serial;
        }
        if (!name)
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

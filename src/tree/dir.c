/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "tree/engine.h"

enum {
        DIRS_MARGIN = 512,
        PATH_TAIL = 1024, /* bytes that are kept of a long path: the last ones */
        SLICE_NSEC = 50000000,
};

Dir *dir_new(Walk *w, Dir *parent, const char *name, uint64_t inode) {
        size_t n = strlen(name) + 1;
        Dir *d = calloc(1, sizeof(*d) + n);

        if (!d)
                return NULL;
        d->work.kind = WORK_DIR;
        d->inode = inode;
        d->parent = parent;
        d->fd = -EBADF;
        d->pending = 1; /* being read */
        memcpy(d->name, name, n);
        if (parent)
                atomic_fetch_add(&parent->pending, 1);
        atomic_fetch_add(&w->n_dirs, 1);
        return d;
}

void dir_free(Walk *w, Dir *d) {
        fd_close(d->fd);
        free(d);
        atomic_fetch_sub(&w->n_dirs, 1);
}

/* Whether a time stamp shows a change since since_nsec. The kernel gives a changed file the present time, so
 * a user or a clock that ran ahead has set a stamp in the future. */
static bool is_since(const struct timespec *stamp, uint64_t since_nsec) {
        uint64_t nsec = timespec_nsec(stamp);

        return nsec >= since_nsec && nsec <= clock_nsec(CLOCK_REALTIME);
}

bool dir_was_modified(const Walk *w, int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || is_since(&st.st_mtim, w->pass_since_nsec);
}

/* Before the visitor changes a directory, its ctime shows a change, and no user can reset a ctime; afterwards
 * only the mtime is left. The worker may have written the root's mark just before the walk, so the root's
 * ctime is compared with the ctime at the start of the pass. */
bool dir_is_modified(Walk *w, const Dir *d, bool changed) {
        struct stat st;
        bool touched;

        if (fstat(d->fd, &st) < 0 || is_since(&st.st_mtim, w->pass_since_nsec))
                return true;
        touched = d->parent ? is_since(&st.st_ctim, w->pass_since_nsec)
                            : timespec_nsec(&st.st_ctim) != w->root_ctime_nsec;
        if (changed || !touched)
                return false;
        atomic_store(&w->times_set, true);
        return true;
}

/* Whether the file system is damaged: the parent lists a directory, the name is no directory, and nobody has
 * modified the parent meanwhile. */
static bool is_no_directory(Walk *w, const Dir *d) {
        struct stat st;

        return fstatat(d->parent->fd, d->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) >= 0 &&
               !S_ISDIR(st.st_mode) && !dir_is_modified(w, d->parent, false);
}

/* A forged file system may show one directory in many places, so that the walk would never end. No file
 * system has more directories than inodes in use; others may make directories meanwhile, and the walk visits
 * those that they move several times. */
static uint64_t dirs_possible(const struct statfs *s) {
        uint64_t inodes = s->f_files > s->f_ffree ? s->f_files - s->f_ffree : 0;

        return inodes + inodes / 2 + DIRS_MARGIN;
}

/* statfs(2) then tells the limit and the use of the root's project, and not of the file system. */
static bool is_of_project(int fd) {
        struct fsxattr x;

        return ioctl(fd, FS_IOC_FSGETXATTR, &x) >= 0 && (x.fsx_xflags & FS_XFLAG_PROJINHERIT);
}

/* btrfs does not count inodes; of other types a server or a user makes up the numbers. */
int dirs_limit(Walk *w) {
        struct statfs s;

        if (fstatfs(w->spec->fd, &s) < 0)
                return -errno;
        w->reads_parents = s.f_type == EXT4_SUPER_MAGIC || s.f_type == XFS_SUPER_MAGIC;
        w->dirs_before = atomic_load(&w->next_serial);
        w->dirs_max = w->reads_parents && !is_of_project(w->spec->fd) ? dirs_possible(&s) : UINT64_MAX;
        return 0;
}

/* Whether the pass has opened more directories than there were when it began, and than there are now. */
static bool are_too_many(const Walk *w, uint64_t n) {
        struct statfs s;

        return n > w->dirs_max && fstatfs(w->spec->fd, &s) >= 0 && n > dirs_possible(&s);
}

/* Another process may be moving the directory. rename(2) to the same name, which always fails, takes the
 * parent's lock, and so waits until the other one has ended. */
bool dir_is_of_another(Walk *w, const Dir *d, uint64_t parent) {
        if (!w->reads_parents || !d->parent || parent == d->parent->number)
                return false;
        if (renameat2(d->parent->fd, d->name, d->parent->fd, d->name, RENAME_NOREPLACE) < 0 && errno == ENOENT)
                return false;
        return !dir_is_modified(w, d->parent, false);
}

int dir_open(Walk *w, Dir *d) {
        int parent = d->parent ? d->parent->fd : w->spec->fd, fd;
        const char *name = d->parent ? d->name : ".";
        struct stat st;

        fd = open_beneath(parent, name, OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        /* A directory that is moved away during openat2(2) fails with EXDEV, too: try once more. */
        if (fd == -EXDEV)
                fd = open_beneath(parent, name, OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        if ((fd == -ENOTDIR || fd == -ELOOP) && d->parent && is_no_directory(w, d))
                return -EUCLEAN;
        /* Another process removed, renamed or replaced the directory; or, on a damaged file system, the
         * directory contains itself, which fails with ELOOP. */
        if (fd == -ENOTDIR || fd == -ELOOP || fd == -ESTALE)
                return -ENOENT;
        if (fd < 0)
                return fd;
        d->fd = fd;
        d->serial = atomic_fetch_add(&w->next_serial, 1) + 1;
        if (are_too_many(w, d->serial - w->dirs_before)) {
                queue_stop(&w->queue, 0);
                return -EUCLEAN;
        }
        if (fstat(fd, &st) < 0)
                return -errno;
        d->number = st.st_ino;
        if (w->pass == 1)
                return 0;
        /* A moved directory keeps its old times, but its new parent has a new mtime. */
        d->settled = !atomic_load(&w->times_set) && (!d->parent || d->parent->settled) &&
                     !is_since(&st.st_mtim, w->since_nsec);
        return 0;
}

/* Writes the end of s, as far as it fits, in front of *p. */
static void prepend_text(char **p, const char *start, const char *s) {
        size_t n = strlen(s), room = (size_t) (*p - start);

        if (n > room) {
                s += n - room;
                n = room;
        }
        *p -= n;
        memcpy(*p, s, n);
}

/* "…" replaces the beginning of a very long path. */
static char *describe_path(const Dir *d, const char *name) {
        char buffer[PATH_TAIL + 1], *p = buffer + sizeof(buffer) - 1;

        *p = '\0';
        if (name)
                prepend_text(&p, buffer, name);
        for (const Dir *at = d; at && at->parent; at = at->parent) {
                if (*p != '\0')
                        prepend_text(&p, buffer, "/");
                prepend_text(&p, buffer, at->name);
        }
        if (*p == '\0')
                return strdup(".");
        if (p > buffer)
                return strdup(p);
        return strdup_printf("…%s", p);
}

void dir_add_issue(Walk *w, const Dir *d, const char *name, char *text, int error) {
        _cleanup_free_ char *path = walk_names_issues(w) ? describe_path(d, name) : NULL,
                            *escaped = path ? string_escape(path, 4 * PATH_TAIL) : NULL, *taken = text;
        unsigned n;

        if (error != 0)
                atomic_fetch_add(&w->failed, 1);
        pthread_mutex_lock(&w->issues_lock);
        n = atomic_load(&w->n_issues);
        if (escaped && n < WALK_ISSUES_MAX) {
                w->issues[n] = (WalkIssue){ .path = TAKE_PTR(escaped), .text = TAKE_PTR(taken), .error = error };
                atomic_store(&w->n_issues, n + 1);
        }
        pthread_mutex_unlock(&w->issues_lock);
}

/* All threads share next_nsec, the time of the next free slice. A thread reserves a slice for some entries
 * and waits until the slice begins or the walk is stopped. Threads do not catch up on unused time. */
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

static void call_visitor(Thread *t, const Dir *d, const char *name, TreeEntry *e) {
        const Visitor *v = t->walk->spec->visitor;
        TreeVisit done = { 0 };
        int r;

        e->again = t->walk->pass > 1;
        e->describe = walk_names_issues(t->walk);
        r = v->visit(v, e, t->scratch, &done);
        if (done.changed)
                count_one(&t->changed);
        if (done.mismatched)
                count_one(&t->mismatched);
        if (done.misowned)
                count_one(&t->misowned);
        /* If a directory has replaced the file, the second pass reads the directory. If nobody has modified
         * the parent, the file system is damaged. */
        if (r == -EISDIR)
                r = name && dir_is_modified(t->walk, d, false) ? 0 : -EUCLEAN;
        if (r < 0 || done.text)
                dir_add_issue(t->walk, d, name, done.text, -r);
}

/* If the root is a directory of a larger file system, a name may be a hard link to a file outside, or become
 * one at any time. So the caller pins the inode before its links are counted; afterwards the name must still
 * lead to the inode, with one link and the same ctime. Returns 1 if the file has this name only, 0 if the
 * file has other names, or a negative errno: -ENOENT if the name leads to another file now. */
static int is_only_name(const Dir *d, const char *name, int fd) {
        enum { LOOKS_MAX = 16 }; /* for a file that changes all the time */
        struct stat st, named;

        for (unsigned i = 0; i < LOOKS_MAX; i++) {
                if (fstat(fd, &st) < 0)
                        return -errno;
                if (S_ISDIR(st.st_mode))
                        return -EISDIR;
                if (st.st_nlink > 1)
                        return 0;
                /* rename(2) to the same name always fails: with EEXIST if the name exists. The kernel finds
                 * that under the directory's lock, so not in the middle of an unlink(2), when the file has a
                 * link less but the name still leads to the file. */
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
                count_one(t->walk->pass == 1 ? &t->skipped : &t->skipped_again);
                return;
        }
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        e.path = path;
        call_visitor(t, d, name, &e);
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
                call_visitor(t, d, NULL, &(TreeEntry){ .path = ".", .fd = d->fd });
        else if (w->spec->part && walk_changes(w))
                visit_pinned(t, d, name);
        else
                call_visitor(t, d, name, &(TreeEntry){ .path = name, .fd = -EBADF });
}

void visit_entry(Thread *t, const Dir *d, const char *name) {
        const TreeSpec *spec = t->walk->spec;

        count_one(&t->steps);
        if (t->walk->pass == 1)
                count_one(&t->done);
        if (spec->visitor)
                visit_with(t, d, name);
        if (spec->max_entries > 0 && t->done >= spec->max_entries)
                queue_stop(&t->walk->queue, 0);
}

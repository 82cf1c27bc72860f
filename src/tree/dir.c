/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "tree/engine.h"

enum { PATH_TAIL = 1024 }; /* bytes that are kept of a long path: the last ones */

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

/* Whether a time stamp tells of a change since then. What changes gets the present time, so one in the
 * future was set by somebody, or when the clock was ahead. */
static bool is_since(const struct timespec *stamp, uint64_t since_nsec) {
        uint64_t nsec = timespec_nsec(stamp);

        return nsec >= since_nsec && nsec <= clock_nsec(CLOCK_REALTIME);
}

bool dir_was_modified(const Walk *w, int fd) {
        struct stat st;

        return fstat(fd, &st) < 0 || is_since(&st.st_mtim, w->pass_since_nsec);
}

/* Before the visitor changes it, a directory's ctime tells what nobody can take back; afterwards its mtime
 * has to do. The root's mark may have been written just before the walk, so its ctime has to be the same
 * one. */
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

/* Whether the file system calls a directory what is none: nobody has replaced it meanwhile. */
static bool is_no_directory(Walk *w, const Dir *d) {
        struct stat st;

        return fstatat(d->parent->fd, d->name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) >= 0 &&
               !S_ISDIR(st.st_mode) && !dir_is_modified(w, d->parent, false);
}

int dir_open(Walk *w, Dir *d) {
        int parent = d->parent ? d->parent->fd : w->spec->fd, fd;
        const char *name = d->parent ? d->name : ".";
        struct stat st;

        fd = open_beneath(parent, name, OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        /* What is moved away in the middle of it looks as if something were mounted there
         * (complete_walk()). */
        if (fd == -EXDEV)
                fd = open_beneath(parent, name, OPEN_DIRECTORY, RESOLVE_NO_XDEV);
        if ((fd == -ENOTDIR || fd == -ELOOP) && d->parent && is_no_directory(w, d))
                return -EUCLEAN;
        /* It was removed, renamed or replaced meanwhile; or it is a directory in itself, where nobody gets
         * in. */
        if (fd == -ENOTDIR || fd == -ELOOP || fd == -ESTALE)
                return -ENOENT;
        if (fd < 0)
                return fd;
        d->fd = fd;
        d->serial = atomic_fetch_add(&w->next_serial, 1) + 1;
        if (w->pass == 1)
                return 0;
        if (fstat(fd, &st) < 0)
                return -errno;
        /* A directory that was moved has its old times, but those above it have not. */
        d->settled = !atomic_load(&w->times_set) && (!d->parent || d->parent->settled) &&
                     !is_since(&st.st_mtim, w->since_nsec);
        return 0;
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

        *p = '\0';
        if (name)
                prepend(&p, buffer, name);
        for (const Dir *at = d; at && at->parent; at = at->parent) {
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "label/tree-internal.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum { SPECIAL = S_ISUID | S_ISGID, MODE_BITS = 07777 };

static int look(const Spot *s, struct stat *ret) {
        int r = s->fd >= 0 ? fstat(s->fd, ret)
                           : fstatat(AT_FDCWD, s->path, ret, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);

        return r < 0 ? -errno : 0;
}

/* Of what is open, be it with O_PATH. */
static int set_mode(int fd, mode_t mode) {
        char path[32];

        if (fchmod(fd, mode & MODE_BITS) >= 0)
                return 0;
        if (errno != EBADF)
                return -errno;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        return chmod(path, mode & MODE_BITS) < 0 ? -errno : 0;
}

static int change_open(const Ownership *o, int fd, const struct stat *st, unsigned *written) {
        mode_t mode = ownership_mode(o, st->st_mode);
        bool taken = false;
        int r;

        if (st->st_gid != o->gid) {
                if (fchownat(fd, "", (uid_t) -1, o->gid, AT_EMPTY_PATH) < 0)
                        return -errno;
                *written |= WROTE_GROUP;
                /* The kernel takes setuid and setgid away from what gets another group. */
                taken = !S_ISDIR(mode) && !S_ISLNK(mode) && mode & SPECIAL;
        }
        if (mode == st->st_mode && !taken)
                return 0;
        r = set_mode(fd, mode);
        if (r >= 0)
                *written |= WROTE_MODE;
        return r;
}

static int change_pinned(const Ownership *o, const char *name, unsigned *written) {
        _cleanup_close_ int fd = openat(AT_FDCWD, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return change_open(o, fd, &st, written);
}

/* Never follows what was exchanged for a symbolic link meanwhile. Returns whether it is done. */
static bool set_mode_by_name(Walk *w, const char *name, mode_t mode) {
        if (atomic_load_explicit(&w->no_fchmodat2, memory_order_relaxed))
                return false;
        if (syscall(SYS_fchmodat2, AT_FDCWD, name, mode & MODE_BITS, AT_SYMLINK_NOFOLLOW) >= 0)
                return true;
        if (errno == ENOSYS)
                atomic_store(&w->no_fchmodat2, true);
        return false;
}

/* What is to have setuid or setgid is pinned: another file that takes its name meanwhile must not get them, nor,
 * where others could bring that about, any mode that is not its own. So is that whose mode can't be set by its name:
 * Linux has the call for it since 6.6 only, a filter of system calls that does not know it may answer with any error,
 * and a symbolic link that was exchanged in has no mode. */
static int change_named(Walk *w, const char *name, const struct stat *st, unsigned *written) {
        const Ownership *o = w->spec->ownership;
        mode_t mode = ownership_mode(o, st->st_mode);

        if (!S_ISLNK(mode) && (mode & SPECIAL || (w->spec->contended && mode != st->st_mode)))
                return change_pinned(o, name, written);
        if (st->st_gid != o->gid) {
                if (fchownat(AT_FDCWD, name, (uid_t) -1, o->gid, AT_SYMLINK_NOFOLLOW) < 0)
                        return -errno;
                *written |= WROTE_GROUP;
        }
        if (mode == st->st_mode)
                return 0;
        if (!set_mode_by_name(w, name, mode))
                return change_pinned(o, name, written);
        *written |= WROTE_MODE;
        return 0;
}

int owner_change(Walk *w, const Spot *s, unsigned *written) {
        const Ownership *o = w->spec->ownership;
        struct stat st;
        int r;

        r = look(s, &st);
        if (r >= 0 && !ownership_holds(o, st.st_gid, st.st_mode))
                r = s->fd >= 0 ? change_open(o, s->fd, &st, written) : change_named(w, s->path, &st, written);
        return is_gone(r) ? 0 : r;
}

int owner_verify(const Ownership *o, const Spot *s, TreeIssue *found) {
        struct stat st;
        int r;

        r = look(s, &st);
        if (r < 0)
                return is_gone(r) ? 0 : r;
        if (!ownership_holds(o, st.st_gid, st.st_mode)) {
                found->misowned = true;
                found->gid = st.st_gid;
                found->mode = st.st_mode;
        }
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "model/limits.h"
#include "label/entry.h"
#include "label/selinux.h"

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

enum { SPECIAL = S_ISUID | S_ISGID, MODE_BITS = 07777, LABEL_GUESS = 256 };

static bool is_gone(int error) {
        return error == -ENOENT || error == -ESTALE;
}

char *label_describe(const char *label) {
        _cleanup_free_ char *escaped = NULL;

        if (isempty(label))
                return strdup("has no label");
        escaped = string_escape(label, CONTEXT_MAX);
        return escaped ? strdup_printf("has the label '%s'", escaped) : NULL;
}

static ssize_t get_label(const TreeEntry *e, char *buffer, size_t size) {
        return e->follow ? getxattr(e->path, LABEL_XATTR, buffer, size)
                         : lgetxattr(e->path, LABEL_XATTR, buffer, size);
}

/* Returns 1 if the entry has the wanted label or is gone; 0 if not, with the label in b->label ("" if the
 * entry has none or the label is too long); or a negative errno. */
static int read_label(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b) {
        /* The kernel allocates and zeroes as many bytes as it is offered. */
        ssize_t n = get_label(e, b->label, LABEL_GUESS);

        if (n < 0 && errno == ERANGE)
                n = get_label(e, b->label, LABEL_MAX - 1);
        if (n < 0 && errno != ENODATA && errno != ERANGE)
                return is_gone(-errno) ? 1 : -errno;
        if (n >= 0 && label_is_verbatim(b->label, (size_t) n, w->context, w->size - 1))
                return 1;
        b->label[n < 0 ? 0 : n] = '\0';
        return 0;
}

int entry_label_compare(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_differs,
                        char **ret_text) {
        _cleanup_free_ char *canonical = NULL;
        int r;

        r = read_label(w, e, b);
        if (r != 0)
                return r < 0 ? r : 0;
        /* Two spellings can name the same label. Most wrong labels are equal, so the last one is
         * remembered. */
        if (b->label[0] == '\0' || !streq(b->label, b->other)) {
                if (selinux_canonicalize_label(b->label, &canonical) >= 0 && streq(canonical, w->context))
                        return 0;
                strcpy(b->other, b->label);
        }
        *ret_differs = true;
        if (e->describe)
                *ret_text = label_describe(canonical ?: b->label);
        return 0;
}

/* A right label is not written: writing it would change the ctime. */
int entry_label_change(const LabelWanted *w, const TreeEntry *e, LabelBuffers *b, bool *ret_changed) {
        bool compare = !w->blind || e->again;
        int r, error;

        if (compare) {
                r = read_label(w, e, b);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        r = e->follow ? setxattr(e->path, LABEL_XATTR, w->context, w->size, 0)
                      : lsetxattr(e->path, LABEL_XATTR, w->context, w->size, 0);
        if (r >= 0) {
                *ret_changed = true;
                return 0;
        }
        error = -errno;
        if (is_gone(error))
                return 0;
        if (compare)
                return error;
        /* An entry whose label can't be written may have the right label. */
        r = read_label(w, e, b);
        return r == 0 ? error : r < 0 ? r : 0;
}

/* According to its parent, an entry without a descriptor is no directory. */
static int get_stat(const TreeEntry *e, struct stat *ret) {
        int r = e->fd >= 0 ? fstat(e->fd, ret)
                           : fstatat(AT_FDCWD, e->path, ret, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);

        if (r < 0)
                return -errno;
        return e->fd < 0 && S_ISDIR(ret->st_mode) ? -EISDIR : 0;
}

/* fchmod(2) fails with EBADF on a descriptor opened with O_PATH. */
static int set_mode(int fd, mode_t mode) {
        char path[32];

        if (fchmod(fd, mode & MODE_BITS) >= 0)
                return 0;
        if (errno != EBADF)
                return -errno;
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        return chmod(path, mode & MODE_BITS) < 0 ? -errno : 0;
}

static int change_open(const Ownership *o, int fd, const struct stat *st, bool *ret_changed) {
        mode_t mode = ownership_mode(o, st->st_mode);
        bool taken = false;
        int r;

        if (st->st_gid != o->gid) {
                if (fchownat(fd, "", (uid_t) -1, o->gid, AT_EMPTY_PATH) < 0)
                        return -errno;
                *ret_changed = true;
                /* chown(2) clears setuid and setgid of a file. */
                taken = !S_ISDIR(mode) && !S_ISLNK(mode) && mode & SPECIAL;
        }
        if (mode == st->st_mode && !taken)
                return 0;
        r = set_mode(fd, mode);
        if (r >= 0)
                *ret_changed = true;
        return r;
}

static int change_pinned(const Ownership *o, const char *name, bool *ret_changed) {
        _cleanup_close_ int fd = openat(AT_FDCWD, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return change_open(o, fd, &st, ret_changed);
}

/* Never follows a symbolic link that has replaced the file. Returns whether the mode is set. */
static bool set_mode_by_name(OwnerWanted *w, const char *name, mode_t mode) {
        if (atomic_load_explicit(&w->no_fchmodat2, memory_order_relaxed))
                return false;
        if (syscall(SYS_fchmodat2, AT_FDCWD, name, mode & MODE_BITS, AT_SYMLINK_NOFOLLOW) >= 0)
                return true;
        if (errno == ENOSYS)
                atomic_store(&w->no_fchmodat2, true);
        return false;
}

/* A file that keeps setuid or setgid is pinned: another file that takes its name meanwhile must not get these
 * bits. If others can rename entries, another file must not get any mode of this file. A file whose mode
 * can't be set by name is pinned, too: fchmodat2(2) exists since Linux 6.6, a seccomp filter that does not
 * know fchmodat2(2) may return any error, and a symbolic link that has replaced the file has no mode. */
static int change_named(OwnerWanted *w, const char *name, const struct stat *st, bool *ret_changed) {
        const Ownership *o = w->ownership;
        mode_t mode = ownership_mode(o, st->st_mode);

        if (!S_ISLNK(mode) && (mode & SPECIAL || (w->contended && mode != st->st_mode)))
                return change_pinned(o, name, ret_changed);
        if (st->st_gid != o->gid) {
                if (fchownat(AT_FDCWD, name, (uid_t) -1, o->gid, AT_SYMLINK_NOFOLLOW) < 0)
                        return -errno;
                *ret_changed = true;
        }
        if (mode == st->st_mode)
                return 0;
        if (!set_mode_by_name(w, name, mode))
                return change_pinned(o, name, ret_changed);
        *ret_changed = true;
        return 0;
}

int entry_owner_change(OwnerWanted *w, const TreeEntry *e, bool *ret_changed) {
        const Ownership *o = w->ownership;
        struct stat st;
        int r;

        r = get_stat(e, &st);
        if (r >= 0 && !ownership_holds(o, st.st_gid, st.st_mode))
                r = e->fd >= 0 ? change_open(o, e->fd, &st, ret_changed) : change_named(w, e->path, &st, ret_changed);
        return is_gone(r) ? 0 : r;
}

int entry_owner_compare(const OwnerWanted *w, const TreeEntry *e, bool *ret_differs, char **ret_text) {
        struct stat st;
        int r;

        r = get_stat(e, &st);
        if (r < 0)
                return is_gone(r) ? 0 : r;
        if (ownership_holds(w->ownership, st.st_gid, st.st_mode))
                return 0;
        *ret_differs = true;
        if (e->describe)
                *ret_text = strdup_printf("has group %" PRIu32 " and mode %04o", st.st_gid,
                                          (unsigned) (st.st_mode & MODE_BITS));
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "basic/path-util.h"
#include "basic/string-util.h"

bool path_is_normalized(const char *path) {
        assert(path);

        if (path[0] != '/' || strnlen(path, PATH_MAX) >= PATH_MAX || !text_is_clean(path))
                return false;
        if (streq(path, "/"))
                return true;

        for (const char *p = path; *p;) {
                size_t n;

                p++;
                n = strcspn(p, "/");
                if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                p += n;
        }
        return true;
}

char *path_make_clean(const char *path) {
        _cleanup_free_ char *from = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
        char *clean, *p;

        if (!from)
                return NULL;
        clean = malloc(strlen(from) + strlen(path) + sizeof("//"));
        if (!clean)
                return NULL;
        p = stpcpy(clean, streq(from, "/") ? "" : from);
        for (size_t n; *path; path += n) {
                path += strspn(path, "/");
                n = strcspn(path, "/");
                if (n == 0 || (n == 1 && path[0] == '.'))
                        continue;
                *p++ = '/';
                p = mempcpy(p, path, n);
        }
        strcpy(p, p == clean ? "/" : "");
        return clean;
}

bool path_is_beneath(const char *path, const char *root) {
        const char *rest;

        assert(path && root);

        if (streq(root, "/"))
                return path[0] == '/' && path[1] != '\0';
        rest = startswith(path, root);
        return rest && rest[0] == '/' && rest[1] != '\0';
}

/* RESOLVE_BENEATH fails with EAGAIN during a concurrent rename; openat2(2) says to retry. */
enum { ATTEMPTS_MAX = 64 };

static int open_resolved(int fd, const char *relative, int flags, uint64_t resolve) {
        struct open_how how = { .flags = (uint64_t) flags | O_CLOEXEC,
                                .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve };

        assert(fd >= 0);
        assert(relative);

        for (unsigned i = 0;;) {
                /* glibc 2.36 has no wrapper. */
                long r = syscall(SYS_openat2, fd, relative, &how, sizeof(how));

                if (r >= 0)
                        return (int) r;
                if (errno == EPERM && how.flags & O_NOATIME)
                        how.flags &= ~(uint64_t) O_NOATIME;
                else if ((errno != EAGAIN && errno != EINTR) || ++i >= ATTEMPTS_MAX)
                        return -errno;
        }
}

int open_beneath(int fd, const char *relative, int flags, uint64_t resolve) {
        return open_resolved(fd, relative, flags, RESOLVE_NO_SYMLINKS | resolve);
}

int open_in_file_system(int fd, const char *relative, int flags) {
        return open_resolved(fd, relative, flags, RESOLVE_NO_XDEV);
}

int open_again(int fd, int flags) {
        char path[sizeof("/proc/self/fd/") + 3 * sizeof(int)];
        int opened;

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", fd);
        opened = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return opened < 0 ? -errno : opened;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "basic/gid-util.h"
#include "basic/string-util.h"
#include "mount/idmap.h"

/* 0 to 2^32-2; the last one is no id. */
#define IDS UINT32_MAX

/* A user namespace can only be made by entering it, and goes with the last process in it or descriptor of it. */
typedef struct Holder {
        pid_t pid; /* 0: none */
        int fd;    /* the child ends when this is closed */
} Holder;

typedef struct Report {
        int error;
        char name[16]; /* of the child's directory in /proc, which may be that of another PID namespace */
} Report;

static void holder_done(Holder *h) {
        h->fd = fd_close(h->fd);
        if (h->pid <= 0)
                return;
        (void) kill(h->pid, SIGKILL);
        while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        h->pid = 0;
}

/* Keeps nothing of the parent's: neither a mount nor a peer must wait for this child. */
static int close_others(int fd) {
        if (fd > 0 && close_range(0, (unsigned) fd - 1, 0) < 0)
                return -errno;
        return close_range((unsigned) fd + 1, ~0U, 0) < 0 ? -errno : 0;
}

static int enter_user_namespace(Report *report) {
        ssize_t n;

        n = readlink("/proc/self", report->name, sizeof(report->name) - 1);
        if (n < 0)
                return -errno;
        if (unshare(CLONE_NEWUSER) < 0)
                return -errno;
        /* Last, as a change of credentials may reset it. */
        return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

static __attribute__((noreturn)) void hold(int fd) {
        Report report = { 0 };
        ssize_t n;
        int r;

        r = close_others(fd);
        if (r >= 0)
                r = enter_user_namespace(&report);
        report.error = r;
        do
                n = send(fd, &report, sizeof(report), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (r < 0 || n < 0)
                _exit(1);
        /* Comes back with the end, also if the parent died before the signal for that was asked for. */
        do
                n = recv(fd, &report, sizeof(report), 0);
        while (n > 0 || (n < 0 && errno == EINTR));
        _exit(0);
}

static int holder_start(Holder *h, Report *ret) {
        int pair[2], r;
        ssize_t n;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        h->fd = pair[0];
        h->pid = fork();
        if (h->pid == 0)
                hold(pair[1]);
        r = h->pid < 0 ? -errno : 0;
        (void) close(pair[1]);
        if (r < 0)
                return r;

        do
                n = recv(h->fd, ret, sizeof(*ret), MSG_WAITALL);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        return n == sizeof(*ret) ? ret->error : -ECHILD;
}

void idmap_swap_map(gid_t a, gid_t b, char ret[IDMAP_TEXT_SIZE]) {
        const uint32_t low = a < b ? a : b, high = a < b ? b : a;
        const struct {
                uint32_t inside, outside, count;
        } extents[] = {
                { 0, 0, low },
                { low, high, 1 },
                { low + 1, low + 1, high - low - 1 },
                { high, low, 1 },
                { high + 1, high + 1, IDS - high - 1 },
        };
        size_t n = 0;

        ret[0] = '\0';
        for (size_t i = 0; i < ELEMENTSOF(extents); i++)
                if (extents[i].count > 0)
                        n += (size_t) snprintf(ret + n, IDMAP_TEXT_SIZE - n, "%" PRIu32 " %" PRIu32 " %" PRIu32 "\n",
                                               extents[i].inside, extents[i].outside, extents[i].count);
}

static int write_map(int proc, const char *name, const char *map) {
        _cleanup_close_ int fd = -EBADF;
        ssize_t n;

        fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        n = write(fd, map, strlen(map)); /* taken as a whole or not at all */
        if (n < 0)
                return -errno;
        return (size_t) n == strlen(map) ? 0 : -EIO;
}

/* A user namespace with the maps, in which there is nobody. */
static int make_namespace(const char *uid_map, const char *gid_map, int *ret) {
        _cleanup_(holder_done) Holder h = { .fd = -EBADF };
        _cleanup_close_ int proc = -EBADF;
        _cleanup_free_ char *path = NULL;
        Report report;
        int r, fd;

        r = holder_start(&h, &report);
        if (r < 0)
                return r;
        path = strdup_printf("/proc/%s", report.name);
        if (!path)
                return -ENOMEM;
        proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0)
                return -errno;
        r = write_map(proc, "uid_map", uid_map);
        if (r >= 0)
                r = write_map(proc, "gid_map", gid_map);
        if (r < 0)
                return r;

        fd = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        *ret = fd;
        return 0;
}

static gid_t swapped(gid_t gid, gid_t a, gid_t b) {
        return gid == a ? b : gid == b ? a : gid;
}

int idmap_swap_groups(int tree, gid_t a, gid_t b) {
        char uid_map[IDMAP_TEXT_SIZE], gid_map[IDMAP_TEXT_SIZE];
        _cleanup_close_ int ns = -EBADF;
        struct stat before, after;
        int r;

        if (a == b || a == GID_NONE || b == GID_NONE)
                return -ERANGE;
        (void) snprintf(uid_map, sizeof(uid_map), "0 0 %" PRIu32 "\n", IDS);
        idmap_swap_map(a, b, gid_map);

        r = make_namespace(uid_map, gid_map, &ns);
        if (r < 0)
                return r;
        if (fstat(tree, &before) < 0)
                return -errno;
        struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t) ns };
        if (mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
                return -errno;
        if (fstat(tree, &after) < 0)
                return -EIO;
        return after.st_gid == swapped(before.st_gid, a, b) && after.st_uid == before.st_uid ? 0 : -EIO;
}

bool idmap_is_unsupported(int error) {
        switch (error < 0 ? -error : error) {
        case EPERM:
        case EINVAL:
        case ENOSYS:
        case EOPNOTSUPP:
        case ENOSPC:
        case EUSERS:
        case EACCES:
                return true;
        default:
                return false;
        }
}

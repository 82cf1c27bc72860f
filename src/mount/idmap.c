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

/* ids 0 to 2^32-2; 2^32-1 is no id */
#define IDS UINT32_MAX

/* Only a process that enters a new user namespace can make one; the namespace ends with its last process or
 * descriptor. */
typedef struct UsernsProcess {
        pid_t pid; /* 0: none */
        int fd;    /* the child ends when fd is closed */
} UsernsProcess;

typedef struct Report {
        int error;
        /* name of the child's directory in /proc, which may be of another PID namespace */
        char name[16];
} Report;

static void userns_process_done(UsernsProcess *p) {
        p->fd = fd_close(p->fd);
        if (p->pid <= 0)
                return;
        (void) kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        p->pid = 0;
}

static int set_up(int fd, Report *report) {
        /* An inherited descriptor would keep a mount busy or a peer waiting. */
        if (fd > 0 && close_range(0, (unsigned) fd - 1, 0) < 0)
                return -errno;
        if (close_range((unsigned) fd + 1, ~0U, 0) < 0)
                return -errno;
        if (readlink("/proc/self", report->name, sizeof(report->name) - 1) < 0)
                return -errno;
        if (unshare(CLONE_NEWUSER) < 0)
                return -errno;
        /* The last step, because a change of credentials may reset the signal. */
        return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? -errno : 0;
}

static __attribute__((noreturn)) void userns_process_run(int fd) {
        Report report = { 0 };
        ssize_t n;

        report.error = set_up(fd, &report);
        do
                n = send(fd, &report, sizeof(report), MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        if (report.error < 0 || n < 0)
                _exit(1);
        /* recv(2) returns at end of file, also if the parent died before PR_SET_PDEATHSIG was set. */
        do
                n = recv(fd, &report, sizeof(report), 0);
        while (n > 0 || (n < 0 && errno == EINTR));
        _exit(0);
}

static int userns_process_start(UsernsProcess *p, Report *ret) {
        _cleanup_close_ int child_fd = -EBADF;
        int pair[2];
        ssize_t n;

        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        p->fd = pair[0];
        child_fd = pair[1];
        p->pid = fork();
        if (p->pid < 0)
                return -errno;
        if (p->pid == 0)
                userns_process_run(child_fd);
        /* Closed here so that recv(2) reads end of file when the child ends. */
        child_fd = fd_close(child_fd);

        do
                n = recv(p->fd, ret, sizeof(*ret), MSG_WAITALL);
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

        assert(a != b && a != GID_NONE && b != GID_NONE);

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
        n = write(fd, map, strlen(map)); /* the kernel takes all or nothing */
        if (n < 0)
                return -errno;
        return (size_t) n == strlen(map) ? 0 : -EIO;
}

/* Makes a user namespace with the maps and without a process. */
static int make_namespace(const char *uid_map, const char *gid_map, int *ret) {
        _cleanup_(userns_process_done) UsernsProcess p = { .fd = -EBADF };
        _cleanup_close_ int proc = -EBADF;
        _cleanup_free_ char *path = NULL;
        Report report;
        int r, fd;

        r = userns_process_start(&p, &report);
        if (r < 0)
                return r;
        path = strdup_printf("/proc/%s", report.name);
        if (!path)
                return -ENOMEM;
        proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0)
                return -errno;
        r = write_map(proc, "uid_map", uid_map);
        if (r < 0)
                return r;
        r = write_map(proc, "gid_map", gid_map);
        if (r < 0)
                return r;

        fd = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return -errno;
        *ret = fd;
        return 0;
}

int idmap_swap_groups(int tree, gid_t a, gid_t b) {
        char uid_map[IDMAP_TEXT_SIZE], gid_map[IDMAP_TEXT_SIZE];
        _cleanup_close_ int ns = -EBADF;
        struct stat before, after;
        gid_t expected;
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
        expected = before.st_gid == a ? b : before.st_gid == b ? a : before.st_gid;
        if (fstat(tree, &after) < 0 || after.st_gid != expected || after.st_uid != before.st_uid)
                return -EIO;
        return 0;
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

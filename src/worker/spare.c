/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "worker/spare.h"

typedef union Control {
        struct cmsghdr header; /* for the alignment */
        char buffer[CMSG_SPACE(sizeof(int))];
} Control;

static int hand_over(int socket, int fd) {
        Control control = { 0 };
        char byte = 0;
        struct msghdr m = {
                .msg_iov = &(struct iovec){ .iov_base = &byte, .iov_len = 1 },
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        struct cmsghdr *header = CMSG_FIRSTHDR(&m);

        *header = (struct cmsghdr){
                .cmsg_level = SOL_SOCKET,
                .cmsg_type = SCM_RIGHTS,
                .cmsg_len = CMSG_LEN(sizeof(int)),
        };
        memcpy(CMSG_DATA(header), &fd, sizeof(int));
        return sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int spare_receive(int socket) {
        Control control = { 0 };
        char byte;
        struct msghdr m = {
                .msg_iov = &(struct iovec){ .iov_base = &byte, .iov_len = 1 },
                .msg_iovlen = 1,
                .msg_control = &control,
                .msg_controllen = sizeof(control),
        };
        const struct cmsghdr *header;
        ssize_t n;
        int fd;

        do
                n = recvmsg(socket, &m, MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        /* The server has not read the child's offer. */
        if (n == 0 || (n < 0 && errno == ECONNRESET))
                return -ENOTCONN;
        if (n < 0)
                return -errno;
        header = CMSG_FIRSTHDR(&m);
        if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
            header->cmsg_len != CMSG_LEN(sizeof(int)))
                return -EBADMSG;
        memcpy(&fd, CMSG_DATA(header), sizeof(int));
        return fd;
}

int spare_offer(int socket) {
        return send(socket, "", 1, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* --- the server's list --- */

void spares_add(Spares *s, Spare spare) {
        if (s->n == SPARES_MAX) {
                fd_close(spare.fd);
                return;
        }
        s->list[s->n++] = spare;
}

int spares_give(Spares *s, int fd, Spare *ret) {
        while (s->n > 0) {
                Spare spare = s->list[--s->n];
                int r;

                s->used = true;
                r = hand_over(spare.fd, fd);
                if (r >= 0) {
                        *ret = spare;
                        return 0;
                }
                fd_close(spare.fd);
                if (r != -EPIPE && r != -ECONNRESET)
                        return r;
        }
        return -ENOENT;
}

void spares_forget(Spares *s, pid_t pid) {
        for (size_t i = 0; i < s->n; i++)
                if (s->list[i].pid == pid) {
                        fd_close(s->list[i].fd);
                        memmove(&s->list[i], &s->list[i + 1], (s->n - i - 1) * sizeof(Spare));
                        s->n--;
                        return;
                }
}

void spares_end(Spares *s, size_t keep) {
        while (s->n > keep)
                fd_close(s->list[--s->n].fd);
}

bool spares_trim(Spares *s) {
        if (!s->used)
                spares_end(s, 1);
        s->used = false;
        return s->n > 1;
}

/* --- the child's look at itself --- */

int belongings_read(Belongings *ret) {
        DIR *dir;

        *ret = (Belongings){ 0 };
        if (readlink("/proc/self/ns/mnt", ret->namespace, sizeof(ret->namespace) - 1) < 0)
                return -errno;
        dir = opendir("/proc/self/fd");
        if (!dir)
                return -errno;
        while (readdir(dir))
                ret->n_descriptors++;
        closedir(dir);
        return 0;
}

bool belongings_are_same(const Belongings *before) {
        struct rusage children;
        struct stat threads;
        Belongings now;

        if (belongings_read(&now) < 0 || now.n_descriptors != before->n_descriptors ||
            !streq(now.namespace, before->namespace))
                return false;
        /* A directory for each thread, and the links of itself. */
        if (stat("/proc/self/task", &threads) < 0 || threads.st_nlink != 3)
                return false;
        /* A process that was waited for has left its page faults, and waitpid(2) finds any other. */
        return getrusage(RUSAGE_CHILDREN, &children) >= 0 && children.ru_minflt + children.ru_majflt == 0 &&
               waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

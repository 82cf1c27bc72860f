/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model/limits.h"
#include "worker/children.h"

/* The last byte of each text stays 0. */
typedef struct Entry {
        _Atomic pid_t pid;  /* 0: free */
        _Atomic bool ready; /* the rest is filled in */
        pid_t peer;
        char operation[16];
        char volume[VOLUME_ID_MAX + 1];
        char target[PATH_MAX];
} Entry;

struct Children {
        size_t n;
        Entry entries[];
};

int children_new(size_t n, Children **ret) {
        Children *c = mmap(NULL, sizeof(Children) + n * sizeof(Entry), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (c == MAP_FAILED)
                return -errno;
        c->n = n;
        *ret = c;
        return 0;
}

static void copy(char *to, size_t size, const char *from) {
        strncpy(to, strempty(from), size - 1);
}

void children_enter(Children *c, pid_t peer, const char *operation, const char *volume, const char *target) {
        for (Entry *e = c->entries; e < c->entries + c->n; e++) {
                pid_t nobody = 0;

                if (!atomic_compare_exchange_strong(&e->pid, &nobody, getpid()))
                        continue;
                e->peer = peer;
                copy(e->operation, sizeof(e->operation), operation);
                copy(e->volume, sizeof(e->volume), volume);
                copy(e->target, sizeof(e->target), target);
                e->ready = true;
                return;
        }
}

void children_leave(Children *c, pid_t pid) {
        for (size_t i = 0; i < c->n; i++)
                if (c->entries[i].pid == pid) {
                        c->entries[i].ready = false;
                        c->entries[i].pid = 0;
                }
}

bool children_next_orphan(const Children *c, pid_t peer, size_t *index, OrphanNote *ret) {
        while (*index < c->n) {
                const Entry *e = &c->entries[(*index)++];

                if (!e->ready || e->peer == peer)
                        continue;
                *ret = (OrphanNote){
                        .pid = e->pid,
                        .operation = (char *) e->operation,
                        .volume = (char *) e->volume,
                        .target = (char *) e->target,
                };
                return true;
        }
        return false;
}

bool children_has(const Children *c, pid_t pid) {
        for (size_t i = 0; i < c->n; i++)
                if (c->entries[i].pid == pid)
                        return true;
        return false;
}

typedef union Control {
        struct cmsghdr header; /* for the alignment */
        char buffer[CMSG_SPACE(sizeof(int))];
} Control;

int hand_over(int socket, int fd) {
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

int hand_over_receive(int socket) {
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
        if (n < 0)
                return -errno;
        if (n == 0)
                return -ENOTCONN;
        header = CMSG_FIRSTHDR(&m);
        if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS ||
            header->cmsg_len != CMSG_LEN(sizeof(int)))
                return -EBADMSG;
        memcpy(&fd, CMSG_DATA(header), sizeof(int));
        return fd;
}

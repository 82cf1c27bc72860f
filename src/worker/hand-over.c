/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/socket.h>

#include "worker/hand-over.h"

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

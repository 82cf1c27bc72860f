/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Tests preload this into selvold. While the file exists that SELVOL_TEST_FREEZE names, nothing gets on disk:
 * if the file is empty, a sync waits, as on a frozen volume, or on a server that does not answer; otherwise a
 * sync fails. While the file of SELVOL_TEST_DEAF exists, the first connection that sends can't send any more,
 * as if its peer did not read; other connections can. With SELVOL_TEST_NO_MACHINE_ID the machine has no
 * id. */

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-id128.h>

static int wait_and_sync(const char *name, int fd) {
        int (*sync_file)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
        const char *path = getenv("SELVOL_TEST_FREEZE");

        struct stat st;

        while (path && stat(path, &st) == 0) {
                if (st.st_size > 0) {
                        errno = EIO;
                        return -1;
                }
                (void) usleep(10000);
        }
        return sync_file(fd);
}

static int peer_is_deaf(int fd) {
        static ino_t deaf;
        const char *path = getenv("SELVOL_TEST_DEAF");
        struct stat st;

        if (!path || fstat(fd, &st) < 0)
                return 0;
        if (deaf == 0 && access(path, F_OK) == 0)
                deaf = st.st_ino;
        return st.st_ino == deaf;
}

__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
        ssize_t (*send_message)(int, const struct msghdr *, int) =
                (ssize_t(*)(int, const struct msghdr *, int)) dlsym(RTLD_NEXT, "sendmsg");

        if (peer_is_deaf(fd)) {
                errno = EAGAIN;
                return -1;
        }
        return send_message(fd, message, flags);
}

__attribute__((visibility("default"))) int sd_id128_get_machine(sd_id128_t *ret) {
        int (*get_machine)(sd_id128_t *) = (int (*)(sd_id128_t *)) dlsym(RTLD_NEXT, "sd_id128_get_machine");

        return getenv("SELVOL_TEST_NO_MACHINE_ID") ? -ENOENT : get_machine(ret);
}

__attribute__((visibility("default"))) int fsync(int fd) {
        return wait_and_sync("fsync", fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
        return wait_and_sync("fdatasync", fd);
}

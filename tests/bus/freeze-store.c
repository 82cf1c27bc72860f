/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Preloaded into selvold: as long as the file that SELVOL_TEST_FREEZE names exists nothing gets on disk, as on a volume
 * that is frozen, or whose server does not answer; if there is something in it, as on a disk that fails. */

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

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

__attribute__((visibility("default"))) int fsync(int fd) {
        return wait_and_sync("fsync", fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
        return wait_and_sync("fdatasync", fd);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* Preloaded into selvold: as long as the file that SELVOL_TEST_FREEZE names exists nothing gets on disk, as on a volume
 * that is frozen, or whose server does not answer. */

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static int wait_and_sync(const char *name, int fd) {
        int (*sync_file)(int) = (int (*)(int)) dlsym(RTLD_NEXT, name);
        const char *path = getenv("SELVOL_TEST_FREEZE");

        while (path && access(path, F_OK) == 0)
                (void) usleep(10000);
        return sync_file(fd);
}

__attribute__((visibility("default"))) int fsync(int fd) {
        return wait_and_sync("fsync", fd);
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
        return wait_and_sync("fdatasync", fd);
}

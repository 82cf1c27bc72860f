/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/types.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "mount/magic.h"

typedef struct Magic {
        const char *fs_type;
        off_t offset; /* from the start of the device */
        const char *bytes;
} Magic;

static const Magic magics[] = {
        { "ext2", 1024 + 0x38, "\x53\xef" },   { "ext3", 1024 + 0x38, "\x53\xef" },
        { "ext4", 1024 + 0x38, "\x53\xef" },   { "xfs", 0, "XFSB" },
        { "btrfs", 65536 + 0x40, "_BHRfS_M" },
};

bool magic_is_missing(int fd, const char *fs_type) {
        char found[8];

        for (size_t i = 0; i < ELEMENTSOF(magics); i++) {
                size_t n = strlen(magics[i].bytes);

                if (!streq(magics[i].fs_type, fs_type))
                        continue;
                return pread(fd, found, n, magics[i].offset) == (ssize_t) n && memcmp(found, magics[i].bytes, n) != 0;
        }
        return false;
}

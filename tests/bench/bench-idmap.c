/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "bench-list.h"
#include "mount/idmap.h"

/* Mounts the volume at DIR on TARGET too, idmapped so that the two groups are swapped; "tools/bench chgrp"
 * calls it: bench-idmap GID GID DIR TARGET Prints the time. The exit status is 77 if the kernel or the file
 * system has no idmapped mounts. */

enum { EXIT_UNSUPPORTED = 77 };

int main(int argc, char **argv) {
        _cleanup_close_ int tree = -EBADF;
        double begin;
        gid_t a, b;
        int r;

        if (argc != 5) {
                fputs("bench-idmap GID GID DIR TARGET\n", stderr);
                return 2;
        }
        a = parse_number(argv[1], UINT32_MAX - 1);
        b = parse_number(argv[2], UINT32_MAX - 1);

        begin = now_usec();
        tree = open_tree(AT_FDCWD, argv[3], OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
        if (tree < 0)
                fail("%s can't be mounted again: %s", argv[3], strerror(errno));
        r = idmap_swap_groups(tree, a, b);
        if (r < 0 && idmap_is_unsupported(r)) {
                fprintf(stderr, "groups can't be swapped here: %s\n", strerror(-r));
                return EXIT_UNSUPPORTED;
        }
        if (r < 0)
                fail("idmap_swap_groups: %s", strerror(-r));
        if (move_mount(tree, "", AT_FDCWD, argv[4], MOVE_MOUNT_F_EMPTY_PATH) < 0)
                fail("%s can't be mounted on: %s", argv[4], strerror(errno));
        printf("bench loop=%.0f\n", now_usec() - begin);
        return EXIT_SUCCESS;
}

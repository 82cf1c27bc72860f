/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-list.h"

/* Builds a tree of empty files:
 *   bench-tree fan N DIR    N files in two levels of directories, 50 files in each lower one (100 times 200
 *                           directories for a million files)
 *   bench-tree flat N DIR   N files in one directory
 *   bench-tree deep N DIR   a chain of N directories with the name "d", each with three files */

enum { FILES_PER_DIRECTORY = 50, FILES_PER_LEVEL = 3 };

static int make_directory(int at, const char *name) {
        int fd;

        if (mkdirat(at, name, 0755) < 0)
                fail("mkdir of %s: %s", name, strerror(errno));
        fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                fail("open of %s: %s", name, strerror(errno));
        return fd;
}

static void make_files(int at, unsigned n) {
        char name[32];

        for (unsigned i = 0; i < n; i++) {
                (void) snprintf(name, sizeof(name), "file-%06u", i);
                if (mknodat(at, name, S_IFREG | 0644, 0) < 0)
                        fail("making of %s: %s", name, strerror(errno));
        }
}

static void make_fan(int root, unsigned n) {
        unsigned leaves = n / FILES_PER_DIRECTORY, upper = 1, left = n;
        char name[32];

        if (leaves == 0)
                leaves = 1;
        while (upper * upper * 2 < leaves)
                upper++;
        for (unsigned i = 0; i < leaves; i += (leaves + upper - 1) / upper) {
                _cleanup_close_ int fd = -EBADF;

                (void) snprintf(name, sizeof(name), "dir-%06u", i);
                fd = make_directory(root, name);
                for (unsigned k = i; k < leaves && k < i + (leaves + upper - 1) / upper; k++) {
                        unsigned files = k + 1 == leaves ? left : FILES_PER_DIRECTORY;
                        _cleanup_close_ int leaf = -EBADF;

                        (void) snprintf(name, sizeof(name), "dir-%06u", k);
                        leaf = make_directory(fd, name);
                        make_files(leaf, files);
                        left -= files;
                }
        }
}

static void make_deep(int root, unsigned n) {
        int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);

        for (unsigned i = 0; i < n; i++) {
                int next;

                make_files(fd, FILES_PER_LEVEL);
                next = make_directory(fd, "d");
                (void) close(fd);
                fd = next;
        }
        (void) close(fd);
}

int main(int argc, char **argv) {
        unsigned n;
        int root;

        if (argc != 4) {
                fputs("bench-tree fan|flat|deep N DIR\n", stderr);
                return 2;
        }
        n = parse_number(argv[2], 100000000);
        root = open(argv[3], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                fail("%s can't be opened: %s", argv[3], strerror(errno));
        if (streq(argv[1], "fan"))
                make_fan(root, n);
        else if (streq(argv[1], "flat"))
                make_files(root, n);
        else if (streq(argv[1], "deep"))
                make_deep(root, n);
        else
                fail("there is no shape '%s'", argv[1]);
        if (syncfs(root) < 0)
                fail("syncfs: %s", strerror(errno));
        (void) close(root);
        return EXIT_SUCCESS;
}

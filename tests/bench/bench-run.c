/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-list.h"

/* bench-run DIR COMMAND...: runs a command and prints one line: wall, user and sys (microseconds), rss (the
 * peak in KiB), status, flush (microseconds of a syncfs(2) of DIR after the command), and the rest of the
 * command's own line that begins with "bench ". This is a small program of its own, because the kernel counts
 * the memory of the parent too in the child's peak. */

/* Reads to the end, so that the command never blocks on a full pipe. */
static void read_output(int fd, char *kept, size_t size) {
        FILE *f = fdopen(fd, "r");
        char line[4096];

        kept[0] = '\0';
        while (f && fgets(line, sizeof(line), f)) {
                const char *rest = startswith(line, "bench ");

                if (rest)
                        (void) snprintf(kept, size, " %.*s", (int) strcspn(rest, "\n"), rest);
        }
        if (f)
                (void) fclose(f);
}

static double usec_of(struct timeval tv) {
        return (double) tv.tv_sec * 1e6 + (double) tv.tv_usec;
}

int main(int argc, char **argv) {
        char kept[4096];
        struct rusage usage;
        double begin, wall, flush;
        int root, out[2], status;
        pid_t pid;

        if (argc < 3) {
                fputs("bench-run DIR COMMAND...\n", stderr);
                return 2;
        }
        root = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                fail("%s can't be opened: %s", argv[1], strerror(errno));

        begin = now_usec();
        if (pipe2(out, O_CLOEXEC) < 0)
                fail("pipe: %s", strerror(errno));
        pid = start_program(argv + 2, out[1]);
        (void) close(out[1]);
        read_output(out[0], kept, sizeof(kept));
        status = wait_for_program(pid, argv[2], &usage);
        wall = now_usec() - begin;

        begin = now_usec();
        if (syncfs(root) < 0)
                fail("syncfs: %s", strerror(errno));
        flush = now_usec() - begin;
        printf("wall=%.0f flush=%.0f user=%.0f sys=%.0f rss=%ld status=%i%s\n", wall, flush, usec_of(usage.ru_utime),
               usec_of(usage.ru_stime), usage.ru_maxrss,
               WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), kept);
        (void) close(root);
        return EXIT_SUCCESS;
}

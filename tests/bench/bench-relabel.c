/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-list.h"
#include "label/tree.h"

/* The tree engine as a program, for "tools/bench relabel": bench-relabel [--threads N] [--blind] [--verify] LABEL DIR
 */

/* The engine makes durable what it did, and its peers don't. So that both can be told, this takes the C library's
 * place for the engine and takes the time. */
static atomic_ullong sync_usec;

int syncfs(int fd) {
        double begin = now_usec();
        int r = (int) syscall(SYS_syncfs, fd);

        atomic_fetch_add(&sync_usec, (unsigned long long) (now_usec() - begin));
        return r;
}

static void print_issues(const TreeResult *r) {
        for (size_t i = 0; i < r->n_issues; i++)
                fprintf(stderr, "%s: %s\n", r->issues[i].path,
                        r->issues[i].error ? strerror(r->issues[i].error) : strempty(r->issues[i].label));
}

int main(int argc, char **argv) {
        static const struct option options[] = {
                { "threads", required_argument, NULL, 't' },
                { "blind", no_argument, NULL, 'b' },
                { "verify", no_argument, NULL, 'v' },
                { 0 },
        };
        TreeSpec spec = { .mode = TREE_CHANGE };
        TreeResult result = {};
        Failure failure = {};
        int c, r;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case 't':
                        spec.threads = parse_number(optarg, TREE_THREADS_MAX);
                        break;
                case 'b':
                        spec.blind = true;
                        break;
                case 'v':
                        spec.mode = TREE_VERIFY;
                        break;
                default:
                        return 2;
                }
        if (argc - optind != 2) {
                fputs("bench-relabel [--threads N] [--blind] [--verify] LABEL DIR\n", stderr);
                return 2;
        }
        spec.context = argv[optind];
        spec.fd = open(argv[optind + 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (spec.fd < 0)
                fail("%s can't be opened: %s", argv[optind + 1], strerror(errno));

        r = tree_walk(&spec, &result, &failure);
        if (r < 0)
                fail("tree_walk: %s", strerror(-r));
        if (r > 0)
                fail("tree_walk: %s", strempty(failure.message));
        print_issues(&result);
        printf("bench sync=%llu entries=%llu changed=%llu mismatched=%llu failed=%llu\n", atomic_load(&sync_usec),
               (unsigned long long) result.counts.done, (unsigned long long) result.counts.changed,
               (unsigned long long) result.counts.mismatched, (unsigned long long) result.counts.failed);
        r = result.counts.failed > 0 || result.counts.mismatched > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
        tree_result_done(&result);
        (void) close(spec.fd);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-list.h"
#include "label/files-walk.h"

/* The tree engine as a program, for "tools/bench relabel" and "chgrp":
 * bench-relabel [--threads N] [--blind] [--verify] [--group GID] LABEL DIR
 * LABEL "-": the engine ignores labels. */

/* The engine calls syncfs() at the end of its work, and its peers don't. This function replaces the C
 * library's, so that tools/bench can print times with and without it. */
static atomic_ullong sync_usec;

int syncfs(int fd) {
        double begin = now_usec();
        int r = (int) syscall(SYS_syncfs, fd);

        atomic_fetch_add(&sync_usec, (unsigned long long) (now_usec() - begin));
        return r;
}

static void print_issues(const WalkResult *r) {
        for (const WalkIssue *i = r->issues; i < r->issues + r->n_issues; i++)
                fprintf(stderr, "%s: %s\n", i->path, i->error ? strerror(i->error) : strempty(i->text));
}

int main(int argc, char **argv) {
        static const char usage[] = "bench-relabel [--threads N] [--blind] [--verify] [--group GID] LABEL DIR";
        FilesSpec spec = { .mode = FILES_CHANGE };
        Ownership ownership = { .gid = GID_NONE };
        WalkResult result = {};
        Failure failure = {};
        bool verify = false;
        const BenchOption options[] = {
                NUMBER("threads", spec.tree.threads, TREE_THREADS_MAX),
                FLAG("blind", spec.blind),
                FLAG("verify", verify),
                NUMBER("group", ownership.gid, GID_NONE - 1),
        };
        int r;

        if (argc - parse_options(options, argc, argv, usage) != 2)
                print_usage(usage);
        if (verify)
                spec.mode = FILES_VERIFY;
        if (ownership.gid != GID_NONE)
                spec.ownership = &ownership;
        spec.context = streq(argv[optind], "-") ? NULL : argv[optind];
        spec.tree.fd = open(argv[optind + 1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (spec.tree.fd < 0)
                fail("%s can't be opened: %s", argv[optind + 1], strerror(errno));

        r = files_walk(&spec, &result, &failure);
        if (r < 0)
                fail("files_walk: %s", strerror(-r));
        if (r > 0)
                fail("files_walk: %s", strempty(failure.message));
        print_issues(&result);
        printf("bench sync=%llu entries=%llu changed=%llu mismatched=%llu misowned=%llu failed=%llu\n",
               atomic_load(&sync_usec), (unsigned long long) result.counts.done,
               (unsigned long long) result.counts.changed, (unsigned long long) result.counts.mismatched,
               (unsigned long long) result.counts.misowned, (unsigned long long) result.counts.failed);
        r = result.counts.failed > 0 || result.counts.mismatched > 0 || result.counts.misowned > 0 ? EXIT_FAILURE
                                                                                                   : EXIT_SUCCESS;
        walk_result_done(&result);
        (void) close(spec.tree.fd);
        return r;
}

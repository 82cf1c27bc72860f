/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"
#include "bench-fill.h"
#include "bench-service.h"

/* Measures how the answer times of selvold grow with the number of records, and how long selvold needs to
 * notice that somebody else unmounted everything. tests/bench/state prepares devices and services. See
 * docs/bench.md. */

enum { ROUNDS = 50, ROUNDS_MAX = 1000, HOLDERS = 3, RELEASE_SEC = 60 };

typedef enum Answer { ANSWER_PLAN, ANSWER_HOLDERS, ANSWER_LIST, ANSWERS } Answer;
static const char *const answer_names[ANSWERS] = { "PlanVolume", "Holders", "GetManagedObjects" };

typedef struct Bench {
        Fill fill;
        Service service;
        Steps steps;
        unsigned rounds;
        Series results[STEPS_MAX][ANSWERS];
} Bench;

static double ask(const Bench *b, Answer answer) {
        _cleanup_free_ char *target = format_string("%s/volume-0-0", b->fill.targets);

        switch (answer) {
        case ANSWER_PLAN:
                return call_plan(b->fill.bus, "bench-0", b->fill.devices[0], target);
        case ANSWER_HOLDERS:
                return call_holders(b->fill.bus, "bench-0");
        default:
                return call_list(b->fill.bus);
        }
}

static void measure(const Bench *b, Series *results) {
        double values[ROUNDS_MAX];

        for (Answer answer = 0; answer < ANSWERS; answer++) {
                (void) ask(b, answer);
                for (unsigned i = 0; i < b->rounds; i++)
                        values[i] = ask(b, answer);
                results[answer] = summarize(values, b->rounds);
        }
}

static void print_step(const Bench *b, size_t step) {
        const Series *r = b->results[step];

        if (!b->fill.json)
                printf("  %-20s %9s %9s %9s   growth\n", "", "min", "median", "p99");
        for (Answer i = 0; i < ANSWERS; i++)
                if (b->fill.json)
                        printf("{\"answer\":\"%s\",\"volumes\":%u,\"mounts\":%u,\"min_usec\":%.0f,\"median_usec\":%.0f,"
                               "\"p99_usec\":%.0f}\n",
                               answer_names[i], b->fill.n_volumes, fill_count_mounts(&b->fill), r[i].min, r[i].median,
                               r[i].p99);
                else
                        printf("  %-20s %9.3f %9.3f %9.3f   %6.2f\n", answer_names[i], r[i].min / 1e3,
                               r[i].median / 1e3, r[i].p99 / 1e3, r[i].median / b->results[0][i].median);
        fflush(stdout);
}

/* Unmounts all mounts without selvold, then waits until selvold has released the last holder. */
static void take_away(Bench *b) {
        unsigned mounts = fill_count_mounts(&b->fill);
        double start = now_usec(), unmounted, released;

        for (unsigned i = 0; i < b->fill.n_volumes; i++)
                for (unsigned k = 0; k < b->fill.holders; k++) {
                        _cleanup_free_ char *target = format_string("%s/volume-%u-%u", b->fill.targets, i, k);

                        if (umount2(target, 0) < 0)
                                fail("%s: %s", target, strerror(errno));
                }
        unmounted = now_usec();
        while (service_metric(b->fill.bus, "selvol_holders") > 0) {
                if (now_usec() - unmounted > RELEASE_SEC * 1e6)
                        fail("there are holders still, %i s after their mounts went", RELEASE_SEC);
                sleep_msec(10);
        }
        released = now_usec();
        if (b->fill.json)
                printf("{\"taken_away\":%u,\"unmount_usec\":%.0f,\"release_usec\":%.0f}\n", mounts, unmounted - start,
                       released - unmounted);
        else
                printf("\n%u mounts were taken away within %.2f s, and released %.2f s after the last one\n", mounts,
                       (unmounted - start) / 1e6, (released - unmounted) / 1e6);
        b->fill.n_volumes = 0;
}

static const char *parse_arguments(Bench *b, int argc, char **argv) {
        static const char usage[] =
                "bench-state --devices LIST --targets DIR [--json] [--rounds N] [--volumes N,...] [--holders N]\n"
                "            [--worker-pid PID] [--control PROGRAM]";
        const char *devices = NULL, *volumes = NULL;
        const BenchOption options[] = {
                FLAG("json", b->fill.json),
                NUMBER("rounds", b->rounds, ROUNDS_MAX),
                TEXT("volumes", volumes),
                NUMBER("holders", b->fill.holders, HOLDERS_MAX),
                TEXT("devices", devices),
                TEXT("targets", b->fill.targets),
                NUMBER("worker-pid", b->service.worker, INT32_MAX),
                TEXT("control", b->service.control),
        };

        if (parse_options(options, argc, argv, usage) < argc || !devices || !b->fill.targets || b->rounds == 0 ||
            b->fill.holders == 0)
                print_usage(usage);
        b->service.json = b->fill.json;
        steps_parse(&b->steps, volumes);
        return devices;
}

int main(int argc, char **argv) {
        static Bench b = {
                .fill = { .holders = HOLDERS, .plain = true },
                .rounds = ROUNDS,
                .steps = { { 10, 100, 1000, 4096 }, 4 },
        };
        const char *devices = parse_arguments(&b, argc, argv);

        b.fill.devices = read_lines(devices, b.steps.volumes[b.steps.n - 1]);
        b.fill.bus = bus_open();
        for (size_t i = 0; i < b.steps.n; i++) {
                fill_up(&b.fill, b.steps.volumes[i]);
                measure(&b, b.results[i]);
                print_step(&b, i);
        }
        service_report(&b.service, b.fill.bus, b.fill.n_volumes, fill_count_mounts(&b.fill));
        take_away(&b);
        return EXIT_SUCCESS;
}

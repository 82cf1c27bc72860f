/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"
#include "bench-fill.h"
#include "bench-rows.h"
#include "bench-service.h"

/* Measures MountVolume and UnmountVolume, and for comparison the bare system calls, a durable commit, and the
 * commands of an administrator. tests/bench/mount prepares devices and services. See docs/bench.md. */

enum {
        ROUNDS = 20,
        PAUSE_MSEC = 200,
        IDLE_SEC = 10,
};

/* Budget of a mount: two bare calls, two commits of intent and outcome, this for processes and messages. */
#define LIMIT_USEC 500

typedef struct Bench {
        Scene scene;
        Service service;
        bool json, emulated;
        unsigned rounds;
        unsigned entries; /* in the measured volume */
        const char *rows; /* names of the rows to measure, separated by commas; NULL: all */
        Steps steps;      /* numbers of background volumes */
        Fill fill;
        const char *devices_path;
        Series results[STEPS_MAX][ROWS];
} Bench;

/* Leaves room for the measured volume below the service's limit. */
static unsigned count_present(unsigned volumes) {
        return volumes < VOLUMES_MAX ? volumes : VOLUMES_MAX - 1;
}

/* ---- rounds ------------------------------------------------------------------------------------------ */

static bool is_wanted(const Bench *b, Row row) {
        size_t length = strlen(row_names[row]);

        if (!b->rows)
                return true;
        for (const char *s = b->rows; s; s = strchr(s, ',')) {
                s += *s == ',';
                if (strncmp(s, row_names[row], length) == 0 && (s[length] == ',' || s[length] == '\0'))
                        return true;
        }
        return false;
}

/* Round 0 only fills caches. Each round begins with another row, so that no row always follows the same one.
 * The pause keeps the service's work after a reply out of the next row's time: the service looks at the mount
 * table a tenth of a second after a reply, or half a second after the last look. */
static void run_rounds(const Bench *b, Series *results) {
        double *values[ROWS];

        for (Row i = 0; i < ROWS; i++) {
                values[i] = calloc(b->rounds, sizeof(double));
                if (!values[i])
                        fail("out of memory");
        }
        for (unsigned round = 0; round <= b->rounds; round++)
                for (unsigned i = 0; i < WAYS; i++) {
                        const Way *way = &ways[(i + round) % WAYS];
                        double usec = 0, unmount_usec = 0;

                        if (!is_wanted(b, way->row))
                                continue;
                        sleep_msec(b->scene.pause_msec);
                        way->measure(&b->scene, &usec, &unmount_usec);
                        if (round == 0)
                                continue;
                        values[way->row][round - 1] = usec;
                        if (way->unmount_row < ROWS)
                                values[way->unmount_row][round - 1] = unmount_usec;
                }
        for (Row i = 0; i < ROWS; i++) {
                results[i] = summarize(values[i], b->rounds);
                free(values[i]);
        }
}

/* ---- output ------------------------------------------------------------------------------------------ */

static void print_header(const Bench *b) {
        const Scene *s = &b->scene;
        struct utsname u;

        (void) uname(&u);
        if (b->json)
                printf("{\"bench\":\"mount\",\"mode\":\"%s\",\"emulated\":%s,\"kernel\":\"%s\",\"fs_type\":\"%s\","
                       "\"rounds\":%u,\"holders\":%u,\"entries\":%u}\n",
                       s->plain ? "plain" : "context", b->emulated ? "true" : "false", u.release, s->fs_type,
                       b->rounds, b->fill.holders, b->entries);
        else
                printf("mount of %s %s, kernel %s, %u rounds, milliseconds\n%s", s->fs_type,
                       s->plain ? "without context" : "with context=", u.release, b->rounds,
                       b->emulated ? "Emulated machine (TCG): only ratios count.\n" : "");
}

static void print_ratio(const Bench *b, const char *name, unsigned volumes, double value) {
        if (b->json)
                printf("{\"ratio\":\"%s\",\"volumes\":%u,\"value\":%.3f}\n", name, volumes, value);
        else
                printf("  %-32s %9.2f\n", name, value);
}

static void print_step(const Bench *b, size_t step) {
        const Series *r = b->results[step];
        unsigned volumes = b->steps.volumes[step], mounts = fill_count_mounts(&b->fill);

        if (!b->json)
                printf("  %-16s %9s %9s %9s\n", "", "min", "median", "max");
        for (Row i = 0; i < ROWS; i++)
                if (r[i].max == 0)
                        continue;
                else if (b->json)
                        printf("{\"row\":\"%s\",\"volumes\":%u,\"mounts\":%u,\"min_usec\":%.0f,\"median_usec\":%.0f,"
                               "\"max_usec\":%.0f}\n",
                               row_names[i], volumes, mounts, r[i].min, r[i].median, r[i].max);
                else
                        printf("  %-16s %9.3f %9.3f %9.3f\n", row_names[i], r[i].min / 1e3, r[i].median / 1e3,
                               r[i].max / 1e3);
        fflush(stdout);
        if (b->rows)
                return;
        print_ratio(b, "selvol/bare", volumes, r[ROW_SELVOL].median / r[ROW_BARE].median);
        print_ratio(b, "selvol/shell", volumes, r[ROW_SELVOL].median / r[ROW_SHELL].median);
        print_ratio(b, "selvol/(2*bare+2*commit+500us)", volumes,
                    r[ROW_SELVOL].median / (2 * r[ROW_BARE].median + 2 * r[ROW_COMMIT].median + LIMIT_USEC));
        print_ratio(b, "taint/selvol", volumes, r[ROW_TAINT].median / r[ROW_SELVOL].median);
        print_ratio(b, "further/selvol", volumes, r[ROW_FURTHER].median / r[ROW_SELVOL].median);
        print_ratio(b, "unmount/unmount-bare", volumes, r[ROW_UNMOUNT].median / r[ROW_UNMOUNT_BARE].median);
        print_ratio(b, "unmount/unmount-shell", volumes, r[ROW_UNMOUNT].median / r[ROW_UNMOUNT_SHELL].median);
        fflush(stdout);
}

static void print_growth(const Bench *b) {
        if (b->steps.n < 2)
                return;
        if (!b->json) {
                printf("\ngrowth of the medians");
                for (size_t k = 0; k < b->steps.n; k++)
                        printf(" %s%u", k > 0 ? "-> " : "", b->steps.volumes[k]);
                printf("\n");
        }
        for (Row i = 0; i < ROWS; i++) {
                if (!b->json)
                        printf("  %-16s", row_names[i]);
                for (size_t k = 1; k < b->steps.n; k++) {
                        double growth = b->results[k][i].median / b->results[0][i].median;

                        if (b->json)
                                printf("{\"growth\":\"%s\",\"from\":%u,\"to\":%u,\"value\":%.3f}\n", row_names[i],
                                       b->steps.volumes[0], b->steps.volumes[k], growth);
                        else
                                printf(" %9.2f", growth);
                }
                if (!b->json)
                        printf("\n");
        }
}

/* ---- main -------------------------------------------------------------------------------------------- */

static void parse_arguments(Bench *b, int argc, char **argv) {
        static const char usage[] =
                "bench-mount --device DEVICE --targets DIR --state DIR [--plain] [--emulated] [--json] [--rounds N]\n"
                "            [--volumes N,...] [--holders N --devices LIST] [--fs-type TYPE] [--entries N] [--rows NAME,...]\n"
                "            [--pause MSEC] [--idle SECONDS] [--worker-pid PID] [--control PROGRAM]";
        const char *volumes = NULL;
        const BenchOption options[] = {
                FLAG("json", b->json),
                FLAG("plain", b->scene.plain),
                FLAG("emulated", b->emulated),
                NUMBER("rounds", b->rounds, 100000),
                TEXT("volumes", volumes),
                NUMBER("holders", b->fill.holders, HOLDERS_MAX),
                TEXT("devices", b->devices_path),
                NUMBER("entries", b->entries, 100000000),
                TEXT("rows", b->rows),
                TEXT("device", b->scene.device),
                TEXT("fs-type", b->scene.fs_type),
                TEXT("targets", b->fill.targets),
                TEXT("state", b->scene.state),
                NUMBER("pause", b->scene.pause_msec, 60000),
                NUMBER("idle", b->service.idle_sec, 3600),
                NUMBER("worker-pid", b->service.worker, INT32_MAX),
                TEXT("control", b->service.control),
        };

        if (parse_options(options, argc, argv, usage) < argc || !b->scene.device || !b->fill.targets ||
            !b->scene.state || b->rounds == 0 || b->fill.holders == 0 || (b->fill.holders > 1 && !b->devices_path))
                print_usage(usage);
        b->service.json = b->fill.json = b->json;
        b->fill.plain = b->scene.plain;
        steps_parse(&b->steps, volumes);
}

int main(int argc, char **argv) {
        static Bench b = {
                .scene = { .pause_msec = PAUSE_MSEC, .fs_type = "ext4" },
                .service.idle_sec = IDLE_SEC,
                .rounds = ROUNDS,
                .steps = { { 1, 100, 1000 }, 3 },
                .fill.holders = 1,
        };

        parse_arguments(&b, argc, argv);
        if (b.devices_path)
                b.fill.devices = read_lines(b.devices_path, count_present(b.steps.volumes[b.steps.n - 1]));
        b.scene.bus = b.fill.bus = bus_open();
        database_open(&b.scene);
        b.scene.target = fill_target(&b.fill, "measured-0");
        b.scene.second_target = fill_target(&b.fill, "measured-1");

        print_header(&b);
        for (size_t i = 0; i < b.steps.n; i++) {
                fill_up(&b.fill, count_present(b.steps.volumes[i]));
                run_rounds(&b, b.results[i]);
                print_step(&b, i);
        }
        print_growth(&b);
        service_report(&b.service, b.scene.bus, b.fill.n_volumes, fill_count_mounts(&b.fill));

        fill_empty(&b.fill);
        (void) rmdir(b.scene.target);
        (void) rmdir(b.scene.second_target);
        database_close(&b.scene);
        return EXIT_SUCCESS;
}

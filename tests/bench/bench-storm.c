/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"
#include "bench-service.h"

/* Measures many calls at once. All clients together mount each file system for all of its holders, then
 * unmount all, once by calls to the service and once by mount(8) and umount(8). tests/bench/storm prepares
 * devices and services. See docs/bench.md. */

enum {
        CLIENTS = 16,
        CLIENTS_MAX = 64,
        FILE_SYSTEMS = 50,
        HOLDERS = 10,
        HOLDERS_MAX = 256,
        ROUNDS = 3,
        PAUSE_MSEC = 500
};

typedef enum By { BY_SELVOL, BY_COMMAND, BYS } By;
typedef enum Call { CALL_MOUNT, CALL_UNMOUNT, CALLS } Call;
/* KIND_WHOLE: the first mount or last unmount of a file system, which the kernel reads or closes. */
typedef enum Kind { KIND_WHOLE, KIND_FURTHER, KINDS } Kind;

static const char *const call_names[BYS][CALLS] = { { "MountVolume", "UnmountVolume" }, { "mount(8)", "umount(8)" } };
static const char *const json_names[BYS][CALLS] = { { "mount", "unmount" }, { "mount8", "umount8" } };
static const char *const kind_names[CALLS][KINDS] = { { "first", "further" }, { "last", "further" } };

typedef struct Task {
        unsigned file_system;
        Kind kind;
        char *target;
        double start, end; /* microseconds */
} Task;

typedef struct Result {
        double *latencies[KINDS]; /* all rounds together */
        size_t n[KINDS];
        double *per_second[KINDS], *total_per_second;           /* one value for each round */
        double commits, commit_usec, cpu_usec, worker_cpu_usec; /* sums of all rounds; only for BY_SELVOL */
} Result;

typedef struct Storm {
        bool json;
        unsigned clients, file_systems, holders, rounds;
        const char *devices_path, *targets;
        pid_t worker, service;

        char **devices;
        char **volumes;
        sd_bus *buses[CLIENTS_MAX];
        sd_bus *bus; /* for the metrics, outside of the measured time */

        By by;
        Call call;
        Task *tasks;
        unsigned n_tasks;
        atomic_uint next;
        atomic_uint next_client;
        pthread_barrier_t barrier;

        Result results[BYS][CALLS];
} Storm;

/* ---- one phase: every task once, by all clients ------------------------------------------------------ */

static void by_selvol(const Storm *s, sd_bus *bus, const Task *t) {
        const char *volume = s->volumes[t->file_system];

        if (s->call == CALL_MOUNT)
                (void) call_mount(bus, &(MountCall){ .volume = volume,
                                                     .source = s->devices[t->file_system],
                                                     .fs_type = "ext4",
                                                     .target = t->target,
                                                     .shared = true });
        else
                (void) call_unmount(bus, volume, t->target);
}

static void by_command(const Storm *s, const Task *t) {
        const char *const do_mount[] = { "mount",   "-t", "ext4", "-o", "nosuid,nodev", s->devices[t->file_system],
                                         t->target, NULL },
                          *const do_unmount[] = { "umount", t->target, NULL };

        run_program(s->call == CALL_MOUNT ? do_mount : do_unmount);
}

static void *client(void *userdata) {
        Storm *s = userdata;
        sd_bus *bus = s->buses[atomic_fetch_add(&s->next_client, 1)];
        unsigned i;

        (void) pthread_barrier_wait(&s->barrier);
        while ((i = atomic_fetch_add(&s->next, 1)) < s->n_tasks) {
                Task *t = &s->tasks[i];

                t->start = now_usec();
                if (s->by == BY_SELVOL)
                        by_selvol(s, bus, t);
                else
                        by_command(s, t);
                t->end = now_usec();
        }
        return NULL;
}

static void run_clients(Storm *s) {
        pthread_t threads[CLIENTS_MAX];

        s->next = 0;
        s->next_client = 0;
        if (pthread_barrier_init(&s->barrier, NULL, s->clients) != 0)
                fail("out of memory");
        for (unsigned i = 0; i < s->clients; i++) {
                int r = pthread_create(&threads[i], NULL, client, s);

                if (r != 0)
                        fail("a thread can't be started: %s", strerror(r));
        }
        for (unsigned i = 0; i < s->clients; i++)
                (void) pthread_join(threads[i], NULL);
        (void) pthread_barrier_destroy(&s->barrier);
}

/* The order is all file systems for one holder, then for the next, so that a call seldom has to wait for
 * another call with the same file system. */
static void order_tasks(Storm *s) {
        for (unsigned i = 0; i < s->n_tasks; i++) {
                unsigned holder = i / s->file_systems, decisive = s->call == CALL_MOUNT ? 0 : s->holders - 1;

                s->tasks[i].kind = holder == decisive ? KIND_WHOLE : KIND_FURTHER;
        }
}

/* Counts the calls of a kind (-1: of any), between the start of the first and the end of the last. */
static double per_second(const Storm *s, int kind) {
        double start = 0, end = 0;
        unsigned n = 0;

        for (unsigned i = 0; i < s->n_tasks; i++) {
                const Task *t = &s->tasks[i];

                if (kind >= 0 && t->kind != (Kind) kind)
                        continue;
                start = n == 0 || t->start < start ? t->start : start;
                end = t->end > end ? t->end : end;
                n++;
        }
        return n > 0 ? n * 1e6 / (end - start) : 0;
}

static void add_result(const Storm *s, unsigned round) {
        Result *result = (Result *) &s->results[s->by][s->call];

        for (unsigned i = 0; i < s->n_tasks; i++) {
                const Task *t = &s->tasks[i];

                result->latencies[t->kind][result->n[t->kind]++] = t->end - t->start;
        }
        for (int kind = 0; kind < KINDS; kind++)
                result->per_second[kind][round] = per_second(s, kind);
        result->total_per_second[round] = per_second(s, -1);
}

static void check_mounts(const Storm *s) {
        unsigned wanted = s->call == CALL_MOUNT ? s->n_tasks : 0, n = count_mounts(s->targets);

        if (n != wanted)
                fail("%u mounts after %s, not %u: the figures are void", n, call_names[s->by][s->call], wanted);
}

/* Round 0 only fills caches. */
static void run_phase(Storm *s, By by, Call call, unsigned round) {
        Result *result = &s->results[by][call];
        double commits, commit_usec, cpu, worker_cpu;

        s->by = by;
        s->call = call;
        order_tasks(s);
        sleep_msec(PAUSE_MSEC);
        commits = service_metric(s->bus, "selvol_commit_duration_seconds_count");
        commit_usec = service_metric(s->bus, "selvol_commit_duration_seconds_sum") * 1e6;
        cpu = process_cpu_usec(s->service);
        worker_cpu = s->worker > 0 ? process_cpu_usec(s->worker) : 0;
        run_clients(s);
        check_mounts(s);
        if (round == 0)
                return;
        add_result(s, round - 1);
        result->cpu_usec += process_cpu_usec(s->service) - cpu;
        result->worker_cpu_usec += s->worker > 0 ? process_cpu_usec(s->worker) - worker_cpu : 0;
        result->commits += service_metric(s->bus, "selvol_commit_duration_seconds_count") - commits;
        result->commit_usec += service_metric(s->bus, "selvol_commit_duration_seconds_sum") * 1e6 - commit_usec;
}

/* ---- output ------------------------------------------------------------------------------------------ */

static void print_header(const Storm *s) {
        struct utsname u;

        (void) uname(&u);
        if (s->json)
                printf("{\"bench\":\"storm\",\"kernel\":\"%s\",\"clients\":%u,\"file_systems\":%u,\"holders\":%u,"
                       "\"rounds\":%u}\n",
                       u.release, s->clients, s->file_systems, s->holders, s->rounds);
        else
                printf("%u ext4 file systems, %u holders each, %u clients, kernel %s, %u rounds, milliseconds\n"
                       "  %-24s %9s %9s %9s %9s %9s %11s\n",
                       s->file_systems, s->holders, s->clients, u.release, s->rounds, "", "calls", "per s", "median",
                       "p99", "slowest", "p99/median");
}

static void print_kind(const Storm *s, By by, Call call, Kind kind) {
        const Result *result = &s->results[by][call];
        Series l = summarize(result->latencies[kind], result->n[kind]);
        double rate = summarize(result->per_second[kind], s->rounds).median;

        if (result->n[kind] == 0)
                return;
        if (s->json)
                printf("{\"call\":\"%s\",\"kind\":\"%s\",\"calls\":%zu,\"per_second\":%.1f,\"median_usec\":%.0f,"
                       "\"p99_usec\":%.0f,\"max_usec\":%.0f,\"p99_to_median\":%.2f}\n",
                       json_names[by][call], kind_names[call][kind], result->n[kind], rate, l.median, l.p99, l.max,
                       l.p99 / l.median);
        else
                printf("  %-13s %-10s %9zu %9.1f %9.2f %9.2f %9.2f %11.2f\n", call_names[by][call],
                       kind_names[call][kind], result->n[kind], rate, l.median / 1e3, l.p99 / 1e3, l.max / 1e3,
                       l.p99 / l.median);
}

static void print_service(const Storm *s, Call call) {
        const Result *result = &s->results[BY_SELVOL][call];
        double n = (double) s->n_tasks * s->rounds;

        if (s->json)
                printf("{\"service\":\"%s\",\"commits_per_call\":%.3f,\"commit_usec\":%.0f,\"cpu_usec_per_call\":%.0f,"
                       "\"worker_cpu_usec_per_call\":%.0f}\n",
                       json_names[BY_SELVOL][call], result->commits / n,
                       result->commits > 0 ? result->commit_usec / result->commits : 0, result->cpu_usec / n,
                       result->worker_cpu_usec / n);
        else
                printf("  for each %s: %.2f commits of %.2f ms, CPU time of selvold %.2f ms, of the worker %.2f\n",
                       call_names[BY_SELVOL][call], result->commits / n,
                       result->commits > 0 ? result->commit_usec / result->commits / 1e3 : 0,
                       result->cpu_usec / n / 1e3, result->worker_cpu_usec / n / 1e3);
}

/* The ratio is the median of the rounds' ratios. */
static void print_ratio(const Storm *s, Call call) {
        const double *selvol = s->results[BY_SELVOL][call].total_per_second,
                     *command = s->results[BY_COMMAND][call].total_per_second;
        _cleanup_free_ double *ratios = calloc(s->rounds, sizeof(double));
        double ratio, rates[BYS];

        if (!ratios)
                fail("out of memory");
        for (unsigned i = 0; i < s->rounds; i++)
                ratios[i] = selvol[i] / command[i];
        ratio = summarize(ratios, s->rounds).median;
        for (By by = 0; by < BYS; by++)
                rates[by] = summarize(s->results[by][call].total_per_second, s->rounds).median;
        if (s->json)
                printf("{\"ratio\":\"%s/%s\",\"per_second\":%.1f,\"peer_per_second\":%.1f,\"value\":%.3f}\n",
                       json_names[BY_SELVOL][call], json_names[BY_COMMAND][call], rates[BY_SELVOL], rates[BY_COMMAND],
                       ratio);
        else
                printf("  per second: %s %.1f, %s %.1f, ratio %.2f\n", call_names[BY_SELVOL][call], rates[BY_SELVOL],
                       call_names[BY_COMMAND][call], rates[BY_COMMAND], ratio);
}

static void print_results(const Storm *s) {
        print_header(s);
        for (Call call = 0; call < CALLS; call++)
                for (Kind kind = 0; kind < KINDS; kind++)
                        for (By by = 0; by < BYS; by++)
                                print_kind(s, by, call, kind);
        for (Call call = 0; call < CALLS; call++) {
                print_ratio(s, call);
                print_service(s, call);
        }
}

/* ---- main -------------------------------------------------------------------------------------------- */

static void *allocate(size_t n, size_t size) {
        void *p = calloc(n, size);

        if (!p)
                fail("out of memory");
        return p;
}

static void prepare(Storm *s) {
        s->n_tasks = s->file_systems * s->holders;
        s->tasks = allocate(s->n_tasks, sizeof(*s->tasks));
        for (unsigned i = 0; i < s->file_systems; i++)
                if (strv_consume(&s->volumes, format_string("storm-%u", i)) < 0)
                        fail("out of memory");
        for (unsigned i = 0; i < s->n_tasks; i++) {
                Task *t = &s->tasks[i];

                t->file_system = i % s->file_systems;
                t->target = format_string("%s/%u-%u", s->targets, t->file_system, i / s->file_systems);
                if (mkdir(t->target, 0755) < 0 && errno != EEXIST)
                        fail("%s: %s", t->target, strerror(errno));
        }
        for (By by = 0; by < BYS; by++)
                for (Call call = 0; call < CALLS; call++) {
                        Result *result = &s->results[by][call];

                        for (Kind kind = 0; kind < KINDS; kind++) {
                                result->latencies[kind] = allocate((size_t) s->n_tasks * s->rounds, sizeof(double));
                                result->per_second[kind] = allocate(s->rounds, sizeof(double));
                        }
                        result->total_per_second = allocate(s->rounds, sizeof(double));
                }
        s->bus = bus_open();
        s->service = service_pid(s->bus);
        if (s->service == 0)
                fail("selvold is not there");
        for (unsigned i = 0; i < s->clients; i++)
                s->buses[i] = bus_open();
}

static void parse_arguments(Storm *s, int argc, char **argv) {
        static const char usage[] =
                "bench-storm --devices LIST --targets DIR [--clients N] [--file-systems N] [--holders N]\n"
                "            [--rounds N] [--json] [--worker-pid PID]";
        const BenchOption options[] = {
                FLAG("json", s->json),
                NUMBER("clients", s->clients, CLIENTS_MAX),
                NUMBER("file-systems", s->file_systems, 4096),
                NUMBER("holders", s->holders, HOLDERS_MAX),
                NUMBER("rounds", s->rounds, 1000),
                TEXT("devices", s->devices_path),
                TEXT("targets", s->targets),
                NUMBER("worker-pid", s->worker, INT32_MAX),
        };

        if (parse_options(options, argc, argv, usage) < argc || !s->devices_path || !s->targets || s->clients == 0 ||
            s->file_systems == 0 || s->holders == 0 || s->rounds == 0)
                print_usage(usage);
}

int main(int argc, char **argv) {
        static Storm s = {
                .clients = CLIENTS,
                .file_systems = FILE_SYSTEMS,
                .holders = HOLDERS,
                .rounds = ROUNDS,
        };

        parse_arguments(&s, argc, argv);
        s.devices = read_lines(s.devices_path, s.file_systems);
        prepare(&s);
        for (unsigned round = 0; round <= s.rounds; round++)
                for (unsigned i = 0; i < BYS; i++)
                        for (Call call = 0; call < CALLS; call++)
                                run_phase(&s, (By) ((i + round) % BYS), call, round);
        print_results(&s);
        for (unsigned i = 0; i < s.n_tasks; i++)
                (void) rmdir(s.tasks[i].target);
        return EXIT_SUCCESS;
}

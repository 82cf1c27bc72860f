/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <getopt.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include <sqlite3.h>
#include <systemd/sd-bus.h>

#include "basic/string-util.h"

/* Measures MountVolume against what it is made of: the bare system call, a durable commit, and the commands that an
 * administrator would type. tools/bench sets the scene. See docs/bench.md. */

enum { ROUNDS = 20, VOLUMES_MAX = 4000, STEPS_MAX = 8, PAUSE_MSEC = 200 };

#define CONTEXT "system_u:object_r:container_file_t:s0:c1,c2"

typedef enum Row { ROW_SELVOL, ROW_BUSCTL, ROW_SHELL, ROW_BARE, ROW_COMMIT, ROWS } Row;

static const char *const row_names[ROWS] = {
        [ROW_SELVOL] = "selvol", [ROW_BUSCTL] = "busctl", [ROW_SHELL] = "shell",
        [ROW_BARE] = "bare",     [ROW_COMMIT] = "commit",
};

typedef struct Series {
        double min, median, max; /* microseconds */
} Series;

typedef struct Bench {
        bool json, plain, emulated;
        unsigned rounds, pause_msec;
        unsigned steps[STEPS_MAX]; /* numbers of volumes that are mounted already */
        size_t n_steps;
        const char *device, *fs_type, *targets, *state;

        char *target; /* of the volume that is measured */
        sd_bus *bus;
        sqlite3 *db;
        sqlite3_stmt *insert;
        unsigned n_volumes; /* mounted meanwhile */
        Series results[STEPS_MAX][ROWS];
} Bench;

static _printf_(1, 2) _Noreturn void fail(const char *format, ...) {
        va_list ap;

        fflush(stdout);
        fputs("bench-mount: ", stderr);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fputc('\n', stderr);
        exit(EXIT_FAILURE);
}

static char *format_path(const char *directory, const char *name, unsigned n) {
        char *s = strdup_printf("%s/%s%u", directory, name, n);

        if (!s)
                fail("out of memory");
        return s;
}

static double now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec * 1e6 + (double) ts.tv_nsec / 1e3;
}

/* ---- the ways to mount: each returns how long it took ---------------------------------------------------------- */

static void append_option(sd_bus_message *m, int *r, const char *key, const char *type, ...) {
        va_list ap;

        if (*r >= 0)
                *r = sd_bus_message_open_container(m, 'e', "sv");
        if (*r >= 0)
                *r = sd_bus_message_append(m, "s", key);
        if (*r >= 0)
                *r = sd_bus_message_open_container(m, 'v', type);
        va_start(ap, type);
        if (*r >= 0)
                *r = sd_bus_message_appendv(m, type, ap);
        va_end(ap);
        if (*r >= 0)
                *r = sd_bus_message_close_container(m);
        if (*r >= 0)
                *r = sd_bus_message_close_container(m);
}

static sd_bus_message *new_call(const Bench *b, const char *method, const char *volume, const char *source,
                                const char *target) {
        sd_bus_message *m = NULL;
        int r;

        r = sd_bus_message_new_method_call(b->bus, &m, "org.selvol1", "/org/selvol1", "org.selvol1.Manager", method);
        if (r >= 0)
                r = sd_bus_message_append(m, "s", volume);
        if (r >= 0 && source)
                r = sd_bus_message_append(m, "s", source);
        if (r >= 0)
                r = sd_bus_message_append(m, "s", target);
        if (r < 0)
                fail("%s: %s", method, strerror(-r));
        return m;
}

static double send_call(const Bench *b, sd_bus_message *m) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        double start = now_usec(), end;
        int r;

        r = sd_bus_call(b->bus, m, 60 * UINT64_C(1000000), &error, NULL);
        end = now_usec();
        if (r < 0)
                fail("%s: %s: %s", sd_bus_message_get_member(m), error.name ?: strerror(-r), strempty(error.message));
        return end - start;
}

/* level: NULL for a mount without context */
static double selvol_mount(const Bench *b, const char *volume, const char *source, const char *fs_type,
                           const char *target, const char *level) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = new_call(b, "MountVolume", volume, source, target);
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        append_option(m, &r, "FSType", "s", fs_type);
        append_option(m, &r, "Holder", "s", volume);
        append_option(m, &r, "AccessMode", "s", "ReadWriteOncePod");
        if (level) {
                append_option(m, &r, "SELinuxRelabelPolicy", "s", "MountOption");
                append_option(m, &r, "SELinuxMountSupported", "b", 1);
                append_option(m, &r, "SELinuxLevel", "s", level);
        }
        if (streq(fs_type, "tmpfs"))
                append_option(m, &r, "MountOptions", "as", 1, "size=1m");
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        if (r < 0)
                fail("MountVolume: %s", strerror(-r));
        return send_call(b, m);
}

static void selvol_unmount(const Bench *b, const char *volume, const char *target) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = new_call(b, "UnmountVolume", volume, NULL, target);
        int r;

        r = sd_bus_message_append(m, "a{sv}", 0);
        if (r < 0)
                fail("UnmountVolume: %s", strerror(-r));
        (void) send_call(b, m);
}

static void run(char *const *argv) {
        posix_spawn_file_actions_t actions;
        int status, r;
        pid_t pid;

        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        (void) posix_spawn_file_actions_destroy(&actions);
        if (r != 0)
                fail("%s: %s", argv[0], strerror(r));
        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        fail("waiting for %s: %s", argv[0], strerror(errno));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail("%s failed with status %i", argv[0], status);
}

static double measure_selvol(const Bench *b) {
        double usec = selvol_mount(b, "bench", b->device, b->fs_type, b->target, b->plain ? NULL : "s0:c1,c2");

        selvol_unmount(b, "bench", b->target);
        return usec;
}

static double measure_busctl(const Bench *b) {
        char *with_context[] = { (char *) "busctl",
                                 (char *) "--system",
                                 (char *) "call",
                                 (char *) "org.selvol1",
                                 (char *) "/org/selvol1",
                                 (char *) "org.selvol1.Manager",
                                 (char *) "MountVolume",
                                 (char *) "sssa{sv}",
                                 (char *) "bench",
                                 (char *) b->device,
                                 b->target,
                                 (char *) (b->plain ? "3" : "6"),
                                 (char *) "FSType",
                                 (char *) "s",
                                 (char *) b->fs_type,
                                 (char *) "Holder",
                                 (char *) "s",
                                 (char *) "bench",
                                 (char *) "AccessMode",
                                 (char *) "s",
                                 (char *) "ReadWriteOncePod",
                                 (char *) (b->plain ? NULL : "SELinuxRelabelPolicy"),
                                 (char *) "s",
                                 (char *) "MountOption",
                                 (char *) "SELinuxMountSupported",
                                 (char *) "b",
                                 (char *) "true",
                                 (char *) "SELinuxLevel",
                                 (char *) "s",
                                 (char *) "s0:c1,c2",
                                 NULL };
        double start = now_usec(), usec;

        run(with_context);
        usec = now_usec() - start;
        selvol_unmount(b, "bench", b->target);
        return usec;
}

static void bare_unmount(const Bench *b) {
        if (umount2(b->target, 0) < 0)
                fail("umount of %s: %s", b->target, strerror(errno));
}

/* Without a shell in between, which is kind to them. */
static double measure_shell(const Bench *b) {
        char *plain[] = { (char *) "mount",        (char *) "-t",      (char *) b->fs_type, (char *) "-o",
                          (char *) "nosuid,nodev", (char *) b->device, b->target,           NULL },
             *with_context[] = { (char *) "mount",
                                 (char *) "-t",
                                 (char *) b->fs_type,
                                 (char *) "-o",
                                 (char *) "nosuid,nodev,context=\"" CONTEXT "\"",
                                 (char *) b->device,
                                 b->target,
                                 NULL },
             *list[] = { (char *) "ls", (char *) "-Zd", b->target, NULL };
        double start = now_usec(), usec;

        run(b->plain ? plain : with_context);
        run(list);
        usec = now_usec() - start;
        bare_unmount(b);
        return usec;
}

static double measure_bare(const Bench *b) {
        double start = now_usec(), usec;

        if (mount(b->device, b->target, b->fs_type, MS_NOSUID | MS_NODEV,
                  b->plain ? NULL : "context=\"" CONTEXT "\"") < 0)
                fail("mount(2) of %s: %s", b->device, strerror(errno));
        usec = now_usec() - start;
        bare_unmount(b);
        return usec;
}

/* ---- the cost of durability ------------------------------------------------------------------------------------ */

static void execute(Bench *b, const char *sql) {
        if (sqlite3_exec(b->db, sql, NULL, NULL, NULL) != SQLITE_OK)
                fail("%s: %s", sql, sqlite3_errmsg(b->db));
}

/* As src/store does it. */
static void open_database(Bench *b) {
        _cleanup_free_ char *path = format_path(b->state, "bench.db.", (unsigned) getpid());

        if (sqlite3_open(path, &b->db) != SQLITE_OK)
                fail("%s: %s", path, sqlite3_errmsg(b->db));
        execute(b, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                   "CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT) STRICT;");
        if (sqlite3_prepare_v2(b->db, "INSERT INTO t VALUES (NULL,?)", -1, &b->insert, NULL) != SQLITE_OK)
                fail("%s", sqlite3_errmsg(b->db));
}

static void close_database(Bench *b) {
        static const char *const suffixes[] = { "", "-wal", "-shm" };

        sqlite3_finalize(b->insert);
        (void) sqlite3_close(b->db);
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                _cleanup_free_ char *base = format_path(b->state, "bench.db.", (unsigned) getpid()),
                                    *path = strdup_printf("%s%s", base, suffixes[i]);

                if (path)
                        (void) unlink(path);
        }
}

static double measure_commit(const Bench *b) {
        double start = now_usec();

        (void) sqlite3_bind_text(b->insert, 1, "system_u:object_r:container_file_t:s0:c1,c2", -1, SQLITE_STATIC);
        if (sqlite3_step(b->insert) != SQLITE_DONE || sqlite3_reset(b->insert) != SQLITE_OK)
                fail("commit: %s", sqlite3_errmsg(b->db));
        return now_usec() - start;
}

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

static double (*const measure[ROWS])(const Bench *b) = {
        [ROW_SELVOL] = measure_selvol, [ROW_BUSCTL] = measure_busctl, [ROW_SHELL] = measure_shell,
        [ROW_BARE] = measure_bare,     [ROW_COMMIT] = measure_commit,
};

static char *make_target(const Bench *b, const char *name, unsigned n) {
        char *path = format_path(b->targets, name, n);

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                fail("%s: %s", path, strerror(errno));
        return path;
}

/* Small file systems in memory, each a volume of its own with a level of its own. Returns the time for each. */
static double mount_volumes(Bench *b, unsigned n) {
        unsigned first = b->n_volumes;
        double start = now_usec();

        for (; b->n_volumes < n; b->n_volumes++) {
                _cleanup_free_ char *target = make_target(b, "volume-", b->n_volumes), *volume = NULL, *level = NULL;

                volume = strdup_printf("bench-%u", b->n_volumes);
                level = strdup_printf("s0:c%u,c%u", b->n_volumes % 512, 512 + b->n_volumes / 512);
                if (!volume || !level)
                        fail("out of memory");
                (void) selvol_mount(b, volume, "tmpfs", "tmpfs", target, b->plain ? NULL : level);
        }
        return n > first ? (now_usec() - start) / (n - first) : 0;
}

static void unmount_volumes(Bench *b) {
        while (b->n_volumes > 0) {
                unsigned i = --b->n_volumes;
                _cleanup_free_ char *target = format_path(b->targets, "volume-", i),
                                    *volume = strdup_printf("bench-%u", i);

                if (volume)
                        selvol_unmount(b, volume, target);
                (void) rmdir(target);
        }
}

static int compare(const void *a, const void *b) {
        const double *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

static Series summarize(double *values, unsigned n) {
        qsort(values, n, sizeof(*values), compare);
        return (Series){ values[0], n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2, values[n - 1] };
}

/* What the service does after its reply (it looks at the mount table within a tenth of a second) must not be in the
 * next row's time. */
static void rest(const Bench *b) {
        const struct timespec ts = { .tv_sec = b->pause_msec / 1000,
                                     .tv_nsec = (long) (b->pause_msec % 1000) * 1000000 };

        (void) nanosleep(&ts, NULL);
}

/* One round for warming up. The order turns from round to round, so that no row always follows the same one. */
static void run_rounds(const Bench *b, Series *results) {
        double *values[ROWS];

        for (Row i = 0; i < ROWS; i++) {
                values[i] = calloc(b->rounds, sizeof(double));
                if (!values[i])
                        fail("out of memory");
        }
        for (unsigned round = 0; round <= b->rounds; round++)
                for (unsigned i = 0; i < ROWS; i++) {
                        Row row = (Row) ((i + round) % ROWS);
                        double usec;

                        rest(b);
                        usec = measure[row](b);
                        if (round > 0)
                                values[row][round - 1] = usec;
                }
        for (Row i = 0; i < ROWS; i++) {
                results[i] = summarize(values[i], b->rounds);
                free(values[i]);
        }
}

/* ---- output ---------------------------------------------------------------------------------------------------- */

static double limit_of(const Series *r) {
        return 3 * r[ROW_BARE].median + 2 * r[ROW_COMMIT].median;
}

static void print_header(const Bench *b) {
        struct utsname u;

        (void) uname(&u);
        if (b->json)
                printf("{\"bench\":\"mount\",\"mode\":\"%s\",\"emulated\":%s,\"kernel\":\"%s\",\"fs_type\":\"%s\","
                       "\"rounds\":%u}\n",
                       b->plain ? "plain" : "context", b->emulated ? "true" : "false", u.release, b->fs_type,
                       b->rounds);
        else
                printf("mount of %s %s, kernel %s, %u rounds, milliseconds\n%s", b->fs_type,
                       b->plain ? "without context" : "with context=", u.release, b->rounds,
                       b->emulated ? "Emulated machine (TCG): only ratios count.\n" : "");
}

static void print_fill(const Bench *b, unsigned from, unsigned to, double usec) {
        if (to <= from)
                return;
        if (b->json)
                printf("{\"fill\":\"tmpfs\",\"from\":%u,\"to\":%u,\"each_usec\":%.0f}\n", from, to, usec);
        else
                printf("\nmounted already: %u; the last %u, one after the other, took %.3f each\n", to, to - from,
                       usec / 1e3);
}

static void print_ratio(const Bench *b, const char *name, unsigned volumes, double value) {
        if (b->json)
                printf("{\"ratio\":\"%s\",\"volumes\":%u,\"value\":%.3f}\n", name, volumes, value);
        else
                printf("  %-28s %9.2f\n", name, value);
}

static void print_step(const Bench *b, size_t step) {
        const Series *r = b->results[step];
        unsigned volumes = b->steps[step];

        if (!b->json)
                printf("  %-10s %9s %9s %9s\n", "", "min", "median", "max");
        for (Row i = 0; i < ROWS; i++)
                if (b->json)
                        printf("{\"row\":\"%s\",\"volumes\":%u,\"min_usec\":%.0f,\"median_usec\":%.0f,"
                               "\"max_usec\":%.0f}\n",
                               row_names[i], volumes, r[i].min, r[i].median, r[i].max);
                else
                        printf("  %-10s %9.3f %9.3f %9.3f\n", row_names[i], r[i].min / 1e3, r[i].median / 1e3,
                               r[i].max / 1e3);
        print_ratio(b, "selvol/bare", volumes, r[ROW_SELVOL].median / r[ROW_BARE].median);
        print_ratio(b, "selvol/shell", volumes, r[ROW_SELVOL].median / r[ROW_SHELL].median);
        print_ratio(b, "selvol/(3*bare+2*commit)", volumes, r[ROW_SELVOL].median / limit_of(r));
        fflush(stdout);
}

static void print_growth(const Bench *b) {
        if (b->n_steps < 2)
                return;
        if (!b->json) {
                printf("\ngrowth of the medians");
                for (size_t k = 0; k < b->n_steps; k++)
                        printf(" %s%u", k > 0 ? "-> " : "", b->steps[k]);
                printf("\n");
        }
        for (Row i = 0; i < ROWS; i++) {
                if (!b->json)
                        printf("  %-10s", row_names[i]);
                for (size_t k = 1; k < b->n_steps; k++) {
                        double growth = b->results[k][i].median / b->results[0][i].median;

                        if (b->json)
                                printf("{\"growth\":\"%s\",\"from\":%u,\"to\":%u,\"value\":%.3f}\n", row_names[i],
                                       b->steps[0], b->steps[k], growth);
                        else
                                printf(" %9.2f", growth);
                }
                if (!b->json)
                        printf("\n");
        }
}

/* ---- main ------------------------------------------------------------------------------------------------------ */

static unsigned parse_number(const char *s, unsigned max) {
        unsigned long long n;

        if (parse_u64(s, &n) < 0 || n > max)
                fail("'%s' is not a number from 0 to %u", s, max);
        return (unsigned) n;
}

static void parse_steps(Bench *b, char *list) {
        char *saved = NULL;

        b->n_steps = 0;
        for (char *s = strtok_r(list, ",", &saved); s; s = strtok_r(NULL, ",", &saved)) {
                unsigned n = parse_number(s, VOLUMES_MAX);

                if (b->n_steps == STEPS_MAX || (b->n_steps > 0 && n <= b->steps[b->n_steps - 1]))
                        fail("--volumes takes at most %i numbers, each larger than the one before", STEPS_MAX);
                b->steps[b->n_steps++] = n;
        }
        if (b->n_steps == 0)
                fail("--volumes takes numbers");
}

static void parse_arguments(Bench *b, int argc, char **argv) {
        static const struct option options[] = {
                { "json", no_argument, NULL, 'j' },
                { "plain", no_argument, NULL, 'p' },
                { "emulated", no_argument, NULL, 'e' },
                { "rounds", required_argument, NULL, 'r' },
                { "volumes", required_argument, NULL, 'v' },
                { "device", required_argument, NULL, 'd' },
                { "fs-type", required_argument, NULL, 'f' },
                { "targets", required_argument, NULL, 't' },
                { "state", required_argument, NULL, 's' },
                { "pause", required_argument, NULL, 'w' },
                { 0 },
        };
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case 'j':
                        b->json = true;
                        break;
                case 'p':
                        b->plain = true;
                        break;
                case 'e':
                        b->emulated = true;
                        break;
                case 'r':
                        b->rounds = parse_number(optarg, 100000);
                        break;
                case 'v':
                        parse_steps(b, optarg);
                        break;
                case 'd':
                        b->device = optarg;
                        break;
                case 'f':
                        b->fs_type = optarg;
                        break;
                case 't':
                        b->targets = optarg;
                        break;
                case 's':
                        b->state = optarg;
                        break;
                case 'w':
                        b->pause_msec = parse_number(optarg, 60000);
                        break;
                default:
                        exit(2);
                }
        if (optind < argc || !b->device || !b->targets || !b->state || b->rounds == 0) {
                fputs("bench-mount --device DEVICE --targets DIR --state DIR [--plain] [--emulated] [--json]\n"
                      "            [--rounds N] [--volumes N,...] [--fs-type TYPE] [--pause MSEC]\n",
                      stderr);
                exit(2);
        }
}

int main(int argc, char **argv) {
        Bench b = {
                .rounds = ROUNDS,
                .pause_msec = PAUSE_MSEC,
                .steps = { 1, 100, 1000 },
                .n_steps = 3,
                .fs_type = "ext4",
        };
        int r;

        parse_arguments(&b, argc, argv);
        r = sd_bus_open_system(&b.bus);
        if (r < 0)
                fail("the system bus can't be reached: %s", strerror(-r));
        open_database(&b);
        b.target = make_target(&b, "measured-", 0);

        print_header(&b);
        for (size_t i = 0; i < b.n_steps; i++) {
                unsigned before = b.n_volumes;
                double each = mount_volumes(&b, b.steps[i]);

                print_fill(&b, before, b.n_volumes, each);
                run_rounds(&b, b.results[i]);
                print_step(&b, i);
        }
        print_growth(&b);

        unmount_volumes(&b);
        (void) rmdir(b.target);
        free(b.target);
        close_database(&b);
        sd_bus_flush_close_unref(b.bus);
        return EXIT_SUCCESS;
}

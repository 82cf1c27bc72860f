/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "model/limits.h"
#include "run.h"

/* Directories hang, as with a server that is gone: nobody can end a process that looks into one. selvold is
 * killed and started again and again meanwhile. What its predecessors have left takes the places of these
 * directories, and no others. */

enum { EXIT_SKIPPED = 77, SOURCES_MAX = 3, IMAGE_SIZE = 8 * 1024 * 1024, USUAL_MAX = 5, SLOWER_MAX = 20 };

static const struct {
        const char *method;
        int n_sources, n_restarts;
        const char *what;
} rows[] = {
        { "MountVolume", 1, 12, "mounts" },
        { "PlanVolume", 1, 3, "plans" },
        { "ApplyOwnership", 1, 2, "changes of files" },
        { "MountVolume", SOURCES_MAX, 3, "mounts from several sources" },
};

static Environment e;
static GDBusConnection *hung; /* has the places of one caller */
static char *directories[SOURCES_MAX];
static GPid servers[SOURCES_MAX];

/* ---- the file system that hangs ---- */

static void answer_init(int fd, const struct fuse_in_header *question) {
        const struct {
                struct fuse_out_header header;
                struct fuse_init_out init;
        } answer = {
                .header = { .len = sizeof(answer), .unique = question->unique },
                .init = { .major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 4096 },
        };

        must(write(fd, &answer, sizeof(answer)));
}

/* Reads each question, and answers none: a process that waits for the answer to a question that was read
 * can't be killed. */
static G_NORETURN void serve_hanging(int fd) {
        static char buffer[FUSE_MIN_READ_BUFFER + 4096];
        const struct fuse_in_header *question = (const void *) buffer;

        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
                if (read(fd, buffer, sizeof(buffer)) > 0 && question->opcode == FUSE_INIT)
                        answer_init(fd, question);
}

static GPid hang_begin(const char *directory) {
        g_autofree char *options = NULL;
        int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
        GPid pid;

        must(fd);
        options = g_strdup_printf("fd=%i,rootmode=40000,user_id=0,group_id=0", fd);
        must(mount("hang", directory, "fuse", 0, options));
        pid = fork();
        if (pid == 0)
                serve_hanging(fd);
        must(pid);
        close(fd);
        return pid;
}

/* The kernel fails what waits. */
static void hang_end(int i) {
        (void) program_end(servers[i], SIGKILL);
        must(umount2(directories[i], MNT_DETACH));
}

/* ---- calls ---- */

static GVariant *call(GDBusConnection *bus, const char *method, GVariant *arguments) {
        g_autoptr(GError) error = NULL;
        GVariant *reply =
                g_dbus_connection_call_sync(bus, "org.selvol1", "/org/selvol1", "org.selvol1.Manager", method,
                                            arguments, NULL, G_DBUS_CALL_FLAGS_NONE, WAIT_SEC * 1000, NULL, &error);

        if (!reply)
                g_print("# %s: %s\n", method, error->message);
        return reply;
}

/* Whether a tmpfs can be mounted and unmounted; in which time. */
static bool serves(gint64 *ret_usec) {
        const gint64 start = g_get_monotonic_time();
        g_autoptr(GVariant) mounted = NULL, unmounted = NULL;

        mounted = call(e.bus, "MountVolume",
                       g_variant_new("(sss@a{sv})", "healthy", "tmpfs", e.targets[0],
                                     g_variant_new_parsed("{'FSType': <'tmpfs'>}")));
        if (mounted)
                unmounted =
                        call(e.bus, "UnmountVolume",
                             g_variant_new("(ss@a{sv})", "healthy", e.targets[0], g_variant_new_parsed("@a{sv} {}")));
        *ret_usec = g_get_monotonic_time() - start;
        return unmounted;
}

typedef struct HangingCall {
        char *volume, *source, *target;
} HangingCall;

static HangingCall hanging_call(int source, int round, int i) {
        HangingCall c = { .volume = g_strdup_printf("hung-%i-%i-%i", source, round, i) };

        c.source = g_build_filename(directories[source], c.volume, NULL);
        c.target = path_printf("%s/targets/%s", e.directory, c.volume);
        must(g_mkdir_with_parents(c.target, 0755));
        return c;
}

static void hanging_call_done(HangingCall *c) {
        g_free(c->volume);
        g_free(c->source);
        g_free(c->target);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(HangingCall, hanging_call_done)

/* A change of files needs a volume that was mounted before. */
static void prepare(int row, int round) {
        for (int i = 0; i < JOBS_OF_SOURCE_MAX; i++) {
                g_auto(HangingCall) c = hanging_call(0, round, i);
                g_autoptr(GVariant) mounted = NULL, unmounted = NULL;

                g_assert_true(image_make(c.source, IMAGE_SIZE, "ext4", NULL));
                mounted = call(e.bus, "MountVolume",
                               g_variant_new("(sss@a{sv})", c.volume, c.source, c.target,
                                             g_variant_new_parsed("@a{sv} {}")));
                unmounted = call(e.bus, "UnmountVolume",
                                 g_variant_new("(ss@a{sv})", c.volume, c.target, g_variant_new_parsed("@a{sv} {}")));
                g_assert_true(mounted && unmounted);
        }
}

static void send_hanging(const char *method, int source, int round, int i) {
        g_auto(HangingCall) c = hanging_call(source, round, i);
        GVariant *arguments = g_str_equal(method, "ApplyOwnership")
                                      ? g_variant_new("(su@a{sv})", c.volume, 1234, g_variant_new_parsed("@a{sv} {}"))
                                      : g_variant_new("(sss@a{sv})", c.volume, c.source, c.target,
                                                      g_variant_new_parsed("{'TimeoutUSec': <@t 600000000>}"));

        g_dbus_connection_call(hung, "org.selvol1", "/org/selvol1", "org.selvol1.Manager", method, arguments, NULL,
                               G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL, NULL);
}

/* ---- rows ---- */

/* The usual time is measured, as machines are shared. */
static gint64 measure_usual(void) {
        gint64 longest = G_USEC_PER_SEC, usec;

        for (int i = 0; i < USUAL_MAX; i++) {
                g_assert_true(serves(&usec));
                longest = MAX(longest, SLOWER_MAX * usec);
        }
        return longest;
}

/* All children, without the watch. */
static int count_hanging(void) {
        return (int) count_children(e.worker, CHILDREN_SERVING) - 1;
}

static bool check_round(int row, int round, gint64 usec_max) {
        const int expected = rows[row].n_sources * JOBS_OF_SOURCE_MAX;
        gint64 usec;
        bool served;

        for (int source = 0; source < rows[row].n_sources; source++)
                for (int i = 0; i < JOBS_OF_SOURCE_MAX; i++)
                        send_hanging(rows[row].method, source, round, i);
        if (!HOLDS_WITHIN(WAIT_SEC, count_hanging() >= expected))
                return false;
        served = serves(&usec);
        g_print("# restart %i: %i processes hang; a mount and an unmount take %i ms\n", round, count_hanging(),
                (int) (usec / 1000));
        /* The children of that mount and unmount may still be there. */
        return served && usec < usec_max && count_hanging() < expected + JOBS_OF_SOURCE_MAX &&
               HOLDS_WITHIN(WAIT_SEC, count_hanging() == expected);
}

static bool check_row(int row) {
        const bool changes = g_str_equal(rows[row].method, "ApplyOwnership");
        gint64 usec_max = measure_usual();
        bool ok = true;

        for (int round = 0; changes && round <= rows[row].n_restarts; round++)
                prepare(row, round);
        for (int i = 0; i < rows[row].n_sources; i++)
                servers[i] = hang_begin(directories[i]);
        for (int round = 0; ok && round <= rows[row].n_restarts; round++) {
                ok = check_round(row, round, usec_max);
                (void) environment_kill(&e, VICTIM_DAEMON, -1);
                environment_restart(&e, VICTIM_DAEMON, false);
        }
        if (!ok)
                print_log(e.log);
        for (int i = 0; i < rows[row].n_sources; i++)
                hang_end(i);
        return run_report(HOLDS_WITHIN(WAIT_SEC, count_hanging() == 0) && ok, row + 1, rows[row].what);
}

int main(int argc, char **argv) {
        bool ok = true;

        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        if (!namespace_enter())
                return EXIT_SKIPPED;
        if (access("/dev/fuse", R_OK | W_OK) < 0) {
                g_print("1..0 # SKIP there is no /dev/fuse\n");
                return EXIT_SKIPPED;
        }
        environment_start(&e);
        hung = bus_connect(g_getenv("DBUS_SYSTEM_BUS_ADDRESS"));
        for (int i = 0; i < SOURCES_MAX; i++) {
                directories[i] = path_printf("%s/images/server-%i", e.directory, i);
                must(g_mkdir_with_parents(directories[i], 0755));
        }
        g_print("1..%zu\n", G_N_ELEMENTS(rows));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                ok = check_row((int) i) && ok;
        environment_stop(&e);
        return ok ? 0 : 1;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "environment.h"

enum { FILES = 500, IMAGE_SIZE = 8 * 1024 * 1024, STATE_SIZE = 32 * 1024 * 1024, START_SEC = 30, LOG_LINES = 60 };

#define STATE_DIRECTORY "/run/state"

const char *const victim_names[VICTIMS] = { "selvold", "selvol-worker", "a child of selvol-worker" };

static bool has_strace(void) {
        g_autofree char *path = g_find_program_in_path("strace");

        return path;
}

static bool skip_all(const char *why) {
        g_print("1..0 # SKIP %s\n", why);
        return false;
}

bool environment_enter(void) {
        if (geteuid() != 0)
                return skip_all("needs root");
        if (unshare(CLONE_NEWNS) < 0)
                return skip_all("needs a mount namespace of its own");
        if (access("/dev/loop-control", R_OK | W_OK) < 0)
                return skip_all("needs loop devices");
        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
        must(mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"));
        return true;
}

void pause_usec(int64_t usec) {
        int64_t end = g_get_monotonic_time() + usec;

        do {
                while (g_main_context_iteration(NULL, FALSE))
                        ;
                g_usleep(200);
        } while (g_get_monotonic_time() < end);
}

/* ---- files ---- */

static char *make_directory(const Environment *e, const char *name) {
        char *path = g_build_filename(e->directory, name, NULL);

        must(g_mkdir_with_parents(path, 0755));
        return path;
}

static void write_file(const Environment *e, const char *name, const char *text) {
        g_autofree char *path = g_build_filename(e->directory, name, NULL);

        g_assert_true(g_file_set_contents(path, text, -1, NULL));
}

static char *read_log(const Environment *e) {
        g_autofree char *path = g_build_filename(e->directory, "log", NULL);
        char *text = NULL;

        return g_file_get_contents(path, &text, NULL, NULL) ? text : g_strdup("");
}

void environment_print_log(const Environment *e) {
        g_autofree char *log = read_log(e);
        g_auto(GStrv) lines = g_strsplit(log, "\n", -1);
        unsigned n = g_strv_length(lines);

        for (unsigned i = n > LOG_LINES ? n - LOG_LINES : 0; i < n; i++)
                g_print("# log: %s\n", lines[i]);
}

/* Says what the process is at, which may not have come as far as its log. */
static G_NORETURN void give_up(const Environment *e, GPid pid, const char *why) {
        static const char *const files[] = { "cmdline", "wchan", "syscall", "status" };

        environment_print_log(e);
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = g_strdup_printf("/proc/%i/%s", (int) pid, files[i]), *text = NULL;

                if (g_file_get_contents(path, &text, NULL, NULL))
                        g_print("# %s: %s\n", path, g_strdelimit(text, "\n\t", ' '));
        }
        g_error("%s", why);
}

static GPtrArray *collect_words(const char *const *prefix, const char *first, va_list ap) {
        GPtrArray *words = g_ptr_array_new();

        for (; prefix && *prefix; prefix++)
                g_ptr_array_add(words, (char *) *prefix);
        for (const char *s = first; s; s = va_arg(ap, const char *))
                g_ptr_array_add(words, (char *) s);
        g_ptr_array_add(words, NULL);
        return words;
}

bool run(const char *program, ...) {
        g_autoptr(GPtrArray) argv = NULL;
        g_autofree char *output = NULL;
        int status = -1;
        va_list ap;

        va_start(ap, program);
        argv = collect_words(NULL, program, ap);
        va_end(ap);
        if (g_spawn_sync(NULL, (char **) argv->pdata, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                         NULL, NULL, &output, &status, NULL) &&
            g_spawn_check_wait_status(status, NULL))
                return true;
        g_print("# %s: %s\n", program, output);
        return false;
}

static void make_image(const char *path, const char *tree) {
        g_autofree char *size = g_strdup_printf("%i", IMAGE_SIZE);

        g_assert_true(run("truncate", "-s", size, path, NULL));
        g_assert_true(run("mkfs.ext4", "-q", "-N", "1024", "-d", tree, path, NULL));
}

static void make_volumes(Environment *e) {
        g_autofree char *images = make_directory(e, "images"), *tree = make_directory(e, "tree/directory");

        for (unsigned i = 0; i < FILES; i++) {
                g_autofree char *name = g_strdup_printf("tree/directory/%u", i);

                write_file(e, name, "");
        }
        for (unsigned i = 0; i < VOLUMES; i++) {
                TestVolume *v = &e->volumes[i];

                v->id = g_strdup_printf("volume-%u", i);
                v->image = i < VOLUMES - 1;
                v->fs_type = v->image ? "ext4" : "tmpfs";
                v->source = v->image ? g_build_filename(images, v->id, NULL) : g_strdup("tmpfs");
                if (v->image)
                        make_image(v->source, tree);
        }
}

/* On a disk, where a commit takes its time; nothing is left there when the namespace is gone. */
static void make_state(void) {
        g_autofree char *image = NULL;
        int fd = g_file_open_tmp("selvol-fault-XXXXXX", &image, NULL);

        must(fd);
        must(ftruncate(fd, STATE_SIZE));
        close(fd);
        must(mkdir(STATE_DIRECTORY, 0700));
        g_assert_true(run("mkfs.ext4", "-q", "-F", image, NULL) &&
                      run("mount", "-o", "loop", image, STATE_DIRECTORY, NULL));
        must(unlink(image));
}

static void make_targets(Environment *e) {
        e->peek = make_directory(e, "peek");
        e->bystander = make_directory(e, "targets/bystander");
        must(mount("bystander", e->bystander, "tmpfs", 0, NULL));
        for (unsigned i = 0; i < TARGETS; i++) {
                g_autofree char *name = g_strdup_printf("targets/%u", i);

                e->targets[i] = make_directory(e, name);
        }
}

int environment_find_target(const Environment *e, const char *path) {
        for (int i = 0; i < TARGETS; i++)
                if (g_str_equal(path, e->targets[i]))
                        return i;
        return NO_TARGET;
}

void environment_lose_state(void) {
        const char *const names[] = { "state.db", "state.db-wal", "state.db-shm" };

        for (unsigned i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename(STATE_DIRECTORY, names[i], NULL);

                if (unlink(path) < 0 && errno != ENOENT)
                        g_error("%s can't be removed: %s", path, g_strerror(errno));
        }
}

/* ---- processes ---- */

static void die_with_parent(gpointer userdata) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* Lingers where an interruption matters most: what is mounted has not been answered, what was answered may not be written.
 * The program keeps its pid (-D). */
static const char *const slowly[] = {
        "strace",
        "-D",
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-o",
        "/dev/null",
        "-e",
        "trace=move_mount,umount2,fsetxattr,pwrite64",
        "-e",
        "inject=move_mount,umount2,fsetxattr:delay_exit=10000",
        "-e",
        "inject=pwrite64:delay_enter=2000",
        NULL,
};

/* inherited: a descriptor that the program and its children get, or -1 */
static GPid spawn(const Environment *e, int inherited, const char *program, ...) {
        g_autofree char *path = g_build_filename(e->directory, "log", NULL),
                        *address = g_strdup_printf("unix:path=%s/bus", e->directory);
        g_auto(GStrv) environment = g_get_environ();
        g_autoptr(GPtrArray) argv = NULL;
        g_autoptr(GError) error = NULL;
        int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600), as = STDERR_FILENO + 1;
        GPid pid;
        va_list ap;

        must(log);
        va_start(ap, program);
        argv = collect_words(e->slow ? slowly : NULL, program, ap);
        va_end(ap);
        environment = g_environ_setenv(environment, "DBUS_SYSTEM_BUS_ADDRESS", address, TRUE);
        environment = g_environ_unsetenv(environment, "NOTIFY_SOCKET");
        /* LeakSanitizer can't work on a process that is traced. */
        environment = g_environ_setenv(environment, "ASAN_OPTIONS", "detect_leaks=0", TRUE);
        if (e->preload)
                environment = g_environ_setenv(environment, "LD_PRELOAD", e->preload, TRUE);
        g_spawn_async_with_pipes_and_fds(NULL, (const char *const *) argv->pdata, (const char *const *) environment,
                                         G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, die_with_parent, NULL, -1,
                                         log, log, &inherited, &as, inherited >= 0, &pid, NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        close(log);
        return pid;
}

GDBusConnection *environment_connect(const Environment *e) {
        g_autofree char *address = g_strdup_printf("unix:path=%s/bus", e->directory);

        return g_dbus_connection_new_for_address_sync(address,
                                                      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT |
                                                              G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION,
                                                      NULL, NULL, NULL);
}

static void start_bus(Environment *e) {
        g_autofree char *address = g_strdup_printf("--address=unix:path=%s/bus", e->directory);

        (void) spawn(e, -1, "dbus-daemon", "--session", "--nofork", "--nopidfile", address, NULL);
        if (!WAIT_FOR((e->bus = environment_connect(e)), START_SEC))
                g_error("dbus-daemon does not listen.");
}

static void start_worker(Environment *e) {
        g_autofree char *socket = g_build_filename(e->directory, "worker", NULL),
                        *etc = g_build_filename(e->directory, "etc", NULL),
                        *usr = g_build_filename(g_getenv("G_TEST_SRCDIR"), "src", NULL),
                        *program = g_build_filename(g_getenv("G_TEST_BUILDDIR"), "src", "selvol-worker", NULL);
        int fds[2];

        (void) unlink(socket);
        must(pipe2(fds, O_CLOEXEC));
        e->worker = spawn(e, fds[1], program, "--socket", socket, "--config-usr", usr, "--config-etc", etc,
                          "--peer-uid", "0", NULL);
        close(fds[1]);
        e->worker_end = fds[0];
        if (!WAIT_FOR(access(socket, F_OK) == 0, START_SEC))
                give_up(e, e->worker, "selvol-worker does not listen.");
}

static bool name_is_owned(const Environment *e) {
        g_autoptr(GVariant) reply = g_dbus_connection_call_sync(
                e->bus, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "NameHasOwner",
                g_variant_new("(s)", "org.selvol1"), G_VARIANT_TYPE("(b)"), G_DBUS_CALL_FLAGS_NONE, -1, NULL, NULL);
        gboolean owned = FALSE;

        if (reply)
                g_variant_get(reply, "(b)", &owned);
        return owned;
}

static void start_daemon(Environment *e) {
        g_autofree char *worker = g_build_filename(e->directory, "worker", NULL),
                        *etc = g_build_filename(e->directory, "etc", NULL),
                        *usr = g_build_filename(g_getenv("G_TEST_SRCDIR"), "src", NULL),
                        *program = g_build_filename(g_getenv("G_TEST_BUILDDIR"), "src", "selvold", NULL);

        e->daemon = spawn(e, -1, program, "--state-directory", STATE_DIRECTORY, "--worker", worker, "--config-usr",
                          usr, "--config-etc", etc, "--trusted-uid", "0", NULL);
        if (!WAIT_FOR(name_is_owned(e), START_SEC))
                give_up(e, e->daemon, "selvold does not take its name.");
}

void environment_start(Environment *e) {
        g_autofree char *dropins = NULL, *roots = NULL;

        /* The name is this test's own, as /sys shows the files of all loop devices of the machine. */
        e->directory = g_strdup_printf("/run/selvol-fault-%i", (int) getpid());
        dropins = make_directory(e, "etc/selvol.conf.d");
        make_state();
        make_targets(e);
        make_volumes(e);
        roots = g_strdup_printf(
                "[Service]\nMetricsTextfile=\n[Worker]\nTargetRoots=%s/targets\nSourceRoots=/dev %s/images\n",
                e->directory, e->directory);
        write_file(e, "etc/selvol.conf.d/10-roots.conf", roots);
        start_bus(e);
        start_worker(e);
        start_daemon(e);
}

static void stop(GPid *pid) {
        must(kill(*pid, SIGKILL));
        must(waitpid(*pid, NULL, 0));
        *pid = 0;
}

/* The rest goes with the last process of the namespace. */
void environment_stop(Environment *e) {
        stop(&e->daemon);
        stop(&e->worker);
        for (unsigned i = 0; i < TARGETS; i++)
                (void) umount2(e->targets[i], MNT_DETACH);
}

/* ---- kills ---- */

static bool is_spare(const char *pid) {
        g_autofree char *path = g_strdup_printf("/proc/%s/comm", pid), *name = NULL;

        return g_file_get_contents(path, &name, NULL, NULL) && g_str_equal(name, "selvol-spare\n");
}

/* Their pids; without the one that waits for a connection, unless it is wanted too. */
static GStrv list_children(const Environment *e, bool with_spare) {
        g_autofree char *path = g_strdup_printf("/proc/%i/task/%i/children", (int) e->worker, (int) e->worker),
                        *text = NULL;
        g_auto(GStrv) all = NULL;
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();

        if (!g_file_get_contents(path, &text, NULL, NULL) || g_strchomp(text)[0] == '\0')
                return g_new0(char *, 1);
        all = g_strsplit(text, " ", -1);
        for (char **pid = all; *pid; pid++)
                if (with_spare || !is_spare(*pid))
                        g_strv_builder_add(list, *pid);
        return g_strv_builder_end(list);
}

pid_t environment_find_spare(const Environment *e) {
        g_auto(GStrv) children = list_children(e, true);

        for (char **pid = children; *pid; pid++)
                if (is_spare(*pid))
                        return (pid_t) g_ascii_strtoll(*pid, NULL, 10);
        return 0;
}

unsigned environment_count_children(const Environment *e) {
        g_auto(GStrv) children = list_children(e, false);

        return g_strv_length(children);
}

/* Its pid is looked up again once it is held: it may have become another process's. */
int environment_pick_child(const Environment *e, GRand *rand) {
        bool with_spare = g_rand_int_range(rand, 0, 8) == 0;
        g_auto(GStrv) children = list_children(e, with_spare), again = NULL;
        int n = (int) g_strv_length(children), i, fd;

        if (n == 0)
                return -1;
        i = g_rand_int_range(rand, 0, 4) == 0 ? g_rand_int_range(rand, 0, n) : n - 1;
        fd = pidfd_open((pid_t) g_ascii_strtoll(children[i], NULL, 10), 0);
        again = list_children(e, true);
        if (fd < 0 || g_strv_contains((const char *const *) again, children[i]))
                return fd;
        close(fd);
        return -1;
}

/* A number of /proc/PID/status. */
static int read_status(const char *pid, const char *field) {
        g_autofree char *path = g_build_filename("/proc", pid, "status", NULL), *text = NULL;
        const char *line;

        if (!g_file_get_contents(path, &text, NULL, NULL))
                return 0;
        line = strstr(text, field);
        return line ? atoi(line + strlen(field)) : 0;
}

/* strace 6.1 forgets to let a process go on that is forked while its parent is killed. */
static void kill_tracers_of_orphans(void) {
        g_autoptr(GDir) dir = g_dir_open("/proc", 0, NULL);
        g_autofree char *own = g_file_read_link("/proc/self/ns/mnt", NULL);
        const char *pid;

        while ((pid = g_dir_read_name(dir))) {
                g_autofree char *path = g_build_filename("/proc", pid, "ns/mnt", NULL),
                                *namespace = g_ascii_isdigit(pid[0]) ? g_file_read_link(path, NULL) : NULL;
                int tracer = g_strcmp0(namespace, own) == 0 ? read_status(pid, "TracerPid:\t") : 0;

                if (tracer > 0 && read_status(pid, "PPid:\t") != getpid())
                        (void) kill(tracer, SIGKILL);
        }
}

static void wait_for_children(const Environment *e) {
        struct pollfd p = { .fd = e->worker_end };
        int r;

        r = poll(&p, 1, START_SEC / 2 * 1000);
        if (r == 0) {
                kill_tracers_of_orphans();
                r = poll(&p, 1, START_SEC * 1000);
        }
        if (r != 1)
                g_error("The children of a worker that was killed don't end.");
        close(e->worker_end);
}

bool environment_kill(Environment *e, Victim v, int child) {
        if (v == VICTIM_CHILD)
                return child >= 0 && pidfd_send_signal(child, SIGKILL, NULL, 0) >= 0;
        stop(v == VICTIM_DAEMON ? &e->daemon : &e->worker);
        if (v == VICTIM_WORKER) {
                /* Just forked, it may stand still before it has asked the kernel to end with its parent. */
                if (child >= 0)
                        (void) pidfd_send_signal(child, SIGCONT, NULL, 0);
                wait_for_children(e);
        }
        return true;
}

void environment_restart(Environment *e, Victim v, bool slow) {
        e->slow = slow && has_strace();
        if (v == VICTIM_DAEMON)
                start_daemon(e);
        if (v == VICTIM_WORKER)
                start_worker(e);
}

int environment_has_ended(const Environment *e, Victim v) {
        GPid pid = v == VICTIM_DAEMON ? e->daemon : e->worker;
        siginfo_t si = { 0 };

        must(waitid(P_PID, (id_t) pid, &si, WEXITED | WNOHANG | WNOWAIT));
        if (si.si_pid != pid)
                return 0;
        return si.si_code == CLD_EXITED ? si.si_status : 128 + si.si_status;
}

bool environment_is_sound(const Environment *e, const char **ret) {
        g_autofree char *log = read_log(e);

        *ret = strstr(log, "Sanitizer") || strstr(log, "runtime error:") ? "a sanitizer has found something"
               : environment_has_ended(e, VICTIM_DAEMON)                 ? "selvold has ended by itself"
               : environment_has_ended(e, VICTIM_WORKER)                 ? "selvol-worker has ended by itself"
                                                                         : NULL;
        return !*ret;
}

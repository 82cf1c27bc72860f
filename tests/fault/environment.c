/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <linux/fs.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "environment.h"

enum { FILES = 500, IMAGE_SIZE = 8 * 1024 * 1024, STATE_SIZE = 32 * 1024 * 1024, ORPHANS_SEC = 15 };

#define STATE_DIRECTORY "/run/state"

const char *const victim_names[VICTIMS] = { "selvold", "selvol-worker", "a child of selvol-worker" };

/* ---- files ---- */

static char *make_directory(const Environment *e, const char *name) {
        char *path = g_build_filename(e->directory, name, NULL);

        must(g_mkdir_with_parents(path, 0755));
        return path;
}

static void make_volumes(Environment *e) {
        g_autofree char *images = make_directory(e, "images"), *tree = path_printf("%s/tree", e->directory);

        for (unsigned i = 0; i < FILES; i++) {
                g_autofree char *file = path_printf("%s/%u", tree, i);

                file_write(file, "");
        }
        for (unsigned i = 0; i < VOLUMES; i++) {
                TestVolume *v = &e->volumes[i];

                v->id = g_strdup_printf("volume-%u", i);
                v->image = i < VOLUMES - 1;
                v->fs_type = v->image ? "ext4" : "tmpfs";
                v->source = v->image ? g_build_filename(images, v->id, NULL) : g_strdup("tmpfs");
                if (v->image)
                        g_assert_true(image_make(v->source, IMAGE_SIZE, v->fs_type, "-N", "1024", "-d", tree, NULL));
        }
}

/* The state is on a disk, where a commit takes time. The kernel frees the image with the namespace. */
static void make_state(void) {
        g_autofree char *image = NULL;
        int fd = g_file_open_tmp("selvol-fault-XXXXXX", &image, NULL);

        must(fd);
        close(fd);
        must(mkdir(STATE_DIRECTORY, 0700));
        g_assert_true(image_make(image, STATE_SIZE, "ext4", NULL));
        g_assert_true(run("mount", "-o", "loop", image, STATE_DIRECTORY, NULL));
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

void environment_freeze_state(bool frozen) {
        int fd = open(STATE_DIRECTORY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        must(fd);
        must(ioctl(fd, frozen ? FIFREEZE : FITHAW, 0));
        close(fd);
}

void environment_fill_records(unsigned n) {
        g_autofree char *path = g_build_filename(STATE_DIRECTORY, "state.db", NULL);

        records_fill(path, n, "");
}

void environment_peek(const Environment *e, const TestVolume *v, const char *device) {
        g_autofree char *block = g_build_filename("/sys/dev/block", device, NULL), *link = NULL, *name = NULL,
                        *path = NULL;

        if (device[0] == '\0') {
                if (!HOLDS_WITHIN(WAIT_SEC, run("mount", "-o", "loop", v->source, e->peek, NULL)))
                        g_error("%s can't be mounted.", v->source);
                return;
        }
        link = g_file_read_link(block, NULL);
        name = g_path_get_basename(link);
        path = g_build_filename("/dev", name, NULL);
        must(mount(path, e->peek, v->fs_type, 0, NULL));
}

/* ---- processes ---- */

/* strace delays the system calls after which an interruption matters most: a mount before its answer, and an
 * answer before its record. The program keeps its pid (-D). */
static const char *const slowly[] = { "strace",
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
                                      NULL };

static Launch how_to_launch(const Environment *e, int inherited) {
        return (Launch){
                .wrapper = e->slow ? slowly : NULL, .environment = e->preload, .log = e->log, .inherited = inherited
        };
}

static void start_worker(Environment *e) {
        Launch how;
        int fds[2];

        must(pipe2(fds, O_CLOEXEC));
        how = how_to_launch(e, fds[1]);
        e->worker = selvol_worker_start(&how, &e->service);
        close(fds[1]);
        e->worker_end = fds[0];
}

static void start_daemon(Environment *e) {
        const Launch how = how_to_launch(e, 0);

        e->daemon = selvold_start(&how, &e->service, e->bus);
}

void environment_start(Environment *e) {
        g_autofree char *bus = NULL, *address = NULL, *roots = NULL, *file = NULL;
        Launch how;

        /* The name has the pid, as /sys shows the images of all loop devices of the machine. */
        e->directory = path_printf("/run/selvol-fault-%i", (int) getpid());
        e->log = path_printf("%s/log", e->directory);
        e->service = (Service){ .state = STATE_DIRECTORY,
                                .socket = path_printf("%s/worker", e->directory),
                                .etc = path_printf("%s/etc", e->directory) };
        make_state();
        make_targets(e);
        make_volumes(e);
        roots = path_printf(
                "[Service]\nMetricsTextfile=\n[Worker]\nTargetRoots=\nTargetRoots=%s/targets\nSourceRoots=%s/images\n",
                e->directory, e->directory);
        file = path_printf("%s/selvol.conf.d/10-roots.conf", e->service.etc);
        file_write(file, roots);

        bus = path_printf("%s/bus", e->directory);
        address = path_printf("unix:path=%s", bus);
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", address, TRUE);
        g_unsetenv("NOTIFY_SOCKET");
        /* LeakSanitizer fails in a process that is traced. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        how = how_to_launch(e, 0);
        e->bus = bus_start(&how, bus);
        start_worker(e);
        start_daemon(e);
}

static void stop(GPid *pid) {
        (void) program_end(*pid, SIGKILL);
        *pid = 0;
}

/* The kernel unmounts everything else with the namespace. */
void environment_stop(Environment *e) {
        stop(&e->daemon);
        stop(&e->worker);
        for (unsigned i = 0; i < TARGETS; i++)
                (void) umount2(e->targets[i], MNT_DETACH);
}

/* ---- kills ---- */

/* Looks the pid up once more after the pidfd is open, as another process may have got the pid before. */
int environment_pick_child(const Environment *e, GRand *rand) {
        bool with_spare = g_rand_int_range(rand, 0, 8) == 0;
        g_auto(GStrv) children = list_children(e->worker, with_spare ? CHILDREN_ALL : CHILDREN_SERVING), again = NULL;
        int n = (int) g_strv_length(children), i, fd;

        if (n == 0)
                return -1;
        i = g_rand_int_range(rand, 0, 4) == 0 ? g_rand_int_range(rand, 0, n) : n - 1;
        fd = pidfd_open((pid_t) g_ascii_strtoll(children[i], NULL, 10), 0);
        again = list_children(e->worker, CHILDREN_ALL);
        if (fd < 0 || g_strv_contains((const char *const *) again, children[i]))
                return fd;
        close(fd);
        return -1;
}

static pid_t find_other_spare(const Environment *e, GStrv former) {
        g_auto(GStrv) list = list_children(e->worker, CHILDREN_SPARE);

        if (g_strv_length(list) != 1 || g_strv_contains((const char *const *) former, list[0]))
                return 0;
        return (pid_t) g_ascii_strtoll(list[0], NULL, 10);
}

pid_t environment_renew_spare(const Environment *e) {
        g_auto(GStrv) former = list_children(e->worker, CHILDREN_SPARE);
        pid_t pid = 0;

        if (kill(e->worker, SIGHUP) < 0)
                return 0;
        (void) HOLDS_WITHIN(WAIT_SEC, (pid = find_other_spare(e, former)) > 0);
        return pid;
}

static int read_status(const char *pid, const char *field) {
        g_autofree char *path = g_build_filename("/proc", pid, "status", NULL), *text = file_read(path);
        const char *line = strstr(text, field);

        return line ? atoi(line + strlen(field)) : 0;
}

/* strace 6.1 never continues a process that is forked while its parent is killed. */
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

        r = poll(&p, 1, ORPHANS_SEC * 1000);
        if (r == 0) {
                kill_tracers_of_orphans();
                r = poll(&p, 1, WAIT_SEC * 1000);
        }
        if (r != 1)
                g_error("The children of a worker that was killed don't end.");
        close(e->worker_end);
}

bool environment_kill(Environment *e, Victim v, int child) {
        if (v == VICTIM_CHILD)
                return child >= 0 && pidfd_send_signal(child, SIGKILL, NULL, 0) >= 0;
        stop(v == VICTIM_DAEMON ? &e->daemon : &e->worker);
        /* Until the bus knows of its end, it would look as if the next selvold had its name already. */
        if (v == VICTIM_DAEMON)
                WAIT_FOR(!bus_has_name(e->bus, "org.selvol1"));
        if (v == VICTIM_WORKER) {
                /* A child that was frozen right after fork(2) has not yet asked to end with its parent. */
                if (child >= 0)
                        (void) pidfd_send_signal(child, SIGCONT, NULL, 0);
                wait_for_children(e);
        }
        return true;
}

void environment_restart(Environment *e, Victim v, bool slow) {
        e->slow = slow && has_program("strace");
        if (v == VICTIM_DAEMON)
                start_daemon(e);
        if (v == VICTIM_WORKER)
                start_worker(e);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <glib/gstdio.h>

#include "mount/loop.h"
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "mount/target.h"
#include "wire/peer.h"
#include "support.h"

static bool skip_all(const char *why) {
        g_print("1..0 # SKIP %s\n", why);
        return false;
}

bool test_enter(void) {
        if (geteuid() != 0)
                return skip_all("needs root");
        if (unshare(CLONE_NEWNS) < 0)
                return skip_all("needs a mount namespace of its own");
        if (access("/dev/loop-control", R_OK | W_OK) < 0)
                return skip_all("needs loop devices");

        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
        must(mount("tmpfs", "/run", "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4g"));
        must(mkdir(TEST_DIR, 0755));
        must(mkdir(TEST_TARGETS, 0755));
        must(mkdir(TEST_IMAGES, 0755));
        return true;
}

bool run(const char *program, ...) {
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_autofree char *output = NULL;
        int status = -1;
        va_list ap;

        va_start(ap, program);
        for (const char *s = program; s; s = va_arg(ap, const char *))
                g_ptr_array_add(argv, (char *) s);
        va_end(ap);
        g_ptr_array_add(argv, NULL);

        return g_spawn_sync(NULL, (char **) argv->pdata, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL,
                            NULL, NULL, &output, &status, NULL) &&
               g_spawn_check_wait_status(status, NULL);
}

char *path_printf(const char *format, ...) {
        va_list ap;
        char *s;

        va_start(ap, format);
        s = g_strdup_vprintf(format, ap);
        va_end(ap);
        return s;
}

bool has_program(const char *name) {
        g_autofree char *path = g_find_program_in_path(name);

        return path;
}

char *make_image(const char *name, const char *fs_type) {
        g_autofree char *path = path_printf(TEST_IMAGES "/%s", name), *mkfs = NULL;
        int fd;

        fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        g_assert_cmpint(fd, >=, 0);
        /* What mkfs.xfs asks for at least. */
        must(ftruncate(fd, 320 * 1024 * 1024));
        close(fd);
        if (!fs_type)
                return g_steal_pointer(&path);

        mkfs = path_printf("mkfs.%s", fs_type);
        if (!has_program(mkfs)) {
                g_test_skip(mkfs);
                return NULL;
        }
        g_assert_true(run(mkfs, "-q", path, NULL));
        return g_steal_pointer(&path);
}

char *make_target(const char *name) {
        char *path = path_printf(TEST_TARGETS "/%s", name);

        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        return path;
}

char *attach_loop(const char *image, int *ret_fd) {
        char *path, *copy;
        int fd;

        fd = open(image, O_RDWR | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(loop_attach(fd, image, false, ret_fd, &path), ==, 0);
        close(fd);
        copy = g_strdup(path);
        free(path);
        return copy;
}

char *make_link(const char *name, const char *leads_to) {
        char *path = path_printf("/dev/selvol-test-%i-%s", (int) getpid(), name);

        must(symlink(leads_to, path));
        return path;
}

uint64_t mount_id_of(const char *path) {
        uint64_t id;
        int fd;

        fd = open(path, O_PATH | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(mount_identify(fd, &id, NULL), ==, 0);
        close(fd);
        return id;
}

void note_mount_as(const char *target, const char *volume) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        MountNote note = { .volume = (char *) volume, .target = (char *) target };
        int fd = open(target, O_PATH | O_CLOEXEC);

        must(fd);
        g_assert_cmpint(mount_table_read_own(fd, false, &table), ==, 0);
        g_assert_cmpint(mount_table_find_id(table, mount_id_of(target), &fact), ==, 0);
        note.device = fact.device;
        g_assert_cmpint(g_mkdir_with_parents(MOUNT_NOTES, 0700), ==, 0);
        g_assert_cmpint(mount_note_write(fd, &note), ==, 0);
        close(fd);
}

void note_mount(const char *target) {
        note_mount_as(target, "volume");
}

bool is_mounted(const char *path) {
        bool is_mount;
        uint64_t id;
        int fd;

        fd = open(path, O_PATH | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(mount_identify(fd, &id, &is_mount), ==, 0);
        close(fd);
        return is_mount;
}

bool is_read_only(const char *path) {
        struct statvfs st;

        must(statvfs(path, &st));
        return st.f_flag & ST_RDONLY;
}

size_t count_mounts(void) {
        char *const roots[] = { (char *) TEST_TARGETS, NULL };
        MountTable *table;
        MountFact *facts;
        size_t n;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        g_assert_cmpint(mount_table_find_beneath(table, roots, NULL, &facts, &n), ==, 0);
        mount_facts_free(facts, n);
        mount_table_free(table);
        return n;
}

size_t count_loops(const char *image) {
        struct stat st;
        dev_t *devices;
        size_t n;

        must(stat(image, &st));
        g_assert_cmpint(loop_find(st.st_dev, st.st_ino, &devices, &n), ==, 0);
        free(devices);
        return n;
}

static void write_configuration(const char *directory, const char *dropin) {
        static const char roots[] = "[Worker]\nTargetRoots=" TEST_TARGETS "\nSourceRoots=/dev " TEST_IMAGES "\n";
        g_autofree char *usr = path_printf("%s/usr/selvol.conf", directory), *shipped = NULL,
                        *usr_dir = path_printf("%s/usr", directory),
                        *etc_dir = path_printf("%s/etc/selvol.conf.d", directory),
                        *first = path_printf("%s/10-roots.conf", etc_dir),
                        *second = path_printf("%s/20-test.conf", etc_dir),
                        *source = g_test_build_filename(G_TEST_DIST, "src", "selvol.conf", NULL);

        g_assert_cmpint(g_mkdir_with_parents(usr_dir, 0755), ==, 0);
        g_assert_cmpint(g_mkdir_with_parents(etc_dir, 0755), ==, 0);
        g_assert_true(g_file_get_contents(source, &shipped, NULL, NULL));
        g_assert_true(g_file_set_contents(usr, shipped, -1, NULL));
        g_assert_true(g_file_set_contents(first, roots, -1, NULL));
        if (dropin)
                g_assert_true(g_file_set_contents(second, dropin, -1, NULL));
}

static void wait_for_socket(const Worker *w) {
        for (unsigned i = 0; i < 1000; i++) {
                int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
                struct sockaddr_un address = { .sun_family = AF_UNIX };

                g_strlcpy(address.sun_path, w->socket, sizeof(address.sun_path));
                if (connect(fd, (struct sockaddr *) &address, sizeof(address)) >= 0) {
                        close(fd);
                        return;
                }
                close(fd);
                if (waitpid(w->pid, NULL, WNOHANG) == w->pid)
                        g_error("The worker ended at once.");
                g_usleep(10 * 1000);
        }
        g_error("The worker doesn't listen.");
}

Worker *worker_start(const char *dropin, const char *const *wrapper) {
        static unsigned counter;
        g_autofree char *directory = path_printf(TEST_DIR "/worker-%u", ++counter),
                        *usr = path_printf("%s/usr", directory), *etc = path_printf("%s/etc", directory);
        g_autofree char *program = g_test_build_filename(G_TEST_BUILT, "src", "selvol-worker", NULL);
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        Worker *w = g_new0(Worker, 1);

        w->socket = path_printf("%s/socket", directory);
        write_configuration(directory, dropin);

        for (; wrapper && *wrapper; wrapper++)
                g_ptr_array_add(argv, (char *) *wrapper);
        g_ptr_array_add(argv, program);
        g_ptr_array_add(argv, (char *) "--socket");
        g_ptr_array_add(argv, w->socket);
        g_ptr_array_add(argv, (char *) "--config-usr");
        g_ptr_array_add(argv, usr);
        g_ptr_array_add(argv, (char *) "--config-etc");
        g_ptr_array_add(argv, etc);
        g_ptr_array_add(argv, (char *) "--peer-uid");
        g_ptr_array_add(argv, (char *) "12345");
        g_ptr_array_add(argv, NULL);

        w->pid = fork();
        must(w->pid);
        if (w->pid == 0) {
                (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
                execvp(argv->pdata[0], (char **) argv->pdata);
                _exit(127);
        }
        wait_for_socket(w);
        return w;
}

void worker_stop(Worker *w) {
        int status;

        must(kill(w->pid, SIGTERM));
        must(waitpid(w->pid, &status, 0));
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                g_error("The worker ended with status %i.", status);
        g_free(w->socket);
        g_free(w);
}

bool stages_in_namespace(void) {
        return g_strcmp0(g_getenv("SELVOL_STAGE"), "namespace") == 0;
}

Worker *worker_start_traced(const char *injection) {
        return worker_start_traced_at(NULL, injection);
}

static Worker *start_under(const char *const *strace) {
        Worker *w;

        if (!has_program("strace")) {
                g_test_skip("strace");
                return NULL;
        }
        /* LeakSanitizer gives up under ptrace. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        w = worker_start(NULL, strace);
        g_unsetenv("ASAN_OPTIONS");
        return w;
}

Worker *worker_start_traced_at(const char *path, const char *injection) {
        const char *const wrapper[] = { "strace",           "-D", "-f", "-qqq", "-o", "/dev/null", "-e", injection,
                                        path ? "-P" : NULL, path, NULL };

        return start_under(wrapper);
}

Worker *worker_start_logged(const char *calls, const char *log) {
        const char *const wrapper[] = { "strace", "-D", "-f", "-qqq", "-y", "-o", log, "-e", calls, NULL };

        return start_under(wrapper);
}

/* The one that waits for a connection has a name of its own. */
static bool is_spare(const char *pid) {
        g_autofree char *path = path_printf("/proc/%s/comm", pid), *name = NULL;

        return g_file_get_contents(path, &name, NULL, NULL) && g_strcmp0(name, "selvol-spare\n") == 0;
}

/* Waits until there is exactly one child that is spare or not. */
static pid_t find_child(const Worker *w, bool spare) {
        g_autofree char *path = path_printf("/proc/%i/task/%i/children", (int) w->pid, (int) w->pid);

        for (;;) {
                g_autofree char *text = NULL;
                g_auto(GStrv) pids = NULL;
                const char *found = NULL;
                unsigned n = 0;

                g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
                pids = g_strsplit(g_strstrip(text), " ", -1);
                for (char **pid = pids; *pid; pid++)
                        if (is_spare(*pid) == spare) {
                                found = *pid;
                                n++;
                        }
                if (n == 1)
                        return (pid_t) g_ascii_strtoll(found, NULL, 10);
                g_usleep(1000);
        }
}

pid_t worker_find_child(const Worker *w) {
        return find_child(w, false);
}

pid_t worker_find_spare(const Worker *w) {
        return find_child(w, true);
}

sd_bus *worker_dial(const Worker *w) {
        sd_bus *bus;

        g_assert_cmpint(peer_connect(w->socket, NULL, &bus), >=, 0);
        return bus;
}

void wait_for_end(sd_bus *bus) {
        char buffer[4096];
        int fd = sd_bus_get_fd(bus);

        for (;;) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                ssize_t n;

                g_assert_cmpint(poll(&p, 1, 20 * 1000), ==, 1);
                n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
                if (n == 0 || (n < 0 && errno == ECONNRESET))
                        return;
                g_assert_cmpint(n, >, 0);
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "mount/image.h"
#include "mount/loop-device.h"
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "mount/target.h"
#include "wire/peer.h"
#include "support.h"
#include "support/service.h"

Worker *worker;

bool test_enter(void) {
        if (!namespace_enter())
                return false;
        must(g_mkdir_with_parents(TEST_TARGETS, 0755));
        must(g_mkdir_with_parents(TEST_IMAGES, 0755));
        return true;
}

static void skip_disk(gconstpointer fs_type) {
        g_test_skip(fs_type);
}

void add_disks(const char *prefix, GTestDataFunc function, ...) {
        va_list ap;

        va_start(ap, function);
        for (const char *fs_type; (fs_type = va_arg(ap, const char *));) {
                g_autofree char *mkfs = path_printf("mkfs.%s", fs_type);
                bool can = g_str_equal(fs_type, "tmpfs") || has_program(mkfs);

                add_words(prefix, can ? function : skip_disk, fs_type, NULL);
        }
        va_end(ap);
}

char *make_image(const char *name, const char *fs_type) {
        g_autofree char *path = path_printf(TEST_IMAGES "/%s", name);

        /* mkfs.xfs makes none that is smaller. */
        if (g_strcmp0(fs_type, "ext4-128") == 0 ? image_make(path, 320 * 1024 * 1024, "ext4", "-I", "128", NULL)
                                                : image_make(path, 320 * 1024 * 1024, fs_type, NULL))
                return g_steal_pointer(&path);
        g_test_skip(fs_type);
        return NULL;
}

char *make_target(const char *name) {
        char *path = path_printf(TEST_TARGETS "/%s", name);

        g_assert_cmpint(g_mkdir_with_parents(path, 0755), ==, 0);
        return path;
}

int open_path(const char *path, int flags) {
        int fd = open(path, flags | O_CLOEXEC);

        must(fd);
        return fd;
}

int open_directory(const char *path) {
        return open_path(path, O_RDONLY | O_DIRECTORY);
}

char *attach_loop(const char *image, int *ret_fd) {
        _cleanup_close_ int fd = open_path(image, O_RDWR);
        char *path;

        g_assert_cmpint(loop_attach(fd, image, false, ret_fd, &path), ==, 0);
        return path;
}

char *make_link(const char *name, const char *leads_to) {
        char *path = path_printf("/dev/selvol-test-%i-%s", (int) getpid(), name);

        must(symlink(leads_to, path));
        return path;
}

uint64_t mount_id_of(const char *path) {
        _cleanup_close_ int fd = open_path(path, O_PATH);
        uint64_t id;

        g_assert_cmpint(mount_identify(fd, &id, NULL), ==, 0);
        return id;
}

MountFact mount_fact_of(const char *path) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_close_ int fd = open_path(path, O_PATH);
        MountFact fact;

        g_assert_cmpint(mount_table_read_own(fd, true, &table), ==, 0);
        g_assert_cmpint(mount_table_find_id(table, mount_id_of(path), &fact), ==, 0);
        return fact;
}

void note_mount_as(const char *target, const char *volume) {
        g_auto(MountFact) fact = mount_fact_of(target);
        MountNote note = { .device = fact.device, .volume = (char *) volume, .target = (char *) target };
        _cleanup_close_ int fd = open_path(target, O_PATH);

        g_assert_cmpint(g_mkdir_with_parents(MOUNT_NOTES, 0700), ==, 0);
        g_assert_cmpint(mount_note_write(fd, &note), ==, 0);
}

void note_mount(const char *target) {
        note_mount_as(target, "volume");
}

/* CONSISTENT removes the end of a longer script that was there before. */
void add_mount_helper(const char *type, const char *script) {
        g_autofree char *path = path_printf("/sbin/mount.%s", type);

        if (access(TEST_DIR "/upper", F_OK) < 0) {
                must(mkdir(TEST_DIR "/upper", 0755));
                must(mkdir(TEST_DIR "/work", 0755));
                must(mount("overlay", "/sbin", "overlay", 0,
                           "lowerdir=/sbin,upperdir=" TEST_DIR "/upper,workdir=" TEST_DIR "/work"));
        }
        g_assert_true(g_file_set_contents_full(path, script, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0755, NULL));
}

bool is_mounted(const char *path) {
        _cleanup_close_ int fd = open_path(path, O_PATH);
        bool is_mount;
        uint64_t id;

        g_assert_cmpint(mount_identify(fd, &id, &is_mount), ==, 0);
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
        g_assert_cmpint(loop_find(st.st_dev, st.st_ino, image, &devices, &n), ==, 0);
        free(devices);
        return n;
}

void assert_no_loop(const char *image) {
        WAIT_FOR(count_loops(image) == 0);
}

Worker *worker_launch(const char *dropin, const Launch *how) {
        static const char roots[] = "[Worker]\nTargetRoots=\nTargetRoots=" TEST_TARGETS
                                    "\nSourceRoots=\nSourceRoots=/dev " TEST_IMAGES "\n";
        static unsigned counter;
        g_autofree char *directory = path_printf(TEST_DIR "/worker-%u", ++counter),
                        *etc = path_printf("%s/etc", directory),
                        *first = path_printf("%s/selvol.conf.d/10-roots.conf", etc),
                        *second = path_printf("%s/selvol.conf.d/20-test.conf", etc);
        Worker *w = g_new0(Worker, 1);

        file_write(first, roots);
        file_write(second, dropin ? dropin : "");
        w->socket = path_printf("%s/socket", directory);
        w->pid = selvol_worker_start(how, &(Service){ .socket = w->socket, .etc = etc, .trusted = 12345 });
        return w;
}

Worker *worker_start(const char *dropin, const char *const *wrapper) {
        return worker_launch(dropin, &(Launch){ .wrapper = wrapper });
}

void worker_stop(Worker *w) {
        int status = program_end(w->pid, SIGTERM);

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
        /* LeakSanitizer gives up under ptrace. */
        static const char *const no_leaks[] = { "ASAN_OPTIONS=detect_leaks=0", NULL };

        if (has_program("strace"))
                return worker_launch(NULL, &(Launch){ .wrapper = strace, .environment = no_leaks });
        g_test_skip("strace");
        return NULL;
}

Worker *worker_start_traced_at(const char *path, const char *injection) {
        const char *const wrapper[] = { "strace", "-D",      "-f",
                                        "-qqq",   "-o",      path ? WORKER_TRACE : "/dev/null",
                                        "-e",     injection, path ? "-P" : NULL,
                                        path,     NULL };

        return start_under(wrapper);
}

Worker *worker_start_logged(const char *calls, const char *log) {
        const char *const wrapper[] = { "strace", "-D", "-f", "-qqq", "-y", "-o", log, "-e", calls, NULL };

        return start_under(wrapper);
}

pid_t worker_find_child(const Worker *w) {
        return wait_for_child(w->pid, CHILDREN_SERVING);
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

                g_assert_cmpint(poll(&p, 1, WAIT_SEC * 1000), ==, 1);
                n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
                if (n == 0 || (n < 0 && errno == ECONNRESET))
                        return;
                g_assert_cmpint(n, >, 0);
        }
}

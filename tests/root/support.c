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

#include "wire/protocol.h"
#include "daemon/worker-client.h"
#include "mount/loop.h"
#include "mount/mount-table.h"
#include "mount/target.h"
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

uint64_t mount_id_of(const char *path) {
        uint64_t id;
        int fd;

        fd = open(path, O_PATH | O_CLOEXEC);
        g_assert_cmpint(fd, >=, 0);
        g_assert_cmpint(mount_identify(fd, &id, NULL), ==, 0);
        close(fd);
        return id;
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
        g_assert_cmpint(mount_table_find_beneath(table, roots, &facts, &n), ==, 0);
        mount_facts_free(facts, n);
        mount_table_free(table);
        return n;
}

size_t count_loops(const char *image) {
        struct stat st;
        dev_t *devices;
        size_t n;

        must(stat(image, &st));
        g_assert_cmpint(loop_find(st.st_dev, st.st_ino, &devices, NULL, &n), ==, 0);
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

sd_bus *worker_dial(const Worker *w) {
        sd_bus *bus;

        g_assert_cmpint(worker_connect(w->socket, NULL, &bus), >=, 0);
        return bus;
}

void answer_done(Answer *a) {
        g_free(a->message);
        free(a->record);
        free(a->text);
        walk_result_done(&a->walk);
        node_done(&a->node);
        observed_done(&a->observed);
        mount_outcome_done(&a->outcome);
}

static sd_bus_message *new_call(sd_bus *bus, const char *member) {
        sd_bus_message *m;

        g_assert_cmpint(sd_bus_message_new_method_call(bus, &m, NULL, WORKER_PATH, WORKER_INTERFACE, member), >=, 0);
        return m;
}

/* Sends the call, takes it over, and fills the answer's kind. NULL if it failed. */
static sd_bus_message *get_reply(sd_bus *bus, sd_bus_message *call, Answer *a) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        sd_bus_message *reply = NULL;

        if (sd_bus_call(bus, call, 0, &error, &reply) < 0) {
                const char *kind =
                        g_str_has_prefix(error.name, ERROR_PREFIX) ? error.name + strlen(ERROR_PREFIX) : error.name;

                a->kind = g_intern_string(kind);
                a->message = g_strdup(error.message);
        } else
                a->kind = "ok";
        sd_bus_message_unref(call);
        return reply;
}

Answer call_observe(sd_bus *bus, const char *source, const char *fs_type, const char *target) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus_message *call = new_call(bus, WORKER_OBSERVE);
        Answer a = { 0 };

        g_assert_cmpint(sd_bus_message_append(call, WORKER_OBSERVE_IN, source, fs_type, target), >=, 0);
        reply = get_reply(bus, call, &a);
        if (reply)
                g_assert_cmpint(worker_read_observed(reply, &a.node, &a.observed), >=, 0);
        return a;
}

static void append_mount(sd_bus_message *call, const MountArguments *m) {
        g_auto(GStrv) options = g_strsplit(m->options ? m->options : "", ",", -1);

        g_assert_cmpint(sd_bus_message_append(call, "sss", m->source, m->fs_type, m->target), >=, 0);
        g_assert_cmpint(sd_bus_message_append_strv(call, options), >=, 0);
        g_assert_cmpint(sd_bus_message_append(call, "sbst", m->context ? m->context : "", m->read_only,
                                              m->share ? m->share : "", m->share_id),
                        >=, 0);
}

/* Sends the call, takes it over, and reads an outcome and a record. */
static Answer get_mounted(sd_bus *bus, sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Answer a = { 0 };

        reply = get_reply(bus, call, &a);
        if (reply) {
                g_assert_cmpint(worker_read_outcome(reply, &a.outcome), >=, 0);
                g_assert_cmpint(worker_read_volume_record(reply, &a.found, &a.record), >=, 0);
        }
        return a;
}

static sd_bus_message *new_mount(sd_bus *bus, const MountArguments *m) {
        sd_bus_message *call = new_call(bus, WORKER_MOUNT);

        append_mount(call, m);
        g_assert_cmpint(sd_bus_message_append(call, "s", m->effect ? m->effect : "keep"), >=, 0);
        return call;
}

Answer call_mount(sd_bus *bus, const MountArguments *m) {
        return get_mounted(bus, new_mount(bus, m));
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        sd_bus_message **reply = userdata;

        if (reply)
                *reply = sd_bus_message_ref(m);
        return 0;
}

void send_call(sd_bus *bus, sd_bus_message *call, sd_bus_message **ret) {
        g_assert_cmpint(sd_bus_call_async(bus, NULL, call, on_reply, ret, UINT64_MAX), >=, 0);
        sd_bus_message_unref(call);
        g_assert_cmpint(sd_bus_flush(bus), >=, 0);
}

void send_mount(sd_bus *bus, const MountArguments *a, sd_bus_message **ret) {
        send_call(bus, new_mount(bus, a), ret);
}

Answer call_stage(sd_bus *bus, const MountArguments *m) {
        sd_bus_message *call = new_call(bus, WORKER_STAGE);

        append_mount(call, m);
        return get_mounted(bus, call);
}

Answer call_publish(sd_bus *bus, const char *effect) {
        sd_bus_message *call = new_call(bus, WORKER_PUBLISH);

        g_assert_cmpint(sd_bus_message_append(call, WORKER_PUBLISH_IN, effect), >=, 0);
        return get_mounted(bus, call);
}

Answer call_mark(sd_bus *bus, const char *target, uint64_t mount_id, const char *effect) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus_message *call = new_call(bus, WORKER_MARK);
        Answer a = { 0 };

        g_assert_cmpint(sd_bus_message_append(call, WORKER_MARK_IN, target, mount_id, effect), >=, 0);
        reply = get_reply(bus, call, &a);
        if (reply)
                g_assert_cmpint(worker_read_volume_record(reply, &a.found, &a.record), >=, 0);
        return a;
}

static sd_bus_message *new_change(sd_bus *bus, const ChangeArguments *a) {
        sd_bus_message *call = new_call(bus, WORKER_CHANGE);
        gid_t gid = a->owned ? a->gid : GID_NONE, disk_gid = a->disk_gid ? a->disk_gid : gid;

        g_assert_cmpint(sd_bus_message_append(call, WORKER_CHANGE_IN, a->target ? a->target : "", a->mount_id,
                                              a->context ? a->context : "", gid, disk_gid, a->read_only, a->blind,
                                              a->generation, a->entries_per_sec, a->effect ? a->effect : "keep"),
                        >=, 0);
        return call;
}

Answer call_change(sd_bus *bus, const ChangeArguments *arguments) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Answer a = { 0 };

        reply = get_reply(bus, new_change(bus, arguments), &a);
        if (reply)
                g_assert_cmpint(worker_read_changed(reply, &a.walk, &a.found, &a.record), >=, 0);
        return a;
}

void send_change(sd_bus *bus, const ChangeArguments *a, sd_bus_message **ret) {
        send_call(bus, new_change(bus, a), ret);
}

Answer call_inspect(sd_bus *bus, const char *target) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus_message *call = new_call(bus, WORKER_INSPECT);
        Answer a = { 0 };

        g_assert_cmpint(sd_bus_message_append(call, WORKER_INSPECT_IN, target), >=, 0);
        reply = get_reply(bus, call, &a);
        if (reply) {
                g_assert_cmpint(worker_read_node(reply, &a.node), >=, 0);
                g_assert_cmpint(worker_read_outcome(reply, &a.outcome), >=, 0);
                g_assert_cmpint(worker_read_volume_record(reply, &a.found, &a.record), >=, 0);
        }
        return a;
}

Answer call_verify_group(sd_bus *bus, const char *path, const char *context, const char *depth, gid_t gid) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus_message *call = new_call(bus, WORKER_VERIFY);
        Answer a = { 0 };

        g_assert_cmpint(sd_bus_message_append(call, WORKER_VERIFY_IN, path, context, depth, UINT64_C(0), gid), >=, 0);
        reply = get_reply(bus, call, &a);
        if (reply)
                g_assert_cmpint(worker_read_verified(reply, &a.walk), >=, 0);
        return a;
}

Answer call_verify_depth(sd_bus *bus, const char *path, const char *context, const char *depth) {
        return call_verify_group(bus, path, context, depth, GID_NONE);
}

static Answer do_map(sd_bus *bus, gid_t from, gid_t to, bool any_mode) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus_message *call = new_call(bus, WORKER_MAP);
        Answer a = { 0 };

        g_assert_cmpint(sd_bus_message_append(call, WORKER_MAP_IN, from, to, any_mode), >=, 0);
        reply = get_reply(bus, call, &a);
        if (reply)
                g_assert_cmpint(worker_read_mapped(reply, &a.mapped, &a.text), >=, 0);
        return a;
}

Answer call_map(sd_bus *bus, gid_t from, gid_t to) {
        return do_map(bus, from, to, false);
}

Answer call_map_any_mode(sd_bus *bus, gid_t from, gid_t to) {
        return do_map(bus, from, to, true);
}

Answer call_verify(sd_bus *bus, const char *path, const char *context) {
        return call_verify_depth(bus, path, context, "root");
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

Answer call_unmount(sd_bus *bus, const char *target, uint64_t id) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        sd_bus_message *call = new_call(bus, WORKER_UNMOUNT);
        Answer a = { 0 };
        int unmounted;

        g_assert_cmpint(sd_bus_message_append(call, WORKER_UNMOUNT_IN, target, id), >=, 0);
        reply = get_reply(bus, call, &a);
        if (reply) {
                g_assert_cmpint(sd_bus_message_read(reply, WORKER_UNMOUNT_OUT, &unmounted), >=, 0);
                a.flag = unmounted;
        }
        return a;
}

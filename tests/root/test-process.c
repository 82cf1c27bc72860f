/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "model/limits.h"
#include "wire/names.h"
#include "wire/protocol.h"
#include "operation.h"

/* The worker and its children are killed and stopped, and other users try to connect. */

static bool device_is_free(const char *device) {
        _cleanup_close_ int fd = open(device, O_RDONLY | O_EXCL | O_CLOEXEC);

        return fd >= 0;
}

static void test_killed(gconstpointer data) {
        g_autofree char *injection = path_printf("inject=%s", (const char *) data);
        g_autoptr(Worker) w = worker_start_traced(injection);
        g_autofree char *image = make_image("killed", "ext4"), *target = make_target("killed"), *device = NULL;
        int loop;

        if (!w)
                return;
        device = attach_loop(image, &loop);
        const char *const sources[] = { device, image };
        for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
                assert_fails(mount_with(w, sources[i], "ext4", target), "gone");
                g_assert_false(is_mounted(target));
                g_assert_cmpint(count_mounts(), ==, 0);
                if (loop >= 0)
                        g_assert_true(device_is_free(device));
                close(loop);
                loop = -1;
        }
        assert_no_loop(image);
}

/* The mount helper of this file system never ends, like mount.nfs with a dead server. */
static void add_hanging_helper(bool stubborn) {
        static const char script[] = "#!/bin/sh\n"
                                     "%s\n"
                                     "exec 9>" TEST_DIR "/helper.lock && flock 9\n"
                                     "mount -t tmpfs selvol-test-hang \"$2\"\n"
                                     "touch " TEST_DIR "/hanging\n"
                                     "while :; do sleep 1 9>&-; done\n";
        g_autofree char *text = g_strdup_printf(script, stubborn ? "trap '' TERM" : "");

        add_mount_helper("selvolhang", text);
}

/* Looks for the lock of the helper, because another test may have a helper of the same name. */
static bool helper_is_left(void) {
        _cleanup_close_ int fd = open_path(TEST_DIR "/helper.lock", O_RDONLY);
        int r = flock(fd, LOCK_EX | LOCK_NB);

        g_assert_true(r == 0 || errno == EWOULDBLOCK);
        return r < 0;
}

static Operation *start_hanging(const Worker *w, const char *target) {
        Operation *o;

        (void) unlink(TEST_DIR "/hanging");
        o = operation_start(w, WORKER_MOUNT, &volume_at("none", "selvolhang", target));
        operation_wait(o, o->heard.n_plans > 0);
        WAIT_FOR(access(TEST_DIR "/hanging", F_OK) >= 0);
        return o;
}

TEST_WORDS(test_hang_up, "/hang-up", word, "helper", "stubborn-helper") {
        bool stubborn = g_str_equal(word, "stubborn-helper");
        g_autofree char *target = make_target("hang");
        g_autoptr(Worker) w = worker_start("[FileSystem selvolhang]\nSource=none\n", NULL);
        Operation *o;

        add_hanging_helper(stubborn);
        o = start_hanging(w, target);
        g_assert_true(helper_is_left());

        /* Another call does not wait for the helper. */
        assert_ok(call_observe(w, "tmpfs", "tmpfs", target));

        assert_fails(operation_hang_up(o), "gone");
        g_assert_false(is_mounted(target));
        g_assert_false(helper_is_left());
}

/* Another process replaces the target while the worker stages the volume, so it publishes no mount. */
TEST_WORDS(test_target_replaced, "/target-replaced", how, "mounted", "symlink", "directory", "absent") {
        static const char script[] = "#!/bin/sh\n"
                                     "mount -t tmpfs staged \"$2\"\n"
                                     "touch " TEST_DIR "/hanging\n"
                                     "while [ -e " TEST_DIR "/hanging ]; do sleep 0.01; done\n";
        g_autofree char *target = make_target("race"), *moved = path_printf(TEST_TARGETS "/race-moved");
        g_autoptr(Worker) w = worker_start("[FileSystem selvolhang]\nSource=none\n", NULL);
        size_t before = count_mounts();
        Operation *o;

        add_hanging_helper(false);
        add_mount_helper("selvolhang", script);
        o = start_hanging(w, target);

        if (g_str_equal(how, "mounted"))
                must(mount("behind-the-back", target, "tmpfs", 0, NULL));
        else {
                must(rename(target, moved));
                if (g_str_equal(how, "symlink"))
                        must(symlink("/etc", target));
                else if (g_str_equal(how, "directory"))
                        must(mkdir(target, 0755));
        }
        must(unlink(TEST_DIR "/hanging"));

        assert_fails(operation_finish(o), "InvalidTarget", "in the meantime");

        if (g_str_equal(how, "mounted")) {
                g_assert_cmpint(count_mounts(), ==, before + 1);
                must(umount2(target, 0));
        } else {
                g_assert_cmpint(count_mounts(), ==, before);
                (void) remove(target);
                must(rmdir(moved));
        }
}

/* A child connects as the user, and begins to authenticate. Tells whether the worker answers. */
static bool can_connect(const Worker *w, uid_t uid) {
        int status;
        pid_t pid;

        g_assert_cmpint(chmod(w->socket, 0666), ==, 0);
        pid = fork();
        if (pid == 0) {
                int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
                struct sockaddr_un address = { .sun_family = AF_UNIX };
                static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
                char buffer[16];

                g_strlcpy(address.sun_path, w->socket, sizeof(address.sun_path));
                if (setresuid(uid, uid, uid) < 0 || connect(fd, (struct sockaddr *) &address, sizeof(address)) < 0)
                        _exit(2);
                if (send(fd, hello, sizeof(hello) - 1, MSG_NOSIGNAL) < 0)
                        _exit(1);
                _exit(recv(fd, buffer, sizeof(buffer), 0) > 0 ? 0 : 1);
        }
        g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
        return WEXITSTATUS(status) == 0;
}

TEST(test_peers, "/peers") {
        g_autoptr(Worker) w = worker_start(NULL, NULL);

        g_assert_true(can_connect(w, 0));
        g_assert_true(can_connect(w, 12345)); /* selvold's user */
        g_assert_false(can_connect(w, 12346));
        g_assert_false(can_connect(w, 65534));
}

static void assert_is_served(sd_bus *bus) {
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;

        g_assert_cmpint(call_verify_on(bus, TEST_TARGETS "/missing", &error), <, 0);
        g_assert_cmpstr(error.name, ==, ERROR_PREFIX "InvalidTarget");
}

/* The worker serves more connections than it may have children, one after the other. The journal says once
 * that there is no place, and once that there are places again. */
TEST(test_limit, "/limit") {
        static const char log[] = TEST_DIR "/limit-log";
        g_autoptr(Worker) w = worker_launch(NULL, &(Launch){ .log = log });
        enum { MANY = 160 };
        sd_bus *bus[MANY];

        for (size_t i = 0; i < MANY; i++)
                bus[i] = worker_dial(w);
        WAIT_FOR(count_children(w->pid, CHILDREN_SERVING) == SERVER_CONNECTIONS_MAX);
        for (size_t i = 0; i < MANY; i++) {
                assert_is_served(bus[i]);
                sd_bus_close_unref(bus[i]);
        }
        WAIT_FOR(file_count_lines(log, "*takes all calls again*") == 1);
        g_assert_cmpuint(file_count_lines(log, "*takes no more connections: it has 128 processes*"), ==, 1);
}

static const struct {
        const char *name, *method, *target;
        bool only_plan;
} reserved_rows[] = {
        { "mounts", WORKER_MOUNT, TEST_TARGETS "/reserved", false },
        { "plans", WORKER_MOUNT, TEST_TARGETS "/reserved", true },
        { "changes", WORKER_CHANGE, TEST_TARGETS "/reserved-mounted", false },
        { "adopts", WORKER_ADOPT, TEST_TARGETS "/reserved-mounted", false },
};

/* Children of these calls take all places but those for other calls. */
TEST_ROWS(test_reserved, "/reserved", reserved_rows, row) {
        enum { MANY = SERVER_CONNECTIONS_MAX - SERVER_RESERVED, REFUSED = 3 };
        static const char log[] = TEST_DIR "/reserved-log";
        g_autofree char *free_target = make_target("reserved"), *mounted = make_target("reserved-mounted"),
                        *last = make_target("reserved-last");
        const Arguments a = volume_at("tmpfs", "tmpfs", row->target, .only_plan = row->only_plan, .hold_plan = true);
        g_autoptr(sd_bus) bus = NULL, watching = NULL;
        g_autoptr(Worker) w = NULL;
        Operation *o[MANY];

        (void) unlink(log);
        w = worker_launch(NULL, &(Launch){ .log = log });
        g_auto(Answer) one = expect_ok(mount_with(w, "tmpfs", "tmpfs", mounted)),
                       other = expect_ok(mount_with(w, "tmpfs", "tmpfs", last));
        for (size_t i = 0; i < MANY; i++)
                o[i] = operation_start_held(w, row->method, &a);
        for (size_t i = 0; i < REFUSED; i++)
                assert_fails(operation_finish(operation_start(w, row->method, &a)), "Busy",
                             "has 96 processes that mount or change volumes", "volumes can be unmounted");

        bus = worker_dial(w);
        assert_is_served(bus);
        watching = worker_dial(w);
        must(sd_bus_call_method(watching, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_WATCH, NULL, NULL, "t",
                                UINT64_C(0)));
        assert_says(call_unmount(w, last, other.outcome.fact.mount_id), unmounted, ==, true);
        WAIT_FOR(file_count_lines(log, "*takes no more mounts and changes of volumes*") == 1);
        g_assert_cmpuint(file_count_lines(log, "*takes all calls again*"), ==, 0);

        for (size_t i = 0; i < MANY; i++)
                assert_fails(operation_hang_up(o[i]), "gone");
        assert_ok(mount_with(w, "tmpfs", "tmpfs", last));
        if (row == reserved_rows) /* the worker waits for some seconds */
                WAIT_FOR(file_count_lines(log, "*takes all calls again*") == 1);
        g_assert_cmpuint(file_count_lines(log, "*takes no more*"), ==, 1);
        must(umount2(last, 0));
        must(umount2(mounted, 0));
}

/* Many children mount an image at the same time. The image gets one loop device, and so one superblock. A
 * child that has seen no other mount of the image must not share its superblock, which a file system context
 * can tell. */
TEST(test_same_image, "/same-image") {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *image = make_image("same", "ext4");
        enum { MANY = 16 };
        Operation *o[MANY];
        char *targets[MANY];
        size_t n = 0;

        for (size_t i = 0; i < MANY; i++) {
                g_autofree char *name = g_strdup_printf("same-%zu", i);

                targets[i] = make_target(name);
                o[i] = operation_start(w, WORKER_MOUNT, &volume_at(image, "ext4", targets[i]));
        }
        for (size_t i = 0; i < MANY; i++) {
                g_auto(Answer) mounted = operation_finish(o[i]);
                assert_answer(mounted, is_mounted(targets[i]) ? "ok" : "Busy");
                n += is_mounted(targets[i]);
                g_assert_cmpint(count_loops(image), ==, 1);
        }
        g_assert_cmpuint(n, >, 0);
        for (size_t i = 0; i < MANY; i++) {
                if (is_mounted(targets[i]))
                        must(umount2(targets[i], 0));
                g_free(targets[i]);
        }
        assert_no_loop(image);
}

/* The state of a stopped process is 'T', and that of a zombie 'Z'. */
static bool has_state(pid_t pid, char state) {
        g_autofree char *path = path_printf("/proc/%i/stat", (int) pid), *text = file_read(path);
        const char *name_end = strrchr(text, ')');

        return name_end && name_end[2] == state;
}

/* The worker serves a connection also when the child that waits for one is dead, whether or not the worker
 * has seen its end. */
TEST_WORDS(test_spare_killed, "/spare-killed", word, "known", "unknown") {
        const bool knows = g_str_equal(word, "known");
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        pid_t spare = wait_for_child(w->pid, CHILDREN_SPARE);
        g_autoptr(sd_bus) bus = NULL;

        if (!knows) {
                must(kill(w->pid, SIGSTOP));
                WAIT_FOR(has_state(w->pid, 'T'));
        }
        must(kill(spare, SIGKILL));
        if (knows)
                WAIT_FOR(kill(spare, 0) < 0);
        else
                WAIT_FOR(has_state(spare, 'Z'));
        bus = worker_dial(w);
        must(kill(w->pid, SIGCONT));
        assert_is_served(bus);
}

/* Makes a call, and ends it in that way. Returns the child that served it. */
static pid_t end_call(const Worker *w, const char *target, const char *way) {
        Operation *o = operation_start_held(w, WORKER_MOUNT, &volume_at("tmpfs", "tmpfs", target, .hold_plan = true));
        pid_t child = worker_find_child(w);

        if (g_str_equal(way, "reload")) {
                pid_t former = wait_for_child(w->pid, CHILDREN_SPARE), spare;

                must(kill(w->pid, SIGHUP));
                WAIT_FOR((spare = find_child(w->pid, CHILDREN_SPARE)) > 0 && spare != former);
        }
        if (g_str_equal(way, "hang-up")) {
                assert_fails(operation_hang_up(o), "gone");
                return child;
        }
        operation_answer(o);
        g_auto(Answer) answer = expect(operation_finish(o), "ok");
        must(umount2(target, 0));
        return child;
}

/* A child serves a further call after one that has succeeded, unless the worker has read its configuration
 * again. */
TEST_WORDS(test_further_call, "/further-call", way, "success", "hang-up", "reload") {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("further-call");
        const bool stays = g_str_equal(way, "success");
        pid_t child = end_call(w, target, way);

        if (!stays)
                WAIT_FOR(kill(child, 0) < 0);
        g_assert_cmpint(end_call(w, target, "success") == child, ==, stays);
}

/* A child that waits for an answer ends with the worker, too. */
TEST(test_stop_with_children, "/stop-with-children") {
        Worker *w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("stop");
        g_autoptr(sd_bus) idle = worker_dial(w);
        Operation *o = operation_start_held(w, WORKER_MOUNT, &volume_at("tmpfs", "tmpfs", target, .hold_plan = true));

        worker_stop(w);
        assert_fails(operation_finish(o), "gone");
        g_assert_false(is_mounted(target));
        wait_for_end(idle);
}

static bool takes_ramfs(const Worker *w, const char *target) {
        g_auto(Answer) answer = call_observe(w, "ramfs", "ramfs", target);

        return g_str_equal(answer.kind, "ok");
}

static void reload(const Worker *w, const char *dropin) {
        g_autofree char *directory = g_path_get_dirname(w->socket),
                        *path = path_printf("%s/etc/selvol.conf.d/30-later.conf", directory);

        file_write(path, dropin);
        must(kill(w->pid, SIGHUP));
}

TEST(test_reload, "/reload") {
        static const char log[] = TEST_DIR "/reload-log";
        g_autoptr(Worker) w = worker_launch(NULL, &(Launch){ .log = log });
        g_autofree char *target = make_target("reload");

        assert_fails(call_observe(w, "ramfs", "ramfs", target), "TypeNotAllowed");

        /* The worker keeps its configuration if the new one has a mistake. */
        reload(w, "[FileSystem ramfs]\nSource=none\nNonsense=1\n");
        WAIT_FOR(file_count_lines(log, "*Nonsense*") > 0);
        assert_fails(call_observe(w, "ramfs", "ramfs", target), "TypeNotAllowed");

        reload(w, "[FileSystem ramfs]\nSource=none\n");
        WAIT_FOR(takes_ramfs(w, target));
}

/* The worker itself logs what it has done and refused, so that the log does not depend on selvold. */
TEST(test_log, "/log") {
        static const char log[] = TEST_DIR "/log";
        g_autoptr(Worker) w = worker_launch(NULL, &(Launch){ .log = log });
        g_autofree char *target = make_target("log");

        g_auto(Answer) mounted = expect_ok(mount_with(w, "tmpfs", "tmpfs", target));
        g_assert_cmpuint(file_count_lines(log, "Mounted tmpfs on " TEST_TARGETS "/log."), ==, 1);
        assert_ok(call_unmount(w, target, mounted.outcome.fact.mount_id));
        g_assert_cmpuint(file_count_lines(log, "Unmounted " TEST_TARGETS "/log."), ==, 1);

        assert_fails(call_observe(w, "ramfs", "ramfs", target), "TypeNotAllowed");
        g_assert_cmpuint(file_count_lines(log, "Mount of " TEST_TARGETS "/log failed: *ramfs*"), ==, 1);
        assert_fails(call_observe(w, "tmpfs", "tmpfs", "/etc"), "PathNotAllowed");
        g_assert_cmpuint(file_count_lines(log, "Mount of /etc failed: *"), ==, 1);

        /* selvold logs this failure, so the worker does not. */
        assert_fails(call_observe(w, "tmpfs", "tmpfs", TEST_TARGETS "/none"), "InvalidTarget");
        g_assert_cmpuint(file_count_lines(log, "Mount of " TEST_TARGETS "/none failed: *"), ==, 0);
}

/* The worker refuses the options for tests together with a socket from systemd. */
TEST(test_command_line, "/command-line") {
        g_autofree char *program = g_test_build_filename(G_TEST_BUILT, "src", "selvol-worker", NULL);

        g_assert_true(run(program, "--version", NULL));
        g_assert_true(run(program, "--help", NULL));
        g_assert_false(run(program, NULL));
        g_assert_false(run(program, "argument", NULL));
        g_assert_false(run(program, "--nonsense", NULL));
        g_assert_false(run(program, "--socket", TEST_DIR "/s", "--peer-uid", "-1", NULL));
        g_assert_false(
                run("sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" --peer-uid 5 3</dev/null", program, NULL));
        g_assert_false(run("sh", "-c", "LISTEN_PID=$$ LISTEN_FDS=1 exec \"$0\" 3</dev/null", program, NULL));
}

/* systemd does not restart the worker after exit status 78. */
TEST(test_wrong_configuration, "/wrong-configuration") {
        g_autofree char *program = g_test_build_filename(G_TEST_BUILT, "src", "selvol-worker", NULL);
        const char *etc = TEST_DIR "/wrong", *file = TEST_DIR "/wrong/selvol.conf";

        g_assert_cmpint(g_mkdir_with_parents(etc, 0755), ==, 0);
        g_assert_true(g_file_set_contents(file, "[Worker]\nTargetRoots=/\n", -1, NULL));
        g_assert_true(run("sh", "-c", "\"$0\" --socket \"$1/s\" --config-etc \"$1\" --peer-uid 5; [ $? -eq 78 ]",
                          program, etc, NULL));
}

void add_tests(void) {
        if (stages_in_namespace())
                add_words("/killed", test_killed, "unshare:signal=KILL:when=1", "mount:signal=KILL:when=1",
                          "mount:signal=KILL:when=2", "open_tree:signal=KILL:when=1", "setns:signal=KILL:when=1",
                          NULL);
        else
                /* The worker itself makes the first call of fsconfig(2), at its start. */
                add_words("/killed", test_killed, "fsconfig:signal=KILL:when=2", NULL);
        add_words("/killed", test_killed, "mount_setattr:signal=KILL:when=1", "fgetxattr:signal=KILL:when=1",
                  "move_mount:signal=KILL:when=1", NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <sys/socket.h>

#include "volumes.h"
#include "wire/protocol.h"

/* Nobody sees a mount while a question of the child has no answer. Nothing is left when the child ends. */

static void assert_gone(pid_t child) {
        g_assert_cmpint(kill(child, 0), <, 0);
        g_assert_cmpint(errno, ==, ESRCH);
}

static bool is_spare(pid_t child) {
        g_auto(GStrv) spares = list_children(worker->pid, CHILDREN_SPARE);
        g_autofree char *pid = g_strdup_printf("%i", (int) child);

        return g_strv_contains((const char *const *) spares, pid);
}

/* Ends a held operation with an answer, by hanging up, or by a kill of the child. Nobody sees the mount
 * before an answer. */
static Answer end_held(Operation *o, const char *end, const char *target) {
        bool answered = g_str_equal(end, "answer");
        pid_t child = worker_find_child(worker);
        Answer answer;

        g_usleep(g_test_slow() ? 2 * G_USEC_PER_SEC : 300 * 1000);
        g_assert_false(is_mounted(target));
        g_assert_cmpint(sd_bus_process(o->bus, NULL), ==, 0);

        if (answered)
                operation_answer(o);
        else if (g_str_equal(end, "kill"))
                must(kill(child, SIGKILL));
        answer = g_str_equal(end, "hang-up") ? operation_hang_up(o) : operation_finish(o);
        if (answered)
                WAIT_FOR(is_spare(child) || kill(child, 0) < 0);
        else
                assert_gone(child);
        assert_answer(answer, answered ? "ok" : "gone");
        g_assert_cmpint(is_mounted(target), ==, answered);
        return answer;
}

TEST_WORDS(test_held, "/dialog/plan/held", word, "answer", "hang-up", "kill") {
        g_autofree char *image = make_image("held", "ext4"), *target = make_target("held");
        const Arguments a = volume_at(image, "ext4", target, .change = MARK_TAINT, .hold_plan = true);
        Operation *o = operation_start_held(worker, WORKER_MOUNT, &a);

        g_assert_cmpuint(o->heard.n_plans, ==, 1);
        g_assert_cmpuint(o->heard.n_walks + o->heard.n_ready, ==, 0);

        answer_drop(end_held(o, word, target));
        if (is_mounted(target))
                must(umount2(target, 0));
        assert_no_loop(image);
}

/* Something beside the answer to a question. */
typedef enum Talk {
        TALK_SIGNAL,
        TALK_LARGE_SIGNAL,
        TALK_PING,
        TALK_CALL,  /* a second operation */
        TALK_AGAIN, /* a second answer, which the child reads instead of that to its next question */
        TALK_GIANT, /* the beginning of a message that is larger than any answer may be */
} Talk;

static const struct {
        const char *name;
        Talk talk;
        const char *method; /* of the worker */
        bool ready;         /* beside the answer to Ready, and not to Plan */
        const char *text;
} talk_rows[] = {
        { "mount-signal", TALK_SIGNAL, WORKER_MOUNT, false, "something else than the answer to the question Plan" },
        { "mount-large-signal", TALK_LARGE_SIGNAL, WORKER_MOUNT, false, "something else" },
        { "mount-ping", TALK_PING, WORKER_MOUNT, false, "something else" },
        { "mount-call", TALK_CALL, WORKER_MOUNT, false, "something else" },
        { "mount-again", TALK_AGAIN, WORKER_MOUNT, false, "something else than the answer to the question Ready" },
        { "mount-giant", TALK_GIANT, WORKER_MOUNT, false, "more than an answer to the question Plan may have" },
        { "ready-signal", TALK_SIGNAL, WORKER_MOUNT, true, "something else than the answer to the question Ready" },
        { "ready-call", TALK_CALL, WORKER_MOUNT, true, "something else" },
        { "ready-giant", TALK_GIANT, WORKER_MOUNT, true, "more than an answer to the question Ready may have" },
        { "adopt-signal", TALK_SIGNAL, WORKER_ADOPT, false, "something else" },
        { "change-call", TALK_CALL, WORKER_CHANGE, false, "something else" },
};

/* sd-bus would write all of a giant message, which nobody reads. */
static void send_giant(sd_bus *bus) {
        const struct {
                uint8_t endian, type, flags, version;
                uint32_t body, serial, fields;
        } header = { 'l',
                     SD_BUS_MESSAGE_METHOD_RETURN,
                     0,
                     1,
                     GUINT32_TO_LE(100 * 1024 * 1024),
                     GUINT32_TO_LE(1000),
                     GUINT32_TO_LE(16) };

        g_assert_cmpint(sd_bus_flush(bus), >=, 0);
        g_assert_cmpint(send(sd_bus_get_fd(bus), &header, sizeof(header), MSG_NOSIGNAL), ==, sizeof(header));
}

static sd_bus_message *make_talk(Operation *o, Talk talk) {
        g_autofree char *text = g_strnfill(talk == TALK_LARGE_SIGNAL ? 1024 * 1024 : 10, 'x');
        sd_bus_message *m = NULL;
        int r;

        if (talk == TALK_PING)
                r = sd_bus_message_new_method_call(o->bus, &m, NULL, "/", "org.freedesktop.DBus.Peer", "Ping");
        else if (talk == TALK_CALL) {
                r = sd_bus_message_new_method_call(o->bus, &m, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_UNMOUNT);
                if (r >= 0)
                        r = unmount_call_append(m, &(UnmountCall){ .target = (char *) TEST_TARGETS "/talks" });
        } else if (talk == TALK_AGAIN)
                r = sd_bus_message_new_method_return(o->held, &m);
        else {
                r = sd_bus_message_new_signal(o->bus, &m, "/", "a.b", "C");
                if (r >= 0)
                        r = sd_bus_message_append(m, "s", text);
        }
        g_assert_cmpint(r, >=, 0);
        return m;
}

/* Anything but the answer ends the child with an error, so that selvold can't fill its memory. */
TEST_ROWS(test_talks, "/dialog/talks", talk_rows, row) {
        g_autoptr(TestVolume) v = volume_mount("talks", "ext4", 0);
        g_autofree char *target = make_target("talks-target");
        const bool mounts = g_str_equal(row->method, WORKER_MOUNT);
        const Arguments a = { .source = mounts ? "tmpfs" : "",
                              .fs_type = mounts ? "tmpfs" : "",
                              .target = mounts ? target : v->target,
                              .hold_plan = !row->ready,
                              .hold_ready = row->ready };
        Operation *o = operation_start_held(worker, row->method, &a);

        if (row->talk == TALK_GIANT)
                send_giant(o->bus);
        else {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = make_talk(o, row->talk);

                if (row->talk == TALK_AGAIN)
                        operation_answer(o);
                /* An answer behind it could find that the child has ended: sd-bus would read nothing more. */
                g_assert_cmpint(sd_bus_send(o->bus, m, NULL), >=, 0);
        }
        assert_fails(operation_finish(o), "WorkerFailed", row->text);
        g_assert_false(is_mounted(target));
}

/* Gives all files of a volume to group 1000. */
static char *make_owned_image(const char *name) {
        g_autofree char *image = make_image(name, "ext4"), *target = make_target(name);

        assert_ok(mount_with(worker, image, "ext4", target, .files = wanted_group(1000)));
        assert_mark(target, MARK_GROUP("complete", "1000"));
        must(umount2(target, 0));
        return g_steal_pointer(&image);
}

/* selvold has to know the id and the swapped groups of a mount before anybody sees the mount. */
TEST_WORDS(test_held_ready, "/dialog/ready/held", word, "answer", "hang-up", "kill") {
        g_autofree char *image = make_owned_image("ready"), *target = make_target("ready-here");
        const Arguments a = volume_at(image, "ext4", target, .files = wanted_group(2000), .hold_ready = true);
        Operation *o = operation_start_held(worker, WORKER_MOUNT, &a);

        g_assert_cmpuint(o->heard.n_ready, ==, 1);
        g_assert_cmpuint(o->heard.ready.gid, ==, 2000);
        g_assert_cmpuint(o->heard.ready.disk_gid, ==, 1000);
        g_assert_cmpuint(o->heard.ready.identity.id, !=, 0);

        g_auto(Answer) answer = end_held(o, word, target);
        if (is_mounted(target)) {
                g_assert_cmpuint(answer.heard.ready.identity.id, ==, mount_id_of(target));
                g_assert_cmpint(answer.files.ownership, ==, OWNERSHIP_MAP);
                must(umount2(target, 0));
        }
        assert_no_loop(image);
}

/* selvold tells the child to end. The child sends no reply, mounts nothing and changes no mark. */
TEST_WORDS(test_verdict, "/dialog/plan", word, "wait", "stop") {
        const PlanStep step = g_str_equal(word, "wait") ? PLAN_WAIT : PLAN_STOP;
        g_autoptr(TestVolume) v = volume_mount("step", "ext4", 0);
        g_autofree char *image = make_image("step-2", "ext4"), *target = make_target("step-2");
        const struct {
                const char *method, *source, *target;
        } rows[] = {
                { WORKER_MOUNT, image, target },
                { WORKER_ADOPT, NULL, v->target },
                { WORKER_CHANGE, NULL, v->target },
                { WORKER_CHANGE, image, NULL },
        };

        fill_tree(v->target, 1, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Operation *o = operation_start_held(worker, rows[i].method,
                                                    &volume_at(rows[i].source, rows[i].source ? "ext4" : NULL,
                                                               rows[i].target, .step = step, .change = MARK_TAINT,
                                                               .files = wanted_labels(LABEL_1), .hold_plan = true));
                pid_t child = worker_find_child(worker);

                operation_answer(o);
                g_auto(Answer) ended = expect(operation_finish(o), "gone");
                g_assert_cmpuint(ended.heard.n_plans, ==, 1);
                g_assert_cmpuint(ended.heard.n_walks + ended.heard.n_progress + ended.heard.n_ready, ==, 0);
                assert_gone(child);
        }
        g_assert_false(is_mounted(target));
        assert_no_loop(image);
        assert_mark(v->target, NULL);
        g_assert_cmpuint(count_labeled(v->target, LABEL_1), ==, 0);
}

/* While selvold holds its answer back, the host mounts the disk: the worker does not show it then. */
TEST_WORDS(test_late, "/dialog/late", word, "host", "roots", "host-in-namespace", "roots-in-namespace") {
        const bool host = g_str_has_prefix(word, "host"), always = stages_in_namespace();
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("late", "ext4"), *target = make_target("late"),
                        *elsewhere = host ? path_printf(TEST_DIR "/host") : make_target("late-other"),
                        *device = attach_loop(image, &loop);
        Arguments a = volume_at(device, "ext4", target, .hold_plan = true);
        g_autoptr(Worker) w = NULL;
        Operation *o;

        if (g_str_has_suffix(word, "in-namespace"))
                g_setenv("SELVOL_STAGE", "namespace", TRUE);
        w = worker_start(NULL, NULL);
        (void) mkdir(elsewhere, 0755);
        o = operation_start_held(w, WORKER_MOUNT, &a);
        must(mount(device, elsewhere, "ext4", 0, NULL));
        operation_answer(o);
        g_auto(Answer) ended = operation_finish(o);
        g_assert_true(g_str_equal(ended.kind, "Busy") || g_str_equal(ended.kind, "PathNotAllowed"));
        g_assert_false(is_mounted(target));
        must(umount2(elsewhere, 0));
        if (!always)
                g_unsetenv("SELVOL_STAGE");
}

/* Ready has the identity of the mount that is visible later. */
TEST(test_ready, "/dialog/ready") {
        g_autofree char *image = make_image("identity", "ext4"), *one = make_target("identity-1"),
                        *two = make_target("identity-2");

        g_auto(Answer) first = expect_ok(mount_with(worker, image, "ext4", one));
        g_assert_cmpuint(first.heard.ready.identity.id, ==, mount_id_of(one));
        g_auto(Answer) second = expect_ok(
                mount_with(worker, image, "ext4", two, .share = one, .share_id = first.heard.ready.identity.id));
        g_assert_cmpuint(second.heard.ready.identity.id, ==, mount_id_of(two));
        g_assert_cmpuint(second.heard.ready.identity.id, !=, first.heard.ready.identity.id);
        g_assert_cmpstr(second.heard.ready.identity.device, ==, first.heard.ready.identity.device);
        must(umount2(one, 0));
        must(umount2(two, 0));
}

/* A repeated call finds the mount that it expects, or another mount in its place. */
TEST(test_expected, "/dialog/expected") {
        g_autofree char *image = make_image("expected", "ext4"), *target = make_target("expected");
        Arguments a = volume_at(image, "ext4", target);

        g_auto(Answer) first = expect_ok(call_mount(worker, &a));
        g_assert_false(first.repeated);

        a.expected = first.heard.ready.identity;
        a.change = MARK_TAINT;
        g_auto(Answer) again = expect_ok(call_mount(worker, &a));
        g_assert_true(again.repeated);
        g_assert_cmpuint(again.outcome.fact.mount_id, ==, first.outcome.fact.mount_id);
        assert_mark(target, NULL);

        const MountIdentity others[] = {
                { .id = first.heard.ready.identity.id + 100000, .device = first.heard.ready.identity.device },
                { .id = first.heard.ready.identity.id, .device = (char *) "7:99999" },
                { .id = 0 },
        };
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                a.expected = others[i];
                g_auto(Answer) in_the_way = expect(call_mount(worker, &a), "InvalidTarget");
                g_assert_cmpuint(in_the_way.heard.n_plans, ==, 0);
        }
        must(umount2(target, 0));

        /* The expected mount has gone, so the worker makes a new one. */
        a.expected = first.heard.ready.identity;
        assert_says(call_mount(worker, &a), repeated, ==, false);
        g_assert_true(is_mounted(target));
        must(umount2(target, 0));
}

/* Another mount hides the expected one. The worker names the mount that hides it. */
TEST(test_expected_hidden, "/dialog/expected-hidden") {
        g_autofree char *image = make_image("hidden", "ext4"), *parent = make_target("expected-hidden"),
                        *target = make_target("expected-hidden/v");
        Arguments a = volume_at(image, "ext4", target);

        g_auto(Answer) first = expect_ok(call_mount(worker, &a));
        must(mount("on-top", parent, "tmpfs", 0, NULL));
        must(mkdir(target, 0755));
        a.expected = first.heard.ready.identity;
        g_auto(Answer) again = expect(call_mount(worker, &a), "Busy", "on-top, type tmpfs");
        g_assert_cmpuint(again.heard.n_plans, ==, 0);
        must(umount2(parent, 0));
        must(umount2(target, 0));
}

/* The first answer needs a mount with labels. SELinux is off, so there are none, and the child asks again. */
TEST(test_seclabel, "/dialog/plan/seclabel") {
        g_autofree char *image = make_image("seclabel", "ext4"), *target = make_target("seclabel");

        g_auto(Answer) mounted = expect_ok(mount_with(worker, image, "ext4", target, .suppose_seclabel = true));
        g_assert_cmpuint(mounted.heard.n_plans, ==, 2);
        g_assert_cmpint(mounted.question.seclabel, ==, 0);
        g_assert_false(mounted.question.mounted);
        must(umount2(target, 0));

        g_auto(Answer) once = expect_ok(mount_with(worker, image, "ext4", target));
        g_assert_cmpuint(once.heard.n_plans, ==, 1);
        g_assert_cmpint(once.question.seclabel, ==, -1);
        must(umount2(target, 0));
}

/* The question of Adopt and Change has the facts of the mount. */
TEST(test_mounted, "/dialog/plan/mounted") {
        g_autoptr(TestVolume) v = volume_mount("told", "ext4", 0);

        set_label(v->target, LABEL_1);
        g_auto(Answer) adopted = call_adopt(worker, &(Arguments){ .target = v->target, .step = PLAN_STOP });
        g_auto(Answer) changed = call_change(worker, &(Arguments){ .target = v->target, .step = PLAN_STOP });
        const Answer *const answers[] = { &adopted, &changed };
        for (size_t i = 0; i < G_N_ELEMENTS(answers); i++) {
                const PlanQuestion *q = &answers[i]->question;

                assert_answer(*answers[i], "gone");
                g_assert_true(q->mounted);
                g_assert_cmpint(q->seclabel, ==, 0);
                g_assert_cmpuint(q->outcome.fact.mount_id, ==, v->mount_id);
                g_assert_cmpstr(q->outcome.root_context, ==, LABEL_1);
                g_assert_cmpuint(q->observed.n_mounts, ==, 1);
                g_assert_cmpstr(q->observed.superblock, ==, adopted.question.observed.superblock);
        }
        g_assert_nonnull(adopted.question.observed.superblock);
}

static char *find_superblock(const char *source, const char *fs_type) {
        g_autofree char *target = make_target("superblock");

        g_auto(Answer) observed = expect_ok(call_observe(worker, source, fs_type, target));
        return g_strdup(observed.question.observed.superblock);
}

/* A claim has the name of the superblock, which is the same for all names of a source. */
TEST(test_superblock, "/dialog/superblock") {
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("superblock", "ext4"), *other = make_image("superblock-2", "ext4"),
                        *target = make_target("superblock-mounted"), *of_image = find_superblock(image, "ext4"),
                        *device = attach_loop(image, &loop),
                        *link = make_link("superblock", strrchr(device, '/') + 1),
                        *of_device = find_superblock(device, "ext4"), *of_link = find_superblock(link, ""),
                        *of_other = find_superblock(other, "ext4"), *of_tmpfs = find_superblock("tmpfs", "tmpfs");

        g_assert_true(g_str_has_prefix(of_image, "image:"));
        g_assert_cmpstr(of_device, ==, of_image);
        g_assert_cmpstr(of_link, ==, of_image);
        g_assert_cmpstr(of_other, !=, of_image);
        g_assert_cmpstr(of_tmpfs, ==, NULL);

        must(mount(device, target, "ext4", 0, NULL));
        g_auto(Answer) adopted =
                expect(call_adopt(worker, &(Arguments){ .target = target, .step = PLAN_STOP }), "gone");
        g_assert_cmpstr(adopted.question.observed.superblock, ==, of_image);
        must(umount2(target, 0));
        must(unlink(link));
}

/* A btrfs is named by its disk, as two copies have one UUID. The kernel finds a second device by the UUID,
 * and no process has checked that device. */
TEST_DISKS(test_superblock_btrfs, "/dialog/superblock", "btrfs") {
        _cleanup_close_ int loop_one = -EBADF, loop_two = -EBADF;
        g_autofree char *one = make_image("btrfs-first", NULL), *two = make_image("btrfs-second", NULL),
                        *device_one = attach_loop(one, &loop_one), *device_two = attach_loop(two, &loop_two),
                        *of_one = NULL, *target = make_target("btrfs");

        g_assert_true(run("mkfs.btrfs", "-qf", device_one, NULL));
        of_one = find_superblock(device_one, "btrfs");
        g_assert_true(g_str_has_prefix(of_one, "image:"));
        g_assert_true(run("mkfs.btrfs", "-qf", device_one, device_two, NULL));
        assert_fails(call_observe(worker, device_two, "", target), "NotSupported", "on several devices");
        (void) run("btrfs", "device", "scan", "--forget", NULL);
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

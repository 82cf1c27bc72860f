/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/mount.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "volumes.h"

/* The record that a volume carries: what mounts do to it, and what it can be. */

static Worker *worker;

/* Before a mount that taints is there for others, the volume says so. */
static void test_mount(gconstpointer data) {
        const char *fs_type = data;
        g_autofree char *image = make_image("record", fs_type), *target = make_target("record");
        g_autoptr(sd_bus) bus = worker_dial(worker);

        if (!image)
                return;
        MountArguments a = { .source = image, .fs_type = fs_type, .target = target };

        g_auto(Answer) kept = call_mount(bus, &a);
        assert_answer(kept, "ok");
        g_assert_cmpint(kept.found, ==, RECORD_ABSENT);
        g_assert_null(get_record(target));
        g_assert_cmpint(umount2(target, 0), ==, 0);

        a.effect = "forget";
        g_auto(Answer) nothing = call_mount(bus, &a);
        assert_answer(nothing, "ok");
        g_assert_cmpint(nothing.found, ==, RECORD_ABSENT);
        g_assert_cmpint(umount2(target, 0), ==, 0);

        a.effect = "taint";
        g_auto(Answer) first = call_mount(bus, &a);
        assert_answer(first, "ok");
        assert_told(&first, target);
        assert_record(target, STATE_UNKNOWN, "", true, 1);
        g_assert_cmpint(umount2(target, 0), ==, 0);

        /* Nothing new: the generation stays. */
        g_auto(Answer) again = call_mount(bus, &a);
        assert_answer(again, "ok");
        assert_told(&again, target);
        assert_record(target, STATE_UNKNOWN, "", true, 1);

        set_record(target,
                   "version=1 generation=7 label=complete tainted=no ownership=complete gid=5 context=" LABEL_1);
        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_auto(Answer) tainted = call_mount(bus, &a);
        assert_answer(tainted, "ok");
        g_assert_cmpstr(
                tainted.record, ==,
                "version=1 generation=8 label=complete tainted=yes ownership=complete gid=5 context=" LABEL_1);
        assert_told(&tainted, target);
        g_auto(Answer) inspected = call_inspect(bus, target);
        assert_answer(inspected, "ok");
        assert_told(&inspected, target);
        g_assert_cmpint(umount2(target, 0), ==, 0);

        a.effect = "forget";
        g_auto(Answer) forgotten = call_mount(bus, &a);
        assert_answer(forgotten, "ok");
        assert_record(target, STATE_UNKNOWN, "", true, 9);
        g_assert_cmpint(umount2(target, 0), ==, 0);

        a.effect = "nonsense";
        g_auto(Answer) wrong = call_mount(bus, &a);
        assert_answer(wrong, "org.freedesktop.DBus.Error.InvalidArgs");
        g_assert_false(is_mounted(target));
}

/* What anybody may have written there is ignored, and told as it is if that can be said. */
static void test_hostile(void) {
        static const struct {
                const char *bytes;
                size_t n;
                const char *told;
        } rows[] = {
#define ROW(text, told) { text, sizeof(text) - 1, told }
                ROW("nonsense", "nonsense"),
                ROW("", ""),
                ROW("version=1 generation=1\0 label=complete", ""),
                ROW("\xff\xfe", ""),
                ROW("version=2 anything", "version=2 anything"),
                ROW("version=1 generation=18446744073709551615 label=complete tainted=no ownership=unknown gid=0 "
                    "context=" LABEL_1,
                    "version=1 generation=18446744073709551615 label=complete tainted=no ownership=unknown gid=0 "
                    "context=" LABEL_1),
#undef ROW
        };
        g_autoptr(TestVolume) v = volume_mount("hostile", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                set_record_bytes(v->target, rows[i].bytes, rows[i].n);
                g_auto(Answer) kept = call_mark(bus, v->target, v->mount_id, "keep");
                assert_answer(kept, "ok");
                g_assert_cmpint(kept.found, ==, RECORD_PRESENT);
                g_assert_cmpstr(kept.record, ==, rows[i].told);

                g_auto(Answer) inspected = call_inspect(bus, v->target);
                assert_answer(inspected, "ok");
                g_assert_cmpstr(inspected.record, ==, rows[i].told);

                g_auto(Answer) forgotten = call_mark(bus, v->target, v->mount_id, "forget");
                assert_answer(forgotten, "ok");
                assert_told(&forgotten, v->target);
                assert_record(v->target, STATE_UNKNOWN, "", false, 1);
        }
}

/* Longer than any of ours. */
static void test_long(void) {
        g_autoptr(TestVolume) v = volume_mount("long", "tmpfs", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        char big[3000];

        memset(big, 'x', sizeof(big));
        set_record_bytes(v->target, big, sizeof(big));
        g_auto(Answer) kept = call_mark(bus, v->target, v->mount_id, "keep");
        assert_answer(kept, "ok");
        g_assert_cmpint(kept.found, ==, RECORD_PRESENT);
        g_assert_cmpstr(kept.record, ==, "");
        g_auto(Answer) tainted = call_mark(bus, v->target, v->mount_id, "taint");
        assert_answer(tainted, "ok");
        assert_record(v->target, STATE_UNKNOWN, "", true, 1);
}

static void test_mark(void) {
        g_autoptr(TestVolume) v = volume_mount("mark", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        g_autofree char *file = path_printf("%s/file", v->target);

        g_auto(Answer) stale = call_mark(bus, v->target, v->mount_id + 100000, "taint");
        assert_answer(stale, "Busy");
        assert_message(stale, "is gone or covered");
        g_auto(Answer) inner = call_mark(bus, file, v->mount_id, "taint");
        assert_answer(inner, "Busy");
        g_auto(Answer) outside = call_mark(bus, "/run", mount_id_of("/run"), "taint");
        assert_answer(outside, "PathNotAllowed");
        g_auto(Answer) none = call_mark(bus, "", v->mount_id, "taint");
        assert_answer(none, "InvalidTarget");
        g_assert_null(get_record(v->target));

        /* A read-only mount of a file system that others can write to. */
        g_assert_cmpint(mount(NULL, v->target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        g_assert_true(is_read_only(v->target));
        g_auto(Answer) through = call_mark(bus, v->target, v->mount_id, "taint");
        assert_answer(through, "ok");
        assert_told(&through, v->target);
        assert_record(v->target, STATE_UNKNOWN, "", true, 1);
        g_assert_true(is_read_only(v->target));
}

static void test_read_only(void) {
        g_autoptr(TestVolume) v = volume_mount("frozen", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        static const char text[] =
                "version=1 generation=7 label=complete tainted=no ownership=unknown gid=0 context=" LABEL_1;

        set_record(v->target, text);
        g_assert_cmpint(mount(NULL, v->target, NULL, MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        g_auto(Answer) marked = call_mark(bus, v->target, v->mount_id, "taint");
        assert_answer(marked, "ok");
        g_assert_cmpstr(marked.record, ==, text);
}

/* A file system that has no such xattrs. */
static void test_unsupported(void) {
        g_autoptr(TestVolume) v = volume_mount("without", "ramfs", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);

        g_auto(Answer) marked = call_mark(bus, v->target, v->mount_id, "taint");
        assert_answer(marked, "ok");
        g_assert_cmpint(marked.found, ==, RECORD_UNSUPPORTED);
        g_auto(Answer) inspected = call_inspect(bus, v->target);
        assert_answer(inspected, "ok");
        g_assert_cmpint(inspected.found, ==, RECORD_UNSUPPORTED);
}

/* A record that claims too much and stays: the volume isn't mounted. One that claims nothing may stay. */
static void test_stuck(void) {
        g_autofree char *image = make_image("stuck", "ext4"), *target = make_target("stuck");
        g_autoptr(sd_bus) bus = worker_dial(worker);
        MountArguments a = { .source = image, .fs_type = "ext4", .target = target };

        g_auto(Answer) first = call_mount(bus, &a);
        assert_answer(first, "ok");
        set_record(target,
                   "version=1 generation=7 label=complete tainted=no ownership=unknown gid=0 context=" LABEL_1);
        set_immutable(target, true);
        g_assert_cmpint(umount2(target, 0), ==, 0);

        a.effect = "taint";
        g_auto(Answer) refused = call_mount(bus, &a);
        assert_answer(refused, "MountFailed");
        assert_message(refused, "chattr");
        g_assert_false(is_mounted(target));
        g_assert_cmpint(count_loops(image), ==, 0);

        a.effect = "keep";
        g_auto(Answer) kept = call_mount(bus, &a);
        assert_answer(kept, "ok");
        set_immutable(target, false);
        set_record(target,
                   "version=1 generation=8 label=partial tainted=no ownership=unknown gid=0 context=" LABEL_1);
        set_immutable(target, true);
        g_assert_cmpint(umount2(target, 0), ==, 0);

        a.effect = "taint";
        g_auto(Answer) harmless = call_mount(bus, &a);
        assert_answer(harmless, "ok");
        assert_record(target, STATE_PARTIAL, LABEL_1, false, 8);
        set_immutable(target, false);
        g_assert_cmpint(umount2(target, 0), ==, 0);
}

/* Mounts a file system in which each new value needs a block, with none left. */
static char *mount_full(const char *target, const char *record, int *ret_loop) {
        g_autofree char *image = make_image("full", NULL), *device = NULL,
                        *filler = path_printf("of=%s/filler", target), *other = path_printf("%s/lost+found", target);

        g_assert_true(run("mkfs.ext4", "-q", "-I", "128", "-m", "0", "-O", "^has_journal", image, "8m", NULL));
        device = attach_loop(image, ret_loop);
        g_assert_cmpint(mount(device, target, "ext4", 0, NULL), ==, 0);
        if (record) {
                /* A block that two inodes share can't be changed in its place. */
                set_record(other, record);
                set_record(target, record);
        }
        g_assert_false(run("dd", "if=/dev/zero", filler, "bs=1k", NULL));
        return g_steal_pointer(&device);
}

/* Where there is no room for another record, there is none. */
static void test_full(gconstpointer data) {
        const char *record = data;
        g_autofree char *target = make_target("full"), *device = NULL;
        g_autoptr(sd_bus) bus = worker_dial(worker);
        int loop;

        device = mount_full(target, record, &loop);
        g_auto(Answer) absent = call_mark(bus, target, mount_id_of(target), "taint");
        assert_answer(absent, "ok");
        g_assert_cmpint(absent.found, ==, RECORD_ABSENT);
        assert_told(&absent, target);

        /* And it is gone for good. */
        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_assert_cmpint(mount(device, target, "ext4", 0, NULL), ==, 0);
        g_assert_null(get_record(target));
        g_assert_cmpint(umount2(target, 0), ==, 0);
        close(loop);
}

/* Whoever can see the mount finds the record on disk: it was written and synced before. */
static void test_order(gconstpointer data) {
        const char *injection = data;
        const char *const wrapper[] = { "strace", "-D", "-f", "-qqq", "-o", "/dev/null", "-e", injection, NULL };
        g_autofree char *image = make_image("order", "ext4"), *target = make_target("order"), *device = NULL;
        sd_bus_message *reply = NULL;
        int loop;

        if (!has_program("strace")) {
                g_test_skip("strace");
                return;
        }
        /* LeakSanitizer gives up under ptrace. */
        g_setenv("ASAN_OPTIONS", "detect_leaks=0", TRUE);
        g_autoptr(Worker) traced = worker_start(NULL, wrapper);
        g_unsetenv("ASAN_OPTIONS");
        g_autoptr(sd_bus) bus = worker_dial(traced);
        send_mount(bus, &(MountArguments){ .source = image, .fs_type = "ext4", .target = target, .effect = "taint" },
                   &reply);
        wait_for_end(bus);
        g_assert_null(reply);
        g_assert_false(is_mounted(target));

        device = attach_loop(image, &loop);
        g_assert_cmpint(mount(device, target, "ext4", 0, NULL), ==, 0);
        if (strstr(injection, "fsetxattr"))
                g_assert_null(get_record(target));
        else
                assert_record(target, STATE_UNKNOWN, "", true, 1);
        g_assert_cmpint(umount2(target, 0), ==, 0);
        close(loop);
}

int main(int argc, char **argv) {
        static const char *const file_systems[] = { "ext4", "xfs", "btrfs" };
        static const char *const kills[][2] = {
                { "unmarked", "inject=fsetxattr:signal=KILL:when=1" },
                { "synced", "inject=fsync:signal=KILL:when=1" },
                { "unpublished", "inject=move_mount:signal=KILL:when=1" },
        };
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        worker = worker_start(NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(file_systems); i++) {
                g_autofree char *path = path_printf("/record/mount/%s", file_systems[i]);
                g_test_add_data_func(path, file_systems[i], test_mount);
        }
        g_test_add_func("/record/hostile", test_hostile);
        g_test_add_func("/record/long", test_long);
        g_test_add_func("/record/mark", test_mark);
        g_test_add_func("/record/read-only", test_read_only);
        g_test_add_func("/record/unsupported", test_unsupported);
        g_test_add_func("/record/stuck", test_stuck);
        g_test_add_data_func("/record/full/none", NULL, test_full);
        g_test_add_data_func("/record/full/shared",
                             "version=1 generation=7 label=complete tainted=no ownership=unknown gid=0 "
                             "context=" LABEL_1,
                             test_full);
        for (size_t i = 0; i < G_N_ELEMENTS(kills); i++) {
                g_autofree char *path = path_printf("/record/order/%s", kills[i][0]);
                g_test_add_data_func(path, kills[i][1], test_order);
        }
        r = g_test_run();
        worker_stop(worker);
        return r;
}

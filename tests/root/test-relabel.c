/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volumes.h"

/* Relabelling: what is staged, and what is mounted. */

static Worker *worker;

static void test_staged(gconstpointer data) {
        const char *fs_type = data;
        g_autoptr(TestVolume) prepared = volume_mount("staged", fs_type, 0);
        g_autofree char *image = NULL, *target = make_target("publish-here");
        unsigned n;

        if (!prepared)
                return;
        fill_tree(prepared->target, 20, 20);
        n = count_labelled(prepared->target, "");
        image = g_strdup(prepared->image);
        g_clear_pointer(&prepared, volume_unmount);

        const MountArguments a = { .source = image, .fs_type = fs_type, .target = target };
        const ChangeArguments first = staged(LABEL_1), second = staged(LABEL_2);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_assert_cmpint(stage.found, ==, RECORD_ABSENT);
        g_assert_false(is_mounted(target));
        g_assert_cmpint(count_mounts(), ==, 0);

        g_auto(Answer) done = call_change(bus, &first);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
        g_assert_cmpint(done.walk.counts.done, ==, n);
        g_assert_cmpint(done.walk.counts.changed, ==, n);
        g_assert_cmpint(done.walk.n_issues, ==, 0);
        g_assert_cmpint(done.found, ==, RECORD_PRESENT);
        g_assert_false(is_mounted(target));

        g_auto(Answer) published = call_publish(bus, "keep");
        assert_answer(published, "ok");
        g_assert_true(is_mounted(target));
        g_assert_cmpint(published.outcome.fact.mount_id, ==, mount_id_of(target));
        g_assert_cmpstr(published.outcome.root_context, ==, LABEL_1);
        assert_told(&published, target);
        assert_record(target, STATE_COMPLETE, LABEL_1, false, 2);
        g_assert_cmpint(count_labelled(target, LABEL_1), ==, n);
        /* Nothing of the child's keeps it busy. */
        g_assert_cmpint(umount2(target, 0), ==, 0);

        /* It is over. */
        g_auto(Answer) again = call_publish(bus, "keep");
        assert_answer(again, "NotSupported");
        g_auto(Answer) nothing = call_change(bus, &second);
        assert_answer(nothing, "NotSupported");
        assert_message(nothing, "Nothing is staged");
        g_assert_cmpint(count_loops(image), ==, 0);
}

/* What is staged and not published is gone with the connection. */
static void test_staged_only(void) {
        g_autofree char *image = make_image("staged-only", "ext4"), *target = make_target("staged-only");
        MountArguments a = { .source = image, .fs_type = "ext4", .target = target };
        sd_bus *bus = worker_dial(worker);

        g_auto(Answer) early = call_publish(bus, "keep");
        assert_answer(early, "NotSupported");
        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) twice = call_stage(bus, &a);
        assert_answer(twice, "NotSupported");
        g_assert_cmpint(count_loops(image), ==, 1);
        g_assert_cmpint(shutdown(sd_bus_get_fd(bus), SHUT_WR), ==, 0);
        wait_for_end(bus);
        sd_bus_close_unref(bus);
        g_assert_cmpint(count_loops(image), ==, 0);

        a.target = "";
        g_autoptr(sd_bus) without = worker_dial(worker);
        g_auto(Answer) no_target = call_stage(without, &a);
        assert_answer(no_target, "ok");
        const ChangeArguments relabel = staged(LABEL_1);
        g_auto(Answer) done = call_change(without, &relabel);
        assert_answer(done, "ok");
        g_auto(Answer) refused = call_publish(without, "keep");
        assert_answer(refused, "NotSupported");
        g_assert_false(is_mounted(target));
        g_assert_cmpint(shutdown(sd_bus_get_fd(without), SHUT_WR), ==, 0);
        wait_for_end(without);

        a.target = "/etc";
        g_autoptr(sd_bus) other = worker_dial(worker);
        g_auto(Answer) outside = call_stage(other, &a);
        assert_answer(outside, "PathNotAllowed");
        a.target = "";
        g_auto(Answer) outside_mount = call_mount(other, &a);
        assert_answer(outside_mount, "InvalidTarget");
}

static void test_live(gconstpointer data) {
        const char *fs_type = data;
        g_autoptr(TestVolume) v = volume_mount("live", fs_type, 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a;
        unsigned n;

        if (!v)
                return;
        fill_tree(v->target, 5, 10);
        n = count_labelled(v->target, "");
        a = live(v, LABEL_1);
        a.generation = 5;

        g_auto(Answer) first = call_change(bus, &a);
        assert_answer(first, "ok");
        g_assert_cmpint(first.walk.counts.done, ==, n);
        g_assert_cmpint(first.walk.counts.changed, ==, n);
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, n);
        assert_told(&first, v->target);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 7);

        /* Nothing to change; the generation counts on from the volume's own. */
        a.generation = 0;
        g_auto(Answer) second = call_change(bus, &a);
        assert_answer(second, "ok");
        g_assert_cmpint(second.walk.counts.done, ==, n);
        g_assert_cmpint(second.walk.counts.changed, ==, 0);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 9);

        /* From the other end: the spelling of the context, all written without a look. */
        a.context = "system_u:object_r:container_file_t:s0:c4,c3";
        a.blind = true;
        g_auto(Answer) third = call_change(bus, &a);
        assert_answer(third, "ok");
        g_assert_cmpint(third.walk.counts.changed, ==, n);
        g_assert_cmpint(count_labelled(v->target, LABEL_2), ==, n);
        assert_record(v->target, STATE_COMPLETE, LABEL_2, false, 11);
}

/* What the volume says of its group stays, unless the caller knows that it is out of date. A taint goes. */
static void test_record(void) {
        g_autoptr(TestVolume) v = volume_mount("others", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        static const char before[] =
                "version=1 generation=7 label=complete tainted=yes ownership=complete gid=5 context=" LABEL_1;
        ChangeArguments a = live(v, LABEL_2);

        set_record(v->target, before);
        a.generation = 7;
        g_auto(Answer) agreed = call_change(bus, &a);
        assert_answer(agreed, "ok");
        g_assert_cmpstr(agreed.record, ==,
                        "version=1 generation=9 label=complete tainted=no ownership=complete gid=5 context=" LABEL_2);

        set_record(v->target, before);
        a.generation = 8;
        g_auto(Answer) outdated = call_change(bus, &a);
        assert_answer(outdated, "ok");
        g_assert_cmpstr(outdated.record, ==,
                        "version=1 generation=10 label=complete tainted=no ownership=unknown gid=0 context=" LABEL_2);

        set_record(v->target, "hostile");
        a.generation = 3;
        g_auto(Answer) hostile = call_change(bus, &a);
        assert_answer(hostile, "ok");
        assert_record(v->target, STATE_COMPLETE, LABEL_2, false, 5);
}

/* What others may do to the labels is in the record from the beginning. */
static void test_effect(void) {
        g_autoptr(TestVolume) v = volume_mount("effect", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = live(v, LABEL_1);

        a.effect = "taint";
        g_auto(Answer) tainted = call_change(bus, &a);
        assert_answer(tainted, "ok");
        assert_told(&tainted, v->target);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, true, 3);

        a.effect = "forget";
        g_auto(Answer) forgotten = call_change(bus, &a);
        assert_answer(forgotten, "ok");
        assert_told(&forgotten, v->target);
        assert_record(v->target, STATE_UNKNOWN, "", false, 6);

        a.effect = "keep";
        g_auto(Answer) kept = call_change(bus, &a);
        assert_answer(kept, "ok");
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 8);

        a.effect = "hope";
        a.context = LABEL_2;
        g_auto(Answer) refused = call_change(bus, &a);
        g_assert_cmpstr(refused.kind, !=, "ok");
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 8);
        g_assert_cmpint(count_labelled(v->target, LABEL_2), ==, 0);
}

/* However little there is to do, something is told before the record is synced. And a rate beyond the limit. */
static void test_limits(void) {
        g_autoptr(TestVolume) v = volume_mount("limits", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = live(v, LABEL_1);
        Progress progress = { .done = 0 };

        a.entries_per_sec = UINT64_MAX;
        watch_progress(bus, &progress);
        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        while (sd_bus_process(bus, NULL) > 0)
                ;
        g_assert_cmpint(progress.n, >=, 1);
        g_assert_cmpint(progress.total, >=, done.walk.counts.done);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 2);
}

/* An entry that can't be changed is counted and named, the root keeps its label, and the record says partial. */
static void test_immutable(void) {
        g_autoptr(TestVolume) v = volume_mount("immutable", "xfs", 0);
        g_autofree char *file = path_printf("%s/dir-1/odd\n\xff", v->target);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const ChangeArguments a = live(v, LABEL_1);
        unsigned n;

        fill_tree(v->target, 3, 3);
        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        set_immutable(file, true);
        n = count_labelled(v->target, "");

        g_auto(Answer) failed = call_change(bus, &a);
        assert_answer(failed, "ok");
        g_assert_cmpint(failed.walk.counts.done, ==, n);
        g_assert_cmpint(failed.walk.counts.failed, ==, 1);
        g_assert_cmpint(failed.walk.n_issues, ==, 1);
        g_assert_cmpstr(failed.walk.issues[0].path, ==, "dir-1/odd\\x0a\\xff");
        g_assert_nonnull(strstr(failed.walk.issues[0].text, "chattr"));
        assert_told(&failed, v->target);
        assert_record(v->target, STATE_PARTIAL, LABEL_1, false, 1);
        g_autofree char *root = get_label(v->target);
        g_assert_cmpstr(root, ==, "");

        set_immutable(file, false);
        g_auto(Answer) rest = call_change(bus, &a);
        assert_answer(rest, "ok");
        g_assert_cmpint(rest.walk.counts.failed, ==, 0);
        g_assert_cmpint(rest.walk.counts.changed, ==, 2);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 3);
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, n);
}

/* Nothing is touched if the record would go on to claim what is no longer true. */
static void test_stuck(void) {
        g_autoptr(TestVolume) v = volume_mount("stuck-record", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const ChangeArguments a = live(v, LABEL_2), b = live(v, LABEL_1);

        fill_tree(v->target, 1, 3);
        g_auto(Answer) first = call_change(bus, &b);
        assert_answer(first, "ok");
        set_immutable(v->target, true);
        g_auto(Answer) refused = call_change(bus, &a);
        assert_answer(refused, "EntriesFailed");
        assert_message(refused, "chattr");
        g_assert_cmpint(count_labelled(v->target, LABEL_2), ==, 0);
        set_immutable(v->target, false);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 2);
}

/* No room for labels: each needs a block of its own, as no two files have the same. */
static void test_full(void) {
        g_autofree char *image = make_image("no-room", NULL), *target = make_target("no-room"), *device = NULL,
                        *filler = path_printf("of=%s/filler", target), *file = path_printf("%s/filler", target);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        int loop;

        g_assert_true(run("mkfs.ext4", "-q", "-I", "128", "-m", "0", "-O", "^has_journal", image, "8m", NULL));
        device = attach_loop(image, &loop);
        g_assert_cmpint(mount(device, target, "ext4", 0, NULL), ==, 0);
        fill_tree(target, 2, 5);
        g_assert_false(run("dd", "if=/dev/zero", filler, "bs=1k", NULL));

        const ChangeArguments a = { .target = target, .mount_id = mount_id_of(target), .context = LABEL_1 };
        g_auto(Answer) full = call_change(bus, &a);
        assert_answer(full, "ok");
        g_assert_cmpint(full.walk.counts.failed, >, 0);
        g_assert_cmpint(full.walk.n_issues, >, 0);
        g_assert_nonnull(strstr(full.walk.issues[0].text, "no space"));
        g_assert_cmpint(full.found, ==, RECORD_ABSENT);
        g_assert_null(get_record(target));

        g_assert_cmpint(truncate(file, 0), ==, 0);
        g_auto(Answer) roomy = call_change(bus, &a);
        assert_answer(roomy, "ok");
        g_assert_cmpint(roomy.walk.counts.failed, ==, 0);
        assert_record(target, STATE_COMPLETE, LABEL_1, false, 2);
        g_assert_cmpint(umount2(target, 0), ==, 0);
        close(loop);
}

/* What is mounted inside is not entered, and what it covers is relabelled. */
static void test_mounts_inside(void) {
        g_autoptr(TestVolume) v = volume_mount("inside", "ext4", 0);
        g_autofree char *point = path_printf("%s/dir-0", v->target),
                        *inner = path_printf("%s/dir-0/in\nner", v->target),
                        *bind = path_printf("%s/dir-1", v->target), *covered = path_printf("%s/file-1", point);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const ChangeArguments a = live(v, LABEL_1);
        unsigned n;

        fill_tree(v->target, 3, 3);
        n = count_labelled(v->target, "");
        g_assert_cmpint(mount("inside", point, "tmpfs", 0, NULL), ==, 0);
        g_assert_cmpint(mkdir(inner, 0755), ==, 0);
        g_assert_cmpint(mount("further-inside", inner, "tmpfs", 0, NULL), ==, 0);
        g_assert_cmpint(mount("/etc", bind, NULL, MS_BIND, NULL), ==, 0);

        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
        g_assert_cmpint(done.walk.counts.changed, ==, n);
        g_assert_cmpint(g_strv_length(done.walk.mounts_inside), ==, 3);
        g_assert_cmpstr(done.walk.mounts_inside[0], ==, "dir-0");
        g_assert_cmpstr(done.walk.mounts_inside[1], ==, "dir-0/in\\x0aner");
        g_assert_cmpstr(done.walk.mounts_inside[2], ==, "dir-1");
        g_assert_cmpint(count_labelled(point, LABEL_1), ==, 0);
        g_assert_cmpint(count_labelled(bind, LABEL_1), ==, 0);

        g_auto(Answer) verified = call_verify_depth(bus, v->target, LABEL_1, "full");
        assert_answer(verified, "ok");
        g_assert_true(verified.walk.matches);
        g_assert_cmpint(verified.walk.counts.done, ==, n);

        g_assert_cmpint(umount2(bind, 0), ==, 0);
        g_assert_cmpint(umount2(inner, 0), ==, 0);
        g_assert_cmpint(umount2(point, 0), ==, 0);
        g_autofree char *label = get_label(covered);
        g_assert_cmpstr(label, ==, LABEL_1);
}

/* A directory of a larger file system: its files may have names outside. */
static void test_part(void) {
        g_autoptr(TestVolume) v = volume_mount("larger", "ext4", 0);
        g_autofree char *part = path_printf("%s/dir-0", v->target), *outside = path_printf("%s/outside", v->target),
                        *leads_out = path_printf("%s/dir-0/leads-out", v->target), *target = make_target("part");
        g_autoptr(sd_bus) bus = worker_dial(worker);

        fill_tree(v->target, 2, 5);
        g_assert_true(g_file_set_contents(outside, "", -1, NULL));
        g_assert_cmpint(link(outside, leads_out), ==, 0);
        g_assert_cmpint(mount(part, target, NULL, MS_BIND, NULL), ==, 0);

        ChangeArguments a = { .target = target, .mount_id = mount_id_of(target), .context = LABEL_1 };
        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.skipped, ==, 1);
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
        g_assert_cmpint(done.walk.counts.changed, ==, 6);
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, 6);
        /* One file has another label still. */
        assert_told(&done, target);
        assert_record(target, STATE_PARTIAL, LABEL_1, false, 1);
        g_autofree char *label = get_label(outside);
        g_assert_cmpstr(label, ==, "");
        g_auto(Answer) verified = call_verify_depth(bus, target, LABEL_1, "full");
        assert_answer(verified, "ok");
        g_assert_false(verified.walk.matches);
        g_assert_cmpint(verified.walk.counts.mismatched, ==, 1);
        g_assert_cmpint(verified.walk.counts.skipped, ==, 0);

        /* Shared by a second holder, and staged: it is the same part. */
        const MountArguments share = {
                .source = v->device, .fs_type = "ext4", .target = "", .share = target, .share_id = a.mount_id
        };
        g_auto(Answer) stage = call_stage(bus, &share);
        assert_answer(stage, "ok");
        a = staged(LABEL_2);
        g_auto(Answer) again = call_change(bus, &a);
        assert_answer(again, "ok");
        g_assert_cmpint(again.walk.counts.skipped, ==, 1);
        g_assert_cmpint(count_labelled(v->target, LABEL_2), ==, 6);
        assert_record(target, STATE_PARTIAL, LABEL_2, false, 2);

        g_assert_cmpint(unlink(outside), ==, 0);
        g_auto(Answer) all = call_change(bus, &a);
        assert_answer(all, "ok");
        g_assert_cmpint(all.walk.counts.changed, ==, 1);
        assert_record(target, STATE_COMPLETE, LABEL_2, false, 4);

        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_assert_cmpint(shutdown(sd_bus_get_fd(bus), SHUT_WR), ==, 0);
        wait_for_end(bus);
}

/* All of a btrfs subvolume is a file system for this purpose: no hard link leads out of it. */
static void test_subvolume(void) {
        g_autoptr(TestVolume) v = volume_mount("subvolumes", "btrfs", 0);
        g_autofree char *sub = NULL, *one = NULL, *two = NULL, *target = make_target("subvolume");
        g_autoptr(sd_bus) bus = worker_dial(worker);

        if (!v)
                return;
        sub = path_printf("%s/sub", v->target);
        one = path_printf("%s/one", sub);
        two = path_printf("%s/two", sub);
        g_assert_true(run("btrfs", "-q", "subvolume", "create", sub, NULL));
        g_assert_true(g_file_set_contents(one, "", -1, NULL));
        g_assert_cmpint(link(one, two), ==, 0);
        g_assert_cmpint(mount(v->device, target, "btrfs", 0, "subvol=/sub"), ==, 0);

        const ChangeArguments a = { .target = target, .mount_id = mount_id_of(target), .context = LABEL_1 };
        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.skipped, ==, 0);
        g_assert_cmpint(count_labelled(target, LABEL_1), ==, 3);
        assert_record(target, STATE_COMPLETE, LABEL_1, false, 2);
        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_autofree char *root = get_label(v->target);
        g_assert_cmpstr(root, ==, "");
}

/* Files of whatever owner and mode, with the capabilities that the unit has. */
static void test_capabilities(void) {
        g_autofree char *set = read_capabilities();
        const char *const wrapper[] = { "setpriv", "--no-new-privs", "--bounding-set", set, NULL };
        g_autoptr(Worker) w = worker_start(NULL, wrapper);
        g_autoptr(TestVolume) v = volume_mount("capabilities", "ext4", 0);
        g_autofree char *locked = path_printf("%s/dir-1", v->target), *file = path_printf("%s/file-1", locked);
        g_autoptr(sd_bus) bus = worker_dial(w);
        const ChangeArguments a = live(v, LABEL_1);
        unsigned n;

        fill_tree(v->target, 3, 3);
        n = count_labelled(v->target, "");
        g_assert_cmpint(chmod(file, 0), ==, 0);
        g_assert_cmpint(chown(file, 1000, 1000), ==, 0);
        g_assert_cmpint(chmod(locked, 0), ==, 0);
        g_assert_cmpint(chown(locked, 1000, 1000), ==, 0);
        g_assert_cmpint(chown(v->target, 1000, 1000), ==, 0);

        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
        g_assert_cmpint(done.walk.counts.changed, ==, n);
        assert_record(v->target, STATE_COMPLETE, LABEL_1, false, 2);
        g_auto(Answer) verified = call_verify_depth(bus, v->target, LABEL_1, "full");
        assert_answer(verified, "ok");
        g_assert_true(verified.walk.matches);
}

/* A deep tree needs more descriptors than a process starts with. */
static void test_deep(void) {
        enum { DEPTH = 3000 };
        g_autoptr(TestVolume) v = volume_mount("deep", "ext4", 0);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const ChangeArguments a = live(v, LABEL_1);
        int fd = open(v->target, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        for (unsigned i = 0; i < DEPTH; i++) {
                int below;

                g_assert_cmpint(mkdirat(fd, "d", 0755), ==, 0);
                below = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
                g_assert_cmpint(below, >=, 0);
                close(fd);
                fd = below;
        }
        close(fd);
        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpint(done.walk.counts.failed, ==, 0);
        g_assert_cmpint(done.walk.counts.changed, ==, DEPTH + 2); /* and lost+found */
        g_assert_cmpint(umount2(v->target, 0), ==, 0);
        g_assert_cmpint(mount(v->device, v->target, "ext4", 0, NULL), ==, 0);
}

int main(int argc, char **argv) {
        static const char *const file_systems[] = { "ext4", "xfs", "btrfs", "tmpfs" };
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        worker = worker_start(NULL, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(file_systems); i++) {
                const char *fs_type = file_systems[i];
                g_autofree char *on_staged = path_printf("/relabel/staged/%s", fs_type),
                                *on_live = path_printf("/relabel/live/%s", fs_type);

                if (!g_str_equal(fs_type, "tmpfs"))
                        g_test_add_data_func(on_staged, fs_type, test_staged);
                g_test_add_data_func(on_live, fs_type, test_live);
        }
        g_test_add_func("/relabel/staged/only", test_staged_only);
        g_test_add_func("/relabel/record", test_record);
        g_test_add_func("/relabel/effect", test_effect);
        g_test_add_func("/relabel/limits", test_limits);
        g_test_add_func("/relabel/immutable", test_immutable);
        g_test_add_func("/relabel/stuck", test_stuck);
        g_test_add_func("/relabel/full", test_full);
        g_test_add_func("/relabel/mounts-inside", test_mounts_inside);
        g_test_add_func("/relabel/part", test_part);
        g_test_add_func("/relabel/subvolume", test_subvolume);
        g_test_add_func("/relabel/deep", test_deep);
        g_test_add_func("/relabel/capabilities", test_capabilities);
        r = g_test_run();
        worker_stop(worker);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volumes.h"

/* The verbs Change and Map with groups: what the volume says of itself afterwards, what is shown and what is on disk,
 * and what is refused. What becomes of each file is test-tree-owner's. */

static Worker *worker;

static ChangeArguments given(ChangeArguments a, gid_t gid) {
        a.owned = true;
        a.gid = gid;
        return a;
}

static gid_t group_of(const char *directory, const char *name) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        struct stat st;

        must(lstat(path, &st));
        return st.st_gid;
}

static void assert_root(const char *path, gid_t gid, mode_t mode) {
        struct stat st;

        must(lstat(path, &st));
        g_assert_cmpuint(st.st_gid, ==, gid);
        g_assert_cmpuint(st.st_mode & 07777, ==, mode);
}

/* What the record says of the group, and of the labels. */
static void assert_owned(const char *path, RecordState state, gid_t gid, RecordState label, uint64_t generation) {
        g_autofree char *text = get_record(path);
        VolumeRecord r;

        g_assert_nonnull(text);
        g_assert_cmpint(volume_record_parse(text, strlen(text), &r), ==, 0);
        g_assert_cmpint(r.ownership_state, ==, state);
        g_assert_cmpuint(r.gid, ==, gid);
        g_assert_cmpint(r.label_state, ==, label);
        g_assert_cmpuint(r.generation, ==, generation);
        volume_record_done(&r);
}

/* An image with a tree in it that belongs to root. */
static char *make_volume(const char *name, const char *fs_type, unsigned *ret_n) {
        g_autoptr(TestVolume) v = volume_mount(name, fs_type, 0);

        if (!v)
                return NULL;
        fill_tree(v->target, 3, 5);
        must(chmod(v->target, 0755));
        *ret_n = count_labelled(v->target, "");
        return g_strdup(v->image);
}

static void test_staged(gconstpointer data) {
        const char *fs_type = data;
        g_autofree char *image = NULL, *target = make_target("publish-here");
        unsigned n = 0;

        image = make_volume("owned", fs_type, &n);
        if (!image)
                return;
        const MountArguments a = { .source = image, .fs_type = fs_type, .target = target };
        const ChangeArguments group = given(staged(NULL), 1000);
        g_autoptr(sd_bus) bus = worker_dial(worker);

        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_assert_cmpuint(stage.outcome.root_gid, ==, 0);
        g_assert_cmpuint(stage.outcome.root_mode, ==, S_IFDIR | 0755);
        g_auto(Answer) done = call_change(bus, &group);
        assert_answer(done, "ok");
        g_assert_cmpuint(done.walk.counts.done, ==, n);
        g_assert_cmpuint(done.walk.counts.changed, ==, n);
        g_auto(Answer) published = call_publish(bus, "forget");
        assert_answer(published, "ok");
        g_assert_cmpuint(published.outcome.root_gid, ==, 1000);
        assert_root(target, 1000, 02775);
        assert_owned(target, STATE_COMPLETE, 1000, STATE_UNKNOWN, 2);
        g_assert_cmpuint(count_labelled(target, ""), ==, n);
        must(umount2(target, 0));
}

/* One walk for both; and each alone leaves what is known of the other. */
static void test_both(void) {
        g_autoptr(TestVolume) v = volume_mount("both", "ext4", 0);
        ChangeArguments a;
        unsigned n;

        fill_tree(v->target, 3, 5);
        n = count_labelled(v->target, "");
        g_autoptr(sd_bus) bus = worker_dial(worker);
        a = given(live(v, LABEL_1), 1000);
        g_auto(Answer) both = call_change(bus, &a);
        assert_answer(both, "ok");
        g_assert_cmpuint(both.walk.counts.changed, ==, n);
        g_assert_cmpuint(count_labelled(v->target, LABEL_1), ==, n);
        assert_owned(v->target, STATE_COMPLETE, 1000, STATE_COMPLETE, 2);

        a = live(v, LABEL_2);
        a.generation = 2;
        g_auto(Answer) labels = call_change(bus, &a);
        assert_answer(labels, "ok");
        assert_owned(v->target, STATE_COMPLETE, 1000, STATE_COMPLETE, 4);
        assert_root(v->target, 1000, 02775);

        a = given(live(v, NULL), 2000);
        a.generation = 4;
        g_auto(Answer) group = call_change(bus, &a);
        assert_answer(group, "ok");
        assert_owned(v->target, STATE_COMPLETE, 2000, STATE_COMPLETE, 6);
        g_assert_cmpuint(count_labelled(v->target, LABEL_2), ==, n);

        /* Somebody else has been at it since: what is not looked at is not known. */
        a.generation = 7;
        g_auto(Answer) behind = call_change(bus, &a);
        assert_answer(behind, "ok");
        g_assert_cmpuint(behind.walk.counts.changed, ==, 0);
        assert_owned(v->target, STATE_COMPLETE, 2000, STATE_UNKNOWN, 9);

        /* Nor does a walk for readers vouch for what it has not looked at. */
        a.generation = 20;
        a.read_only = true;
        g_auto(Answer) readers = call_change(bus, &a);
        assert_answer(readers, "ok");
        assert_owned(v->target, STATE_PARTIAL, 2000, STATE_UNKNOWN, 22);
}

/* Readers' modes are not enough for writers, but take nothing away. */
static void test_read_only_modes(void) {
        g_autoptr(TestVolume) v = volume_mount("modes", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "file", NULL);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = given(live(v, NULL), 1000);

        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        must(chmod(file, 0600));
        a.read_only = true;
        g_auto(Answer) readers = call_change(bus, &a);
        assert_answer(readers, "ok");
        assert_root(file, 1000, 0640);
        assert_owned(v->target, STATE_PARTIAL, 1000, STATE_UNKNOWN, 2);

        a.read_only = false;
        a.generation = 2;
        g_auto(Answer) writers = call_change(bus, &a);
        assert_answer(writers, "ok");
        assert_root(file, 1000, 0660);
        assert_owned(v->target, STATE_COMPLETE, 1000, STATE_UNKNOWN, 4);

        a.read_only = true;
        a.generation = 4;
        g_auto(Answer) again = call_change(bus, &a);
        assert_answer(again, "ok");
        g_assert_cmpuint(again.walk.counts.changed, ==, 0);
        assert_owned(v->target, STATE_PARTIAL, 1000, STATE_UNKNOWN, 6);
}

static void test_fails(void) {
        g_autoptr(TestVolume) v = volume_mount("fails", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "file", NULL);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = given(live(v, NULL), 1000);

        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        set_immutable(file, true);
        g_auto(Answer) failed = call_change(bus, &a);
        set_immutable(file, false);
        assert_answer(failed, "ok");
        g_assert_cmpuint(failed.walk.counts.failed, ==, 1);
        g_assert_cmpstr(failed.walk.issues[0].path, ==, "file");
        g_assert_nonnull(strstr(failed.walk.issues[0].text, "immutable"));
        assert_owned(v->target, STATE_PARTIAL, 1000, STATE_UNKNOWN, 1);
        assert_root(v->target, 0, 0755);

        a.generation = 1;
        g_auto(Answer) again = call_change(bus, &a);
        assert_answer(again, "ok");
        assert_owned(v->target, STATE_COMPLETE, 1000, STATE_UNKNOWN, 3);
}

static char *make_owned_volume(const char *name, const char *fs_type, gid_t gid) {
        g_autofree char *image = NULL, *target = make_target(name);
        const ChangeArguments group = given(staged(NULL), gid);
        MountArguments a = { .fs_type = fs_type, .target = target };
        g_autoptr(sd_bus) bus = worker_dial(worker);
        unsigned n = 0;

        image = make_volume(name, fs_type, &n);
        if (!image)
                return NULL;
        a.source = image;
        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) done = call_change(bus, &group);
        assert_answer(done, "ok");
        return TAKE_PTR(image);
}

/* Stages the image, swaps, publishes. */
static void mount_mapped(const char *image, const char *fs_type, const char *target, gid_t from, gid_t to) {
        const MountArguments a = { .source = image, .fs_type = fs_type, .target = target };
        g_autoptr(sd_bus) bus = worker_dial(worker);

        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) map = call_map(bus, from, to);
        assert_answer(map, "ok");
        g_assert_cmpint(map.mapped, ==, MAP_MAPPED);
        g_auto(Answer) twice = call_map(bus, from, to);
        assert_answer(twice, "NotSupported");
        g_auto(Answer) published = call_publish(bus, "keep");
        assert_answer(published, "ok");
        g_assert_cmpuint(published.outcome.root_gid, ==, to);
        g_assert_cmpstr(published.record, ==,
                        "version=1 generation=2 label=unknown tainted=no ownership=complete gid=1000 context=");
}

/* Nothing is written, whoever looks sees the wanted group, and what is new has the old one on disk. */
static void test_map(gconstpointer data) {
        const char *fs_type = data;
        g_autofree char *image = make_owned_volume("mapped", fs_type, 1000), *target = make_target("mapped-here"),
                        *file = g_build_filename(target, "new", NULL);

        if (!image)
                return;
        mount_mapped(image, fs_type, target, 1000, 2000);
        assert_root(target, 2000, 02775);
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        must(chmod(file, 0600));
        g_assert_cmpuint(group_of(target, "new"), ==, 2000);

        /* It is changed through the mount as it shows: on disk everything has the group that it had. */
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = { .target = target,
                              .mount_id = mount_id_of(target),
                              .owned = true,
                              .gid = 2000,
                              .disk_gid = 1000,
                              .generation = 2 };
        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_assert_cmpuint(done.walk.counts.changed, ==, 1);
        /* Nobody is believed who says that both are the same. */
        a.disk_gid = 2000;
        g_auto(Answer) lie = call_change(bus, &a);
        assert_answer(lie, "NotSupported");
        assert_message(lie, "idmapped");
        must(umount2(target, 0));

        const MountArguments plain = { .source = image, .fs_type = fs_type, .target = target };
        g_auto(Answer) mounted = call_mount(bus, &plain);
        assert_answer(mounted, "ok");
        g_assert_cmpuint(group_of(target, "new"), ==, 1000);
        assert_root(target, 1000, 02775);
        assert_owned(target, STATE_COMPLETE, 1000, STATE_UNKNOWN, 4);
        a.mount_id = mount_id_of(target);
        a.disk_gid = 1000;
        g_auto(Answer) other_lie = call_change(bus, &a);
        assert_answer(other_lie, "NotSupported");
        assert_message(other_lie, "not idmapped");
        must(umount2(target, 0));
}

/* A clone of an idmapped mount is idmapped; one of a plain one can be. */
static void test_map_shared(void) {
        g_autofree char *image = make_owned_volume("shared", "ext4", 1000), *plain = make_target("plain"),
                        *mapped = make_target("mapped-shared"), *clone = make_target("clone");
        const MountArguments first = { .source = image, .fs_type = "ext4", .target = plain };
        g_autoptr(sd_bus) bus = worker_dial(worker), other = worker_dial(worker);

        g_auto(Answer) mounted = call_mount(bus, &first);
        assert_answer(mounted, "ok");
        const MountArguments second = {
                .source = image, .fs_type = "ext4", .target = mapped, .share = plain, .share_id = mount_id_of(plain)
        };
        g_auto(Answer) stage = call_stage(bus, &second);
        assert_answer(stage, "ok");
        g_auto(Answer) map = call_map(bus, 1000, 2000);
        assert_answer(map, "ok");
        g_assert_cmpint(map.mapped, ==, MAP_MAPPED);
        g_auto(Answer) published = call_publish(bus, "keep");
        assert_answer(published, "ok");
        assert_root(plain, 1000, 02775);
        assert_root(mapped, 2000, 02775);

        const MountArguments third = {
                .source = image, .fs_type = "ext4", .target = clone, .share = mapped, .share_id = mount_id_of(mapped)
        };
        g_auto(Answer) again = call_stage(other, &third);
        assert_answer(again, "ok");
        g_assert_cmpuint(again.outcome.root_gid, ==, 2000);
        g_auto(Answer) remap = call_map(other, 1000, 3000);
        assert_answer(remap, "NotSupported");
        g_auto(Answer) cloned = call_publish(other, "keep");
        assert_answer(cloned, "ok");
        assert_root(clone, 2000, 02775);
        must(umount2(clone, 0));
        must(umount2(mapped, 0));
        must(umount2(plain, 0));
}

/* K9: what others have given away meanwhile is seen before groups are swapped. */
static void test_map_differs(void) {
        g_autofree char *image = make_owned_volume("differs", "ext4", 1000), *target = make_target("differs-here"),
                        *file = g_build_filename(target, "file", NULL);
        const MountArguments a = { .source = image, .fs_type = "ext4", .target = target };
        g_autoptr(sd_bus) bus = worker_dial(worker);

        g_auto(Answer) mounted = call_mount(bus, &a);
        assert_answer(mounted, "ok");
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        must(chown(file, 0, 3000));
        must(chmod(file, 0660));
        must(umount2(target, 0));
        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) map = call_map(bus, 1000, 2000);
        assert_answer(map, "ok");
        g_assert_cmpint(map.mapped, ==, MAP_DIFFERS);
        g_assert_cmpstr(map.text, ==, "file has group 3000 and mode 0660");
        /* It is as it was, and can be walked over. */
        const ChangeArguments group = given(staged(NULL), 2000);
        g_auto(Answer) done = call_change(bus, &group);
        assert_answer(done, "ok");
        g_auto(Answer) published = call_publish(bus, "keep");
        assert_answer(published, "ok");
        g_assert_cmpuint(group_of(target, "file"), ==, 2000);
        must(umount2(target, 0));
}

/* What pods have made keeps others out, which makes a walk necessary, or doesn't matter. */
static void test_map_modes(void) {
        g_autofree char *image = make_owned_volume("modes-differ", "ext4", 1000),
                        *target = make_target("modes-differ-here"), *file = g_build_filename(target, "file", NULL);
        const MountArguments a = { .source = image, .fs_type = "ext4", .target = target };
        const ChangeArguments group = given(staged(NULL), 2000);
        g_autoptr(sd_bus) bus = worker_dial(worker), other = worker_dial(worker);

        g_auto(Answer) mounted = call_mount(bus, &a);
        assert_answer(mounted, "ok");
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        must(chmod(file, 0600));
        must(umount2(target, 0));

        g_auto(Answer) again = call_stage(other, &a);
        assert_answer(again, "ok");
        g_auto(Answer) any = call_map_any_mode(other, 1000, 2000);
        assert_answer(any, "ok");
        g_assert_cmpint(any.mapped, ==, MAP_MAPPED);
        must(shutdown(sd_bus_get_fd(other), SHUT_WR));
        wait_for_end(other);

        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) modes = call_map(bus, 1000, 2000);
        assert_answer(modes, "ok");
        g_assert_cmpint(modes.mapped, ==, MAP_DIFFERS);
        g_assert_cmpstr(modes.text, ==, "file has group 1000 and mode 0600");
        g_auto(Answer) done = call_change(bus, &group);
        assert_answer(done, "ok");
        g_auto(Answer) published = call_publish(bus, "keep");
        assert_answer(published, "ok");
        assert_root(file, 2000, 0660);
        must(umount2(target, 0));
}

/* A reader beside a swap: the disk is mounted once more, as it is in use for writing. */
static void test_reader_beside(void) {
        g_autofree char *image = make_owned_volume("beside", "ext4", 1000), *mapped = make_target("beside-mapped"),
                        *reader = make_target("beside-reader");
        const MountArguments a = { .source = image, .fs_type = "ext4", .target = reader, .read_only = true };
        g_autoptr(sd_bus) bus = worker_dial(worker);

        mount_mapped(image, "ext4", mapped, 1000, 2000);
        g_auto(Answer) mounted = call_mount(bus, &a);
        assert_answer(mounted, "ok");
        g_assert_true(mounted.outcome.fact.read_only);
        g_assert_true(is_read_only(reader));
        assert_root(reader, 1000, 02775);
        assert_root(mapped, 2000, 02775);
        must(umount2(reader, 0));
        must(umount2(mapped, 0));
}

static void test_map_unsupported(void) {
        g_autofree char *target = make_target("ramfs");
        const MountArguments a = { .source = "tmpfs", .fs_type = "tmpfs", .target = target };
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const ChangeArguments group = given(staged(NULL), 1000);

        g_auto(Answer) nothing = call_map(bus, 1000, 2000);
        assert_answer(nothing, "NotSupported");
        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) same = call_map(bus, 1000, 1000);
        assert_answer(same, "InvalidOption");
        g_auto(Answer) none = call_map(bus, GID_NONE, 1000);
        assert_answer(none, "InvalidOption");
        g_auto(Answer) owned = call_change(bus, &group);
        assert_answer(owned, "ok");
        /* Linux 6.3 and later can. */
        g_auto(Answer) map = call_map(bus, 1000, 2000);
        assert_answer(map, "ok");
        if (map.mapped == MAP_UNSUPPORTED)
                g_assert_nonnull(strstr(map.text, "EINVAL of a mount of tmpfs"));
        else
                g_assert_cmpint(map.mapped, ==, MAP_MAPPED);
}

static void test_refused(void) {
        g_autoptr(TestVolume) v = volume_mount("refused", "ext4", MS_RDONLY);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = given(live(v, NULL), 1000);

        g_auto(Answer) read_only = call_change(bus, &a);
        assert_answer(read_only, "NotSupported");
        assert_message(read_only, "read-only");
        a.owned = false;
        g_auto(Answer) nothing = call_change(bus, &a);
        assert_answer(nothing, "InvalidOption");
        a.disk_gid = 1000;
        g_auto(Answer) half = call_change(bus, &a);
        assert_answer(half, "InvalidOption");
}

/* Depth root looks at labels only; beneath, groups and modes too, as the mount shows them. */
static void test_verify(void) {
        g_autoptr(TestVolume) v = volume_mount("verify", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "dir", "file", NULL),
                        *directory = g_path_get_dirname(file);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const ChangeArguments a = given(live(v, LABEL_1), 1000);

        must(mkdir(directory, 0755));
        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        g_auto(Answer) done = call_change(bus, &a);
        assert_answer(done, "ok");
        g_auto(Answer) right = call_verify_group(bus, v->target, LABEL_1, "full", 1000);
        assert_answer(right, "ok");
        g_assert_true(right.walk.matches);
        g_assert_cmpuint(right.walk.counts.misowned, ==, 0);

        must(chmod(file, 0600));
        for (int i = 0; i < 2; i++) {
                static const char *const depths[] = { "root", "full" };
                g_auto(Answer) wrong = call_verify_group(bus, v->target, LABEL_1, depths[i], 1000);
                g_auto(Answer) not_asked = call_verify_group(bus, v->target, LABEL_1, depths[i], GID_NONE);

                assert_answer(wrong, "ok");
                g_assert_true(wrong.walk.matches);
                g_assert_cmpuint(wrong.walk.counts.misowned > 0, ==, i > 0);
                g_assert_cmpuint(not_asked.walk.counts.misowned, ==, 0);
                if (i == 0)
                        continue;
                g_assert_cmpstr(wrong.walk.issues[0].path, ==, "dir/file");
                g_assert_cmpstr(wrong.walk.issues[0].text, ==, "has group 1000 and mode 0600");
        }
}

/* With what the unit leaves the worker, and no more. */
static void test_capabilities(void) {
        g_autofree char *capabilities = read_capabilities(), *image = NULL, *target = make_target("capable");
        const char *const wrapper[] = { "setpriv", "--bounding-set", capabilities, "--inh-caps", capabilities, NULL };
        g_autoptr(Worker) bounded = worker_start(NULL, wrapper);
        const ChangeArguments group = given(staged(NULL), 1000);
        unsigned n = 0;

        image = make_volume("capable", "ext4", &n);
        const MountArguments a = { .source = image, .fs_type = "ext4", .target = target };
        g_autoptr(sd_bus) bus = worker_dial(bounded);

        g_auto(Answer) stage = call_stage(bus, &a);
        assert_answer(stage, "ok");
        g_auto(Answer) done = call_change(bus, &group);
        assert_answer(done, "ok");
        g_assert_cmpuint(done.walk.counts.failed, ==, 0);
        g_auto(Answer) map = call_map(bus, 1000, 2000);
        assert_answer(map, "ok");
        g_assert_cmpint(map.mapped, ==, MAP_MAPPED);
        g_auto(Answer) published = call_publish(bus, "keep");
        assert_answer(published, "ok");
        assert_root(target, 2000, 02775);
        must(umount2(target, 0));
}

int main(int argc, char **argv) {
        static const char *const types[] = { "ext4", "xfs", "btrfs" };

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;
        worker = worker_start(NULL, NULL);
        for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
                g_autofree char *s = g_strconcat("/ownership/staged/", types[i], NULL),
                                *m = g_strconcat("/ownership/map/", types[i], NULL);

                g_test_add_data_func(s, types[i], test_staged);
                g_test_add_data_func(m, types[i], test_map);
        }
        g_test_add_func("/ownership/both", test_both);
        g_test_add_func("/ownership/read-only-modes", test_read_only_modes);
        g_test_add_func("/ownership/fails", test_fails);
        g_test_add_func("/ownership/map-shared", test_map_shared);
        g_test_add_func("/ownership/map-differs", test_map_differs);
        g_test_add_func("/ownership/map-modes", test_map_modes);
        g_test_add_func("/ownership/reader-beside", test_reader_beside);
        g_test_add_func("/ownership/map-unsupported", test_map_unsupported);
        g_test_add_func("/ownership/refused", test_refused);
        g_test_add_func("/ownership/verify", test_verify);
        g_test_add_func("/ownership/capabilities", test_capabilities);

        int r = g_test_run();
        worker_stop(worker);
        return r;
}

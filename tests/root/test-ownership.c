/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "volumes.h"

/* The worker gives the files of a volume to a group, or shows them with the group. The tests check the mark,
 * the group that a mount shows, and the group on disk. test-tree-owner has the rules for each file. */

static void assert_root(const char *path, gid_t gid, mode_t mode) {
        struct stat st;

        must(lstat(path, &st));
        g_assert_cmpuint(st.st_gid, ==, gid);
        g_assert_cmpuint(st.st_mode & 07777, ==, mode);
}

static void make_file(const char *path, gid_t gid, mode_t mode) {
        g_assert_true(g_file_set_contents(path, "x", 1, NULL));
        must(chown(path, 0, gid));
        must(chmod(path, mode));
}

/* Makes an image with a tree that belongs to root. */
static char *make_volume(const char *name, const char *fs_type, unsigned *ret_n) {
        g_autoptr(TestVolume) v = volume_mount(name, fs_type, 0);

        fill_tree(v->target, 3, 5);
        must(chmod(v->target, 0755));
        *ret_n = count_labeled(v->target, "");
        return g_strdup(v->image);
}

/* All files of the volume have group 1000. */
static char *make_owned_volume(const char *name, const char *fs_type) {
        g_autofree char *target = make_target(name);
        unsigned n = 0;
        char *image = make_volume(name, fs_type, &n);

        assert_ok(mount_with(worker, image, fs_type, target, .files = wanted_group(1000)));
        must(umount2(target, 0));
        return image;
}

static Answer mount_for(const char *image, const char *fs_type, const char *target, gid_t gid) {
        return mount_with(worker, image, fs_type, target, .files = wanted_group(gid),
                          .history = mark_history_of(image, fs_type));
}

static void assert_groups(const Answer *a, OwnershipAction action, OwnershipReason reason, gid_t gid,
                          gid_t disk_gid) {
        g_assert_cmpstr(ownership_action_to_string(a->files.ownership), ==, ownership_action_to_string(action));
        g_assert_cmpstr(ownership_reason_to_string(a->files.ownership_reason), ==,
                        ownership_reason_to_string(reason));
        g_assert_cmpuint(a->files.gid, ==, gid);
        g_assert_cmpuint(a->files.disk_gid, ==, disk_gid);
        g_assert_cmpint(a->walked, ==, action == OWNERSHIP_WALK);
        if (a->heard.n_ready > 0) {
                g_assert_cmpuint(a->heard.ready.gid, ==, gid);
                g_assert_cmpuint(a->heard.ready.disk_gid, ==, disk_gid);
        }
}

TEST_DISKS(test_mount, "/ownership/mount", "ext4", "xfs", "btrfs") {
        g_autofree char *image = NULL, *target = make_target("publish-here");
        unsigned n = 0;

        image = make_volume("owned", fs_type, &n);
        g_auto(Answer) done = expect_ok(
                mount_with(worker, image, fs_type, target, .change = MARK_RESET_LABELS, .files = wanted_group(1000)));
        assert_groups(&done, OWNERSHIP_WALK, OWNERSHIP_UNKNOWN, 1000, 1000);
        assert_counts(done.walk.counts, .done = n, .changed = n);
        g_assert_cmpuint(done.outcome.root_gid, ==, 1000);
        g_assert_cmpuint(done.outcome.root_mode, ==, S_IFDIR | 02775);
        assert_root(target, 1000, 02775);
        assert_mark(target, MARK_GROUP("complete", "1000"));
        g_assert_cmpuint(count_labeled(target, ""), ==, n);
        must(umount2(target, 0));

        g_auto(Answer) again = expect_ok(mount_for(image, fs_type, target, 1000));
        assert_groups(&again, OWNERSHIP_SKIP, OWNERSHIP_COMPLETE, 1000, 1000);
        must(umount2(target, 0));
}

/* One walk sets labels and group. A walk for one of them leaves the other in the mark. */
TEST(test_both, "/ownership/both") {
        g_autoptr(TestVolume) v = volume_mount("both", "ext4", 0);
        Arguments a = live(v, wanted_group(1000));
        unsigned n;

        n = fill_tree(v->target, 3, 5);
        a.files.context = (char *) LABEL_1;
        a.files.on_disk = true;
        assert_says(call_change(worker, &a), walk.counts.changed, ==, n);
        g_assert_cmpuint(count_labeled(v->target, LABEL_1), ==, n);
        assert_mark(v->target, "label=complete tainted=no ownership=complete gid=1000 context=" LABEL_1);

        a.files = wanted_labels(LABEL_2);
        assert_ok(call_change(worker, &a));
        assert_mark(v->target, "label=complete tainted=no ownership=complete gid=1000 context=" LABEL_2);
        assert_root(v->target, 1000, 02775);

        a.files = wanted_group(2000);
        a.files.on_disk = true;
        g_auto(Answer) group = expect_ok(call_change(worker, &a));
        assert_groups(&group, OWNERSHIP_WALK, OWNERSHIP_REQUESTED, 2000, 2000);
        assert_mark(v->target, "label=complete tainted=no ownership=complete gid=2000 context=" LABEL_2);
        g_assert_cmpuint(count_labeled(v->target, LABEL_2), ==, n);

        /* The mark knows nothing, so the worker looks at all groups. It still knows no labels afterwards. */
        set_mark(v->target, MARK_NOTHING);
        assert_says(call_change(worker, &a), walk.counts.changed, ==, 0);
        assert_mark(v->target, MARK_GROUP("complete", "2000"));
}

/* The modes for readers are not enough for writers. A walk for readers keeps the modes for writers. */
TEST(test_readers, "/ownership/readers") {
        g_autoptr(TestVolume) v = volume_mount("modes", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "file", NULL);
        Arguments a = live(v, wanted_group(1000));

        make_file(file, 0, 0600);
        a.files.readers = true;
        assert_ok(call_change(worker, &a));
        assert_root(file, 1000, 0640);
        assert_mark(v->target, MARK_GROUP("partial", "1000"));

        a.files.readers = false;
        g_auto(Answer) writers = expect_ok(call_change(worker, &a));
        assert_groups(&writers, OWNERSHIP_WALK, OWNERSHIP_PARTIAL, 1000, 1000);
        assert_root(file, 1000, 0660);
        assert_mark(v->target, MARK_GROUP("complete", "1000"));

        a.files.readers = true;
        g_auto(Answer) enough = expect_ok(call_change(worker, &a));
        assert_groups(&enough, OWNERSHIP_SKIP, OWNERSHIP_COMPLETE, 1000, 1000);
        assert_mark(v->target, MARK_GROUP("complete", "1000"));

        a.files.force = true;
        assert_says(call_change(worker, &a), walk.counts.changed, ==, 0);
        assert_mark(v->target, MARK_GROUP("partial", "1000"));
}

TEST(test_fails, "/ownership/fails") {
        g_autoptr(TestVolume) v = volume_mount("fails", "ext4", 0);
        g_autofree char *file = g_build_filename(v->target, "file", NULL);
        const Arguments a = live(v, wanted_group(1000));

        g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        set_immutable(file, true);
        g_auto(Answer) failed = call_change(worker, &a);
        set_immutable(file, false);
        assert_answer(failed, "ok");
        g_assert_cmpuint(failed.walk.counts.failed, ==, 1);
        g_assert_cmpstr(failed.walk.issues[0].path, ==, "file");
        g_assert_nonnull(strstr(failed.walk.issues[0].text, "immutable"));
        assert_mark(v->target, MARK_GROUP("partial", "1000"));
        assert_root(v->target, 0, 0755);

        assert_ok(call_change(worker, &a));
        assert_mark(v->target, MARK_GROUP("complete", "1000"));
}

/* The worker writes no file. The mount shows the wanted group, and a new file has the old group on disk. */
TEST_DISKS(test_map, "/ownership/map", "ext4", "xfs", "btrfs") {
        g_autofree char *image = make_owned_volume("mapped", fs_type), *target = make_target("mapped-here"),
                        *file = g_build_filename(target, "new", NULL);
        Arguments a = { .target = target, .files = wanted_group(2000) };

        g_auto(Answer) mapped = expect_ok(mount_for(image, fs_type, target, 2000));
        assert_groups(&mapped, OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP, 2000, 1000);
        g_assert_cmpuint(mapped.heard.n_walks, ==, 0);
        g_assert_cmpuint(mapped.outcome.root_gid, ==, 2000);
        g_assert_true(mapped.outcome.idmapped);
        assert_mark(target, MARK_GROUP("complete", "1000"));
        assert_root(target, 2000, 02775);
        make_file(file, 2000, 0600);
        assert_root(file, 2000, 0600);

        /* A change through the mount gives the group that it shows, so on disk the files have the old one. */
        a.share_id = mount_id_of(target);
        a.files.swapped_gid = 1000;
        a.files.force = true;
        g_auto(Answer) done = expect_ok(call_change(worker, &a));
        assert_groups(&done, OWNERSHIP_WALK, OWNERSHIP_FORCED, 2000, 1000);
        g_assert_cmpuint(done.walk.counts.changed, ==, 1);
        /* The worker refuses if selvold says that the mount swaps no groups. */
        a.files.swapped_gid = GID_NONE;
        assert_fails(call_change(worker, &a), "NotSupported", "idmapped");
        must(umount2(target, 0));

        assert_says(mount_with(worker, image, fs_type, target), outcome.idmapped, ==, false);
        assert_root(file, 1000, 0660);
        assert_root(target, 1000, 02775);
        assert_mark(target, MARK_GROUP("complete", "1000"));
        a.share_id = mount_id_of(target);
        a.files.swapped_gid = 1000;
        assert_fails(call_change(worker, &a), "NotSupported", "not idmapped");
        must(umount2(target, 0));
}

/* A clone of an idmapped mount is idmapped. A clone of a plain mount can become idmapped. */
TEST(test_map_shared, "/ownership/map-shared") {
        g_autofree char *image = make_owned_volume("shared", "ext4"), *plain = make_target("plain"),
                        *mapped = make_target("mapped-shared"), *clone = make_target("clone");
        Arguments a = { .source = image, .fs_type = "ext4", .target = plain };

        assert_ok(call_mount(worker, &a));
        a.target = mapped;
        a.share = plain;
        a.share_id = mount_id_of(plain);
        a.files = wanted_group(2000);
        g_auto(Answer) second = expect_ok(call_mount(worker, &a));
        assert_groups(&second, OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP, 2000, 1000);
        assert_root(plain, 1000, 02775);
        assert_root(mapped, 2000, 02775);

        a.target = clone;
        a.share = mapped;
        a.share_id = mount_id_of(mapped);
        a.files.swapped_gid = 1000;
        g_auto(Answer) third = expect_ok(call_mount(worker, &a));
        assert_groups(&third, OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP, 2000, 1000);
        g_assert_cmpuint(third.outcome.root_gid, ==, 2000);
        assert_root(clone, 2000, 02775);
        must(umount2(clone, 0));

        /* A clone of the mapped mount can't show a third group, so the worker mounts the disk once more. */
        a.files = wanted_group(3000);
        g_auto(Answer) other = call_mount(worker, &a);
        if (stages_in_namespace()) {
                assert_answer(other, "NotSupported");
                assert_message(other, "idmapped");
                g_assert_false(is_mounted(clone));
        } else {
                assert_answer(other, "ok");
                assert_root(clone, 3000, 02775);
                must(umount2(clone, 0));
        }
        must(umount2(mapped, 0));
        must(umount2(plain, 0));
}

/* K9: others have changed the group or the mode of a file. The worker sees that before it maps. */
TEST(test_map_differs, "/ownership/map-differs") {
        static const struct {
                gid_t gid;
                mode_t mode;
                const char *detail;
        } rows[] = {
                { 3000, 0660, "file has group 3000 and mode 0660" },
                { 1000, 0600, "file has group 1000 and mode 0600" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *image = make_owned_volume("differs", "ext4"), *target = make_target("differs-here"),
                                *file = g_build_filename(target, "file", NULL);

                assert_ok(mount_with(worker, image, "ext4", target));
                make_file(file, rows[i].gid, rows[i].mode);
                must(umount2(target, 0));

                g_auto(Answer) walked = expect_ok(mount_for(image, "ext4", target, 2000));
                assert_groups(&walked, OWNERSHIP_WALK, OWNERSHIP_FILES_DIFFER, 2000, 2000);
                g_assert_cmpstr(walked.detail, ==, rows[i].detail);
                g_assert_cmpuint(walked.heard.n_walks, ==, 1);
                g_assert_cmpint(walked.heard.begun.ownership_state, ==, FILES_PARTIAL);
                assert_root(file, 2000, 0660);
                assert_mark(target, MARK_GROUP("complete", "2000"));
                must(umount2(target, 0));
        }
}

static Arguments map_only_at(const char *image, const char *target) {
        Arguments a = volume_at(image, "ext4", target, .read_only = true, .files = wanted_group(2000));

        a.files.ownership = OWNERSHIP_MAP;
        a.files.readers = true;
        return a;
}

/* The worker may map, but change no file. */
TEST(test_map_only, "/ownership/map-only") {
        g_autofree char *image = make_owned_volume("map-only", "ext4"), *target = make_target("map-only-here"),
                        *file = g_build_filename(target, "file", NULL);
        Arguments a = map_only_at(image, target);

        g_auto(Answer) mapped = expect_ok(call_mount(worker, &a));
        assert_groups(&mapped, OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP, 2000, 1000);
        assert_root(target, 2000, 02775);
        g_assert_true(is_read_only(target));
        must(umount2(target, 0));

        assert_ok(mount_with(worker, image, "ext4", target));
        make_file(file, 3000, 0660);
        must(umount2(target, 0));
        g_auto(Answer) differs = expect_ok(call_mount(worker, &a));
        assert_groups(&differs, OWNERSHIP_NONE, OWNERSHIP_READ_ONLY, GID_NONE, GID_NONE);
        assert_root(target, 1000, 02775);
        assert_root(file, 3000, 0660);
        assert_mark(target, MARK_GROUP("complete", "1000"));
        must(umount2(target, 0));
}

/* The worker looks at some files before it maps. It does not wait between them, as a walk does. */
TEST(test_map_only_at_once, "/ownership/map-only/at-once") {
        static const char log[] = TEST_DIR "/waits";
        g_autofree char *image = make_owned_volume("at-once", "ext4"), *target = make_target("at-once-here");
        g_autoptr(Worker) traced = worker_start_logged("trace=nanosleep,clock_nanosleep", log);
        Arguments a = map_only_at(image, target);
        VerifyCall walk = verify_labels(target, LABEL_1, VERIFY_FULL);

        if (!traced)
                return;
        a.entries_per_sec = 1;
        g_auto(Answer) mapped = expect_ok(call_mount(traced, &a));
        assert_groups(&mapped, OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP, 2000, 1000);
        g_assert_cmpuint(file_count_lines(log, "*nanosleep*"), ==, 0);
        walk.entries_per_sec = 100;
        assert_ok(call_verify(traced, &walk));
        g_assert_cmpuint(file_count_lines(log, "*nanosleep*"), >, 0);
        must(umount2(target, 0));
}

/* The new mount is read-only, but another one is writable, so the worker resets a wrong mark. */
TEST(test_map_only_beside, "/ownership/map-only-beside") {
        g_autofree char *image = make_owned_volume("map-beside", "ext4"), *target = make_target("map-beside-here"),
                        *writer = make_target("map-beside-writer"), *file = g_build_filename(writer, "file", NULL);
        const Arguments a = map_only_at(image, target);

        assert_ok(mount_with(worker, image, "ext4", writer));
        make_file(file, 3000, 0660);
        g_auto(Answer) differs = expect_ok(call_mount(worker, &a));
        g_assert_true(is_read_only(target));
        assert_told(&differs, target);
        assert_mark(target, MARK_NOTHING);
        must(umount2(target, 0));
        must(umount2(writer, 0));
}

/* The worker mounts the disk once more for a reader, as a clone of the mapped mount would be mapped, too. */
TEST(test_reader_beside, "/ownership/reader-beside") {
        g_autofree char *image = make_owned_volume("beside", "ext4"), *mapped = make_target("beside-mapped"),
                        *reader = make_target("beside-reader");

        assert_ok(mount_for(image, "ext4", mapped, 2000));
        assert_says(mount_with(worker, image, "ext4", reader, .read_only = true), outcome.fact.read_only, ==, true);
        g_assert_true(is_read_only(reader));
        assert_root(reader, 1000, 02775);
        assert_root(mapped, 2000, 02775);
        must(umount2(reader, 0));
        must(umount2(mapped, 0));
}

/* The kernel can't idmap an ext3, so the worker gives the files to the group. */
TEST(test_map_unsupported, "/ownership/map-unsupported") {
        g_autofree char *image = make_owned_volume("no-idmap", "ext3"), *target = make_target("no-idmap-here");

        g_auto(Answer) mounted = expect_ok(mount_for(image, "ext3", target, 2000));
        assert_groups(&mounted, OWNERSHIP_WALK, OWNERSHIP_NO_IDMAP, 2000, 2000);
        g_assert_nonnull(strstr(mounted.detail, "EINVAL of a mount of ext3"));
        assert_root(target, 2000, 02775);
        must(umount2(target, 0));
}

/* Another pod relies on the group of the files. The worker may map, but not walk. */
TEST(test_reliance, "/ownership/reliance") {
        g_autofree char *image = make_owned_volume("relied-on", "ext4"), *target = make_target("relied-on-here");
        const Reliance other = { .gid = 1000, .use = (char *) "pod-1", .end = (char *) "Stop it" },
                       same = { .gid = 2000, .use = (char *) "pod-2", .end = (char *) "Stop it" };
        Arguments a =
                volume_at(image, "ext4", target, .files = wanted_group(2000), .reliances = &other, .n_reliances = 1);

        a.files.user_namespace = true;
        g_auto(Answer) refused = expect(call_mount(worker, &a), "GroupConflict", "pod-1");
        /* The second question is whether the pod still relies on it. */
        g_assert_cmpuint(refused.heard.n_plans, ==, 2);
        g_assert_false(is_mounted(target));

        a.files.user_namespace = false;
        g_auto(Answer) mapped = expect_ok(call_mount(worker, &a));
        assert_groups(&mapped, OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP, 2000, 1000);
        assert_mark(target, MARK_GROUP("complete", "1000"));
        must(umount2(target, 0));

        a.files.user_namespace = true;
        a.reliances = &same;
        g_auto(Answer) agreed = expect_ok(call_mount(worker, &a));
        assert_groups(&agreed, OWNERSHIP_WALK, OWNERSHIP_USER_NAMESPACE, 2000, 2000);
        must(umount2(target, 0));
}

/* The other pod has gone when the worker asks selvold once more. */
TEST(test_reliance_ends, "/ownership/reliance-ends") {
        g_autofree char *image = make_owned_volume("relied-on-no-more", "ext4"),
                        *target = make_target("no-more-here");
        const Reliance other = { .gid = 1000, .use = (char *) "pod-1", .end = (char *) "Stop it" };
        Arguments a = volume_at(image, "ext4", target, .files = wanted_group(2000), .reliances = &other,
                                .n_reliances = 1, .reliances_end = true);

        a.files.user_namespace = true;
        g_auto(Answer) walked = expect_ok(call_mount(worker, &a));
        g_assert_cmpuint(walked.heard.n_plans, ==, 2);
        assert_groups(&walked, OWNERSHIP_WALK, OWNERSHIP_USER_NAMESPACE, 2000, 2000);
        must(umount2(target, 0));
}

TEST(test_refused, "/ownership/refused") {
        g_autoptr(TestVolume) v = volume_mount("refused", "ext4", MS_RDONLY);
        Arguments a = live(v, wanted_group(1000));

        assert_fails(call_change(worker, &a), "NotSupported", "read-only");
        a.files.gid = GID_NONE;
        assert_fails(call_change(worker, &a), "InvalidOption");
        a.files.ownership = OWNERSHIP_OPTION;
        assert_fails(call_change(worker, &a), "InvalidOption");
}

/* The worker has only the capabilities that the unit leaves it. */
TEST(test_capabilities, "/ownership/capabilities") {
        g_autofree char *capabilities = read_capabilities(), *image = NULL, *target = make_target("capable");
        const char *const wrapper[] = { "setpriv", "--bounding-set", capabilities, "--inh-caps", capabilities, NULL };
        g_autoptr(Worker) bounded = worker_start(NULL, wrapper);
        const gid_t gids[] = { 1000, 2000 };
        unsigned n = 0;

        image = make_volume("capable", "ext4", &n);
        for (size_t i = 0; i < G_N_ELEMENTS(gids); i++) {
                g_auto(Answer) mounted =
                        expect_ok(mount_with(bounded, image, "ext4", target, .files = wanted_group(gids[i])));
                g_assert_cmpuint(mounted.walk.counts.failed, ==, 0);
                assert_groups(&mounted, i == 0 ? OWNERSHIP_WALK : OWNERSHIP_MAP,
                              i == 0 ? OWNERSHIP_UNKNOWN : OWNERSHIP_OTHER_GROUP, gids[i], 1000);
                assert_root(target, gids[i], 02775);
                must(umount2(target, 0));
        }
}

/* btrfs has a CRC-32C of each node. */
static uint32_t checksum(const void *data, size_t n) {
        uint32_t c = UINT32_MAX;

        for (const uint8_t *p = data; n > 0; p++, n--) {
                c ^= *p;
                for (unsigned i = 0; i < 8; i++)
                        c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
        }
        return ~c;
}

/* An entry of a directory of ext4 has the length and the type of the file just before the name. */
enum { TYPE_FILE = 1, TYPE_DIRECTORY = 2, TYPE_LINK = 7 };

static bool change_type(char *bytes, gsize n, const char *name, char type, char new_type) {
        g_autofree char *entry = g_strdup_printf("%c%c%s", (int) strlen(name), type, name);
        char *at = memmem(bytes, n, entry, strlen(entry));

        if (at)
                at[1] = new_type;
        return at;
}

static void lie_of_ext4(char *bytes, gsize n) {
        g_assert_true(change_type(bytes, n, "concealed", TYPE_DIRECTORY, TYPE_FILE));
}

static void lie_of_file(char *bytes, gsize n) {
        g_assert_true(change_type(bytes, n, "pretender", TYPE_FILE, TYPE_DIRECTORY) ||
                      change_type(bytes, n, "pretender", TYPE_LINK, TYPE_DIRECTORY));
}

/* A node of btrfs has each name twice, and each node has a copy. The kernel reads a directory by the first
 * entry of a name. It looks names up by the second one, whose type it compares with the inode. */
static void lie_of_btrfs(char *bytes, gsize n) {
        enum { NODE = 16384, SUMMED = 32 };
        static const char name[] = "\t\0\002concealed";
        unsigned lies = 0;

        for (char *node = bytes; node + NODE <= bytes + n; node += NODE) {
                char *at = memmem(node, NODE, name, sizeof(name) - 1);
                uint32_t sum;

                if (!at || memcmp(node, &(uint32_t){ checksum(node + SUMMED, NODE - SUMMED) }, sizeof(sum)) != 0)
                        continue;
                at[2] = 1;
                sum = checksum(node + SUMMED, NODE - SUMMED);
                memcpy(node, &sum, sizeof(sum));
                lies++;
        }
        g_assert_cmpuint(lies, >, 0);
}

static void edit(const char *image, void (*change)(char *bytes, gsize n)) {
        g_autofree char *bytes = NULL;
        gsize n;

        g_assert_true(g_file_get_contents(image, &bytes, &n, NULL));
        change(bytes, n);
        g_assert_true(g_file_set_contents_full(image, bytes, (gssize) n, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* links is the new link count of the root. btrfs has no such count: it says 1 for each directory. */
static void tell_lies(const char *image, const char *fs_type, const char *links) {
        g_autofree char *sif = g_strdup_printf("sif / links_count %s", links),
                        *write = g_strdup_printf("write core.nlinkv2 %s", links);

        if (g_str_equal(fs_type, "ext4")) {
                edit(image, lie_of_ext4);
                g_assert_true(run("debugfs", "-w", "-R", sif, image, NULL));
        } else if (g_str_equal(fs_type, "xfs"))
                g_assert_true(run("xfs_db", "-x", "-c", "sb 0", "-c", "addr rootino", "-c",
                                  "write u3.sfdir3.list[0].filetype 1", "-c", write, image, NULL));
        else
                edit(image, lie_of_btrfs);
}

/* Each change and a verify report the entry, and the worker publishes no mount. */
static void assert_damaged(const char *image, const char *fs_type, const char *target, const char *entry,
                           const FilesWanted *wanted, size_t n) {
        for (size_t i = 0; i < n; i++) {
                g_auto(Answer) changed = expect_ok(mount_with(worker, image, fs_type, target, .files = wanted[i]));
                g_assert_cmpuint(changed.walk.counts.failed, ==, 1);
                g_assert_cmpstr(changed.walk.issues[0].path, ==, entry);
                g_assert_nonnull(strstr(changed.walk.issues[0].text, "damaged"));
                g_assert_false(is_mounted(target));
        }
        g_assert_true(run("mount", "-o", "loop", image, target, NULL));
        note_mount(target);
        g_auto(Answer) verified = call_verify_labels(worker, target, LABEL_1, VERIFY_FULL);
        must(umount2(target, 0));
        assert_answer(verified, "ok");
        g_assert_false(verified.matches);
        g_assert_cmpuint(verified.walk.counts.mismatched, ==, 0);
        g_assert_cmpuint(verified.walk.counts.failed, ==, 1);
}

/* The root says that a directory is a file, so a walk would not enter the directory. The labels of both are
 * right. The worker reports the entry, whatever link count the root has. */
TEST_DISKS(test_lie, "/ownership/lie", "ext4", "xfs", "btrfs") {
        static const char *const links[] = { "3", "2", "1" };
        const FilesWanted wanted[] = { wanted_group(4242), wanted_labels(LABEL_1), wanted_labels(LABEL_2) };
        const bool ext4 = g_str_equal(fs_type, "ext4");
        const uint64_t size = ext4 ? 8 : g_str_equal(fs_type, "xfs") ? 320 : 128;

        for (size_t l = 0; l < G_N_ELEMENTS(links); l++) {
                g_autofree char *image = path_printf(TEST_IMAGES "/lie-%s-%s", fs_type, links[l]),
                                *target = make_target("lie"), *directory = path_printf("%s/concealed", target),
                                *file = path_printf("%s/inner", directory),
                                *lost = path_printf("%s/lost+found", target);

                g_assert_true(image_make(image, size << 20, fs_type, ext4 ? "-O" : NULL, "^metadata_csum", NULL));
                g_assert_true(run("mount", "-o", "loop", image, target, NULL));
                (void) rmdir(lost);
                must(mkdir(directory, 0755));
                g_assert_true(g_file_set_contents(file, "x", 1, NULL));
                set_label(directory, LABEL_1);
                set_label(target, LABEL_1);
                must(umount2(target, 0));
                tell_lies(image, fs_type, links[l]);
                assert_damaged(image, fs_type, target, "concealed", wanted, G_N_ELEMENTS(wanted));
                if (g_str_equal(fs_type, "btrfs")) /* without a link count there is one case */
                        break;
        }
}

/* The root says that a file, or a link, is a directory. */
TEST_WORDS(test_lie_of_file, "/ownership/lie", word, "of-file", "of-link") {
        const char *points_to = g_str_equal(word, "of-link") ? "." : NULL;
        const FilesWanted wanted[] = { wanted_group(4242), wanted_labels(LABEL_1) };
        g_autofree char *image = path_printf(TEST_IMAGES "/lie-file"), *target = make_target("lie"),
                        *file = path_printf("%s/pretender", target), *lost = path_printf("%s/lost+found", target);

        g_assert_true(image_make(image, 8 << 20, "ext4", "-O", "^metadata_csum", NULL));
        g_assert_true(run("mount", "-o", "loop", image, target, NULL));
        must(rmdir(lost));
        if (points_to)
                must(symlink(points_to, file));
        else
                g_assert_true(g_file_set_contents(file, "x", 1, NULL));
        set_label(target, LABEL_1);
        must(umount2(target, 0));
        edit(image, lie_of_file);
        assert_damaged(image, "ext4", target, "pretender", wanted, G_N_ELEMENTS(wanted));
}

/* Each directory of the chain has two names in the one above it: some 60 inodes look like 2^30 directories.
 * Or a directory has a second name elsewhere. The walk ends, and names one of them. */
TEST_WORDS(test_forged, "/ownership/forged", word, "doubled", "doubled-uncounted", "elsewhere") {
        const bool doubled = g_str_has_prefix(word, "doubled"), counted = !g_str_has_suffix(word, "uncounted");
        const FilesWanted wanted[] = { wanted_group(4242), wanted_labels(LABEL_1) };
        g_autofree char *image = path_printf(TEST_IMAGES "/forged-%s", word), *target = make_target("forged"),
                        *script = NULL;
        g_autoptr(GString) commands = g_string_new(doubled ? "" : "mkdir /a\nmkdir /a/x\nmkdir /c\nln /a/x /c/x\n");

        for (int i = 0; doubled && i < 30; i++)
                g_string_append(commands, "mkdir a\nln a b\ncd a\n");
        /* The file system says that all its inodes are free. */
        if (!counted)
                g_string_append(commands, "set_bg 0 free_inodes_count 1024\nset_bg 0 checksum calc\n");
        script = file_make(commands->str);
        g_assert_true(image_make(image, 8 << 20, "ext4", "-O", "^metadata_csum", "-N", "1024", NULL));
        g_assert_true(run("debugfs", "-w", "-f", script, image, NULL));
        must(unlink(script));
        for (gsize i = 0; i < G_N_ELEMENTS(wanted); i++) {
                g_auto(Answer) changed = expect_ok(mount_with(worker, image, "ext4", target, .files = wanted[i]));

                g_assert_cmpuint(changed.walk.counts.failed, >=, 1);
                g_assert_cmpuint(changed.walk.counts.done, <, 5000);
                g_assert_nonnull(strstr(changed.walk.issues[0].text, "damaged"));
                g_assert_true(doubled || g_str_has_suffix(changed.walk.issues[0].path, "x"));
                g_assert_false(is_mounted(target));
        }
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

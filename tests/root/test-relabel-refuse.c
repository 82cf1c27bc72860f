/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "volumes.h"

/* The worker refuses these relabels, whatever selvold has checked, and changes nothing then. */

static void assert_untouched(const char *path) {
        assert_mark(path, NULL);
        g_assert_cmpuint(count_labeled(path, LABEL_1), ==, 0);
}

static Answer relabel(const Worker *w, const char *target) {
        return call_change(
                w, &volume_at(NULL, NULL, target, .share_id = mount_id_of(target), .files = wanted_labels(LABEL_1)));
}

/* An adoption with this change has to write the mark. */
static Answer mark_at(const char *target, MarkChange change) {
        return call_adopt(worker, &(Arguments){ .target = target, .change = change });
}

TEST(test_refused, "/relabel/refused") {
        g_autoptr(TestVolume) v = volume_mount("refused", "ext4", 0);
        g_autofree char *empty = make_target("refused-empty"), *dir = path_printf("%s/lost+found", v->target);
        const uint64_t id = v->mount_id, other_id = id + 100000;
        const struct {
                const char *target, *share;
                uint64_t share_id;
                const char *context, *kind; /* NULL: the worker may refuse with any kind */
        } rows[] = {
                { v->target, v->target, id, "nonsense", NULL },
                { v->target, v->target, id, "a:b:container_file_t:s0\",x=\"", NULL },
                { v->target, v->target, id, "system_u:object_r:container_file_t:s0:c2,c1", NULL },
                { v->target, v->target, id, "system_u:object_r:etc_t:s0", "TypeNotAllowed" },
                { v->target, v->target, other_id, LABEL_1, "Busy" },
                { v->target, v->target, 0, LABEL_1, "Busy" },
                { v->target, empty, id, LABEL_1, "Busy" },
                { v->target, dir, id, LABEL_1, "Busy" },
                { v->target, TEST_TARGETS "/missing", id, LABEL_1, "Busy" },
                { v->target, TEST_TARGETS "/../x", id, LABEL_1, "InvalidTarget" },
                { v->target, "/run", mount_id_of("/run"), LABEL_1, "PathNotAllowed" },
                { v->target, TEST_TARGETS, mount_id_of(TEST_TARGETS), LABEL_1, "PathNotAllowed" },
                { v->target, "", 0, LABEL_1, NULL },
                { empty, v->target, id, LABEL_1, "InvalidTarget" },
                { dir, v->target, id, LABEL_1, "InvalidTarget" },
                { TEST_TARGETS "/missing", v->target, id, LABEL_1, "InvalidTarget" },
                { TEST_TARGETS "/../x", v->target, id, LABEL_1, "InvalidTarget" },
                { "/run", v->target, id, LABEL_1, "PathNotAllowed" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_auto(Answer) refused = call_change(worker, &(Arguments){ .target = rows[i].target,
                                                                           .share = rows[i].share,
                                                                           .share_id = rows[i].share_id,
                                                                           .files = wanted_labels(rows[i].context) });

                g_test_message("%s through %s: %s", rows[i].target, rows[i].share, refused.kind);
                if (rows[i].kind)
                        assert_answer(refused, rows[i].kind);
                else
                        g_assert_cmpstr(refused.kind, !=, "ok");
                assert_untouched(v->target);
        }
}

/* The mount that the worker is to share is one of another volume. */
TEST(test_other_volume, "/relabel/other-volume") {
        g_autoptr(TestVolume) v = volume_mount("one", "ext4", 0), other = volume_mount("other", "ext4", 0);
        Arguments a = { .target = v->target,
                        .share = other->target,
                        .share_id = other->mount_id,
                        .files = wanted_labels(LABEL_1) };

        assert_fails(call_change(worker, &a), "Incompatible");
        a.target = NULL;
        a.source = v->device;
        assert_fails(call_change(worker, &a), "Incompatible");
        assert_untouched(v->target);
        assert_untouched(other->target);
}

/* The target is a bind mount of the host's own files. */
TEST_DISKS(test_host, "/relabel/host", "tmpfs", "btrfs") {
        bool btrfs = g_str_equal(fs_type, "btrfs");
        g_autofree char *directory = path_printf(btrfs ? "/srv/host" : TEST_DIR "/host"),
                        *target = make_target("host");
        g_autoptr(TestVolume) v = btrfs ? volume_mount("host-btrfs", "btrfs", 0) : NULL;

        if (btrfs)
                must(mount(v->device, "/srv", "btrfs", 0, NULL));
        must(mkdir(directory, 0755));
        must(mount(directory, target, NULL, MS_BIND, NULL));
        note_mount(target);

        g_auto(Answer) refused = relabel(worker, target);
        /* The worker writes no mark through a read-only mount, though the file system is writable. */
        must(mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        g_auto(Answer) tainted = mark_at(target, MARK_TAINT);
        g_auto(Answer) reset = mark_at(target, MARK_RESET_LABELS);
        must(umount2(target, 0));
        assert_untouched(directory);
        must(rmdir(directory));
        if (btrfs)
                must(umount2("/srv", 0));
        assert_answer(refused, "PathNotAllowed");
        assert_message(refused, "host's own");
        assert_answer(tainted, "PathNotAllowed");
        assert_answer(reset, "ok");
}

/* The target is a directory of a disk of the host's, as of a hostPath volume. No list has that disk. */
TEST(test_elsewhere, "/relabel/elsewhere") {
        g_autoptr(TestVolume) v = volume_mount("elsewhere", "ext4", 0);
        g_autofree char *data = path_printf(TEST_DIR "/data"), *directory = path_printf("%s/dir-0", data),
                        *target = make_target("sub-path");

        fill_tree(v->target, 1, 3);
        must(mkdir(data, 0755));
        must(mount(v->device, data, "ext4", 0, NULL));
        must(mount(directory, target, NULL, MS_BIND, NULL));
        must(mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        note_mount(target);

        assert_fails(relabel(worker, target), "PathNotAllowed", TEST_DIR "/data", "TargetRoots=");
        assert_fails(relabel(worker, v->target), "PathNotAllowed");
        assert_fails(call_change(worker, &(Arguments){ .source = v->device, .files = wanted_labels(LABEL_1) }),
                     "PathNotAllowed");
        assert_fails(mark_at(target, MARK_TAINT), "PathNotAllowed");
        assert_ok(mark_at(target, MARK_RESET_LABELS));
        assert_untouched(v->target);
        assert_mark(directory, NULL);

        /* A false mark must not stay, so the worker resets it although others have mounted the volume. */
        set_mark(v->target, MARK_LABELS("complete", "no", LABEL_2));
        assert_ok(mark_at(v->target, MARK_RESET_LABELS));
        assert_mark(v->target, MARK_NOTHING);

        must(umount2(target, 0));
        must(umount2(data, 0));
        must(rmdir(data));
        assert_ok(relabel(worker, v->target));
}

/* The target is the tmpfs of another pod's secret, which kubelet has mounted. */
TEST(test_secret, "/relabel/secret") {
        g_autofree char *secret = make_target("secret"), *pod = make_target("pod"),
                        *file = path_printf("%s/token", secret);
        struct stat before, after;

        must(mount("tmpfs", secret, "tmpfs", 0, NULL));
        g_assert_true(g_file_set_contents(file, "secret", -1, NULL));
        must(stat(file, &before));
        const FilesWanted wanted[] = { wanted_labels(LABEL_1), wanted_group(1000) };
        for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
                const Arguments change = { .target = secret, .files = wanted[i], .share_id = mount_id_of(secret) };

                assert_fails(call_change(worker, &change), "PathNotAllowed", "adopt it first");
                assert_fails(call_adopt(worker, &change), "PathNotAllowed", "secret");
        }
        for (unsigned is_adopted = 0; is_adopted < 2; is_adopted++) {
                assert_fails(
                        mount_with(worker, "tmpfs", "tmpfs", pod, .share = secret, .share_id = mount_id_of(secret)),
                        "PathNotAllowed");
                assert_ok(call_adopt(worker, &(Arguments){ .target = secret }));
                assert_fails(call_change(worker, &volume_at(NULL, NULL, secret, .files = wanted[1],
                                                            .share_id = mount_id_of(secret))),
                             "PathNotAllowed");
        }
        must(stat(file, &after));
        g_assert_cmpuint(after.st_gid, ==, before.st_gid);
        g_assert_cmpint(after.st_ctim.tv_nsec, ==, before.st_ctim.tv_nsec);
        g_assert_false(is_mounted(pod));
        must(umount2(secret, 0));
}

/* The worker's own configuration does not have the type, whatever selvold says. */
TEST(test_type, "/relabel/type") {
        g_autoptr(TestVolume) v = volume_mount("type", "ext4", 0);
        g_autofree char *target = make_target("unlisted");

        must(umount2(v->target, 0));
        g_assert_true(run("mkfs.ext2", "-q", "-F", v->device, NULL));
        must(mount(v->device, target, "ext2", 0, NULL));
        note_mount(target);
        assert_fails(relabel(worker, target), "TypeNotAllowed", "[FileSystem ext2]");
        assert_ok(mark_at(target, MARK_TAINT));
        assert_untouched(target);
        assert_ok(mark_at(target, MARK_RESET_LABELS));
        must(umount2(target, 0));
        g_assert_true(run("mkfs.ext4", "-q", "-F", v->device, NULL));
        must(mount(v->device, v->target, "ext4", 0, NULL));
}

TEST(test_not_supported, "/relabel/not-supported") {
        g_autoptr(Worker) with_ramfs = worker_start("[FileSystem ramfs]\nSource=none\n", NULL);
        g_autoptr(TestVolume) without = volume_mount("no-labels", "ramfs", 0),
                              frozen = volume_mount("read-only", "ext4", MS_RDONLY),
                              bound = volume_mount("read-only-mount", "ext4", 0);
        g_autofree char *image = make_image("read-only-stage", "ext4"), *target = make_target("read-only-stage");

        assert_fails(relabel(with_ramfs, without->target), "NotSupported", "keeps no labels");
        assert_fails(relabel(worker, frozen->target), "NotSupported", "read-only");

        must(mount(NULL, bound->target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL));
        assert_fails(relabel(worker, bound->target), "NotSupported");
        assert_untouched(bound->target);

        /* The kernel clones no unbindable mount. */
        must(mount(NULL, without->target, NULL, MS_UNBINDABLE, NULL));
        assert_fails(relabel(with_ramfs, without->target), "NotSupported", "unbindable");

        static const char *const methods[] = { "Mount", "Change" };
        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                assert_fails(operation_finish(
                                     operation_start(worker, methods[i],
                                                     &volume_at(image, "ext4", i == 0 ? target : NULL,
                                                                .read_only = true, .files = wanted_labels(LABEL_1)))),
                             "NotSupported");
                g_assert_false(is_mounted(target));
        }
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "volumes.h"

/* Relabelling: what is refused, whatever selvold has checked; and that nothing is touched then. */

static Worker *worker;

static void test_refused(void) {
        g_autoptr(TestVolume) v = volume_mount("refused", "ext4", 0);
        g_autofree char *empty = make_target("refused-empty"), *file = path_printf("%s/file", v->target);
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = live(v, LABEL_1);
        static const struct {
                const char *context, *kind;
        } contexts[] = {
                { "", "InvalidOption" },
                { "nonsense", "InvalidContext" },
                { "a:b:container_file_t:s0\",x=\"", "InvalidContext" },
                { "system_u:object_r:etc_t:s0", "TypeNotAllowed" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(contexts); i++) {
                a.context = contexts[i].context;
                g_auto(Answer) refused = call_change(bus, &a);
                assert_answer(refused, contexts[i].kind);
        }
        a.context = LABEL_1;

        const struct {
                const char *target;
                uint64_t id;
                const char *kind;
        } rows[] = {
                { v->target, v->mount_id + 100000, "Busy" },
                { v->target, 0, "Busy" },
                { empty, v->mount_id, "Busy" },
                { file, v->mount_id, "Busy" },
                { TEST_TARGETS "/missing", v->mount_id, "Busy" },
                { TEST_TARGETS "/../x", v->mount_id, "InvalidTarget" },
                { "/run", mount_id_of("/run"), "PathNotAllowed" },
                { TEST_TARGETS, mount_id_of(TEST_TARGETS), "PathNotAllowed" },
        };
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                a.target = rows[i].target;
                a.mount_id = rows[i].id;
                g_auto(Answer) refused = call_change(bus, &a);
                assert_answer(refused, rows[i].kind);
        }
        g_assert_null(get_record(v->target));
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, 0);
}

/* The host's own files, behind a target. */
static void test_host(gconstpointer data) {
        bool btrfs = GPOINTER_TO_INT(data);
        g_autofree char *directory = path_printf(btrfs ? "/srv/host" : TEST_DIR "/host"),
                        *target = make_target("host");
        g_autoptr(TestVolume) v = btrfs ? volume_mount("host-btrfs", "btrfs", 0) : NULL;
        g_autoptr(sd_bus) bus = worker_dial(worker);

        if (btrfs) {
                if (!v)
                        return;
                g_assert_cmpint(mount(v->device, "/srv", "btrfs", 0, NULL), ==, 0);
        }
        g_assert_cmpint(mkdir(directory, 0755), ==, 0);
        g_assert_cmpint(mount(directory, target, NULL, MS_BIND, NULL), ==, 0);

        const ChangeArguments a = { .target = target, .mount_id = mount_id_of(target), .context = LABEL_1 };
        g_auto(Answer) refused = call_change(bus, &a);
        /* Nor is anything written through a mount that is read-only, to what isn't. */
        g_assert_cmpint(mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        g_auto(Answer) marked = call_mark(bus, target, a.mount_id, "taint");
        g_auto(Answer) noted = call_mark(bus, target, a.mount_id, "forget");
        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_assert_null(get_record(directory));
        g_assert_cmpint(count_labelled(directory, LABEL_1), ==, 0);
        g_assert_cmpint(rmdir(directory), ==, 0);
        if (btrfs)
                g_assert_cmpint(umount2("/srv", 0), ==, 0);
        assert_answer(refused, "PathNotAllowed");
        assert_message(refused, "host's own");
        assert_answer(marked, "PathNotAllowed");
        assert_answer(noted, "ok");
}

/* A disk of the host's that no list knows, a directory of which is mounted as a volume, as of a hostPath volume. */
static void test_elsewhere(void) {
        static const char complete[] =
                "version=1 generation=7 label=complete tainted=no ownership=unknown gid=0 context=" LABEL_2;
        g_autoptr(TestVolume) v = volume_mount("elsewhere", "ext4", 0);
        g_autofree char *data = path_printf(TEST_DIR "/data"), *directory = path_printf("%s/dir-0", data),
                        *target = make_target("sub-path");
        g_autoptr(sd_bus) bus = worker_dial(worker);
        const MountArguments stage = { .source = v->device, .fs_type = "ext4", .target = "" };
        const ChangeArguments from_stage = staged(LABEL_1), from_root = live(v, LABEL_1);
        ChangeArguments a = { .target = target, .context = LABEL_1 };

        fill_tree(v->target, 1, 3);
        g_assert_cmpint(mkdir(data, 0755), ==, 0);
        g_assert_cmpint(mount(v->device, data, "ext4", 0, NULL), ==, 0);
        g_assert_cmpint(mount(directory, target, NULL, MS_BIND, NULL), ==, 0);
        g_assert_cmpint(mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        a.mount_id = mount_id_of(target);

        g_auto(Answer) part = call_change(bus, &a);
        assert_answer(part, "PathNotAllowed");
        assert_message(part, TEST_DIR "/data");
        assert_message(part, "TargetRoots=");
        g_auto(Answer) whole = call_change(bus, &from_root);
        assert_answer(whole, "PathNotAllowed");
        g_auto(Answer) stage_answer = call_stage(bus, &stage);
        assert_answer(stage_answer, "ok");
        g_auto(Answer) from_staged = call_change(bus, &from_stage);
        assert_answer(from_staged, "PathNotAllowed");
        g_auto(Answer) tainted = call_mark(bus, target, a.mount_id, "taint");
        assert_answer(tainted, "PathNotAllowed");
        g_auto(Answer) noted = call_mark(bus, target, a.mount_id, "forget");
        assert_answer(noted, "ok");
        g_assert_null(get_record(v->target));
        g_assert_null(get_record(directory));
        g_assert_cmpint(count_labelled(v->target, LABEL_1), ==, 0);

        /* A volume that somebody has mounted to have a look must not go on to claim what is no longer true. */
        set_record(v->target, complete);
        g_auto(Answer) forgotten = call_mark(bus, v->target, v->mount_id, "forget");
        assert_answer(forgotten, "ok");
        assert_record(v->target, STATE_UNKNOWN, "", false, 8);

        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_assert_cmpint(umount2(data, 0), ==, 0);
        g_assert_cmpint(rmdir(data), ==, 0);
        g_auto(Answer) alone = call_change(bus, &from_root);
        assert_answer(alone, "ok");
        g_assert_cmpint(shutdown(sd_bus_get_fd(bus), SHUT_WR), ==, 0);
        wait_for_end(bus);
}

/* A type that the worker's own configuration doesn't have, whatever selvold says. */
static void test_type(void) {
        g_autoptr(TestVolume) v = volume_mount("type", "ext4", 0);
        g_autofree char *target = make_target("unlisted");
        g_autoptr(sd_bus) bus = worker_dial(worker);
        ChangeArguments a = { .target = target, .context = LABEL_1 };

        g_assert_cmpint(umount2(v->target, 0), ==, 0);
        g_assert_true(run("mkfs.ext2", "-q", "-F", v->device, NULL));
        g_assert_cmpint(mount(v->device, target, "ext2", 0, NULL), ==, 0);
        a.mount_id = mount_id_of(target);
        g_auto(Answer) relabelled = call_change(bus, &a);
        assert_answer(relabelled, "TypeNotAllowed");
        assert_message(relabelled, "[FileSystem ext2]");
        g_auto(Answer) marked = call_mark(bus, target, a.mount_id, "taint");
        assert_answer(marked, "TypeNotAllowed");
        g_assert_null(get_record(target));
        g_auto(Answer) noted = call_mark(bus, target, a.mount_id, "forget");
        assert_answer(noted, "ok");
        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_assert_true(run("mkfs.ext4", "-q", "-F", v->device, NULL));
        g_assert_cmpint(mount(v->device, v->target, "ext4", 0, NULL), ==, 0);
}

static void test_not_supported(void) {
        g_autoptr(Worker) with_ramfs = worker_start("[FileSystem ramfs]\nSource=none\n", NULL);
        g_autoptr(TestVolume) without = volume_mount("no-labels", "ramfs", 0),
                              frozen = volume_mount("read-only", "ext4", MS_RDONLY),
                              bound = volume_mount("read-only-mount", "ext4", 0);
        g_autofree char *image = make_image("read-only-stage", "ext4");
        g_autoptr(sd_bus) bus = worker_dial(with_ramfs);
        ChangeArguments a = live(without, LABEL_1);

        g_auto(Answer) unlabelled = call_change(bus, &a);
        assert_answer(unlabelled, "NotSupported");
        assert_message(unlabelled, "keeps no labels");

        a = live(frozen, LABEL_1);
        g_auto(Answer) read_only = call_change(bus, &a);
        assert_answer(read_only, "NotSupported");
        assert_message(read_only, "read-only");

        g_assert_cmpint(mount(NULL, bound->target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        a = live(bound, LABEL_1);
        g_auto(Answer) mount_only = call_change(bus, &a);
        assert_answer(mount_only, "NotSupported");
        g_assert_null(get_record(bound->target));

        /* On a private mount of the tests' own nothing can be cloned if it is unbindable. */
        g_assert_cmpint(mount(NULL, without->target, NULL, MS_UNBINDABLE, NULL), ==, 0);
        a = live(without, LABEL_1);
        g_auto(Answer) unbindable = call_change(bus, &a);
        assert_answer(unbindable, "NotSupported");
        assert_message(unbindable, "unbindable");

        const MountArguments stage = { .source = image, .fs_type = "ext4", .target = "", .read_only = true };
        a = staged(LABEL_1);
        g_auto(Answer) staged_read_only = call_stage(bus, &stage);
        assert_answer(staged_read_only, "ok");
        g_auto(Answer) refused = call_change(bus, &a);
        assert_answer(refused, "NotSupported");
}

int main(int argc, char **argv) {
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        worker = worker_start(NULL, NULL);
        g_test_add_func("/relabel/refused", test_refused);
        g_test_add_data_func("/relabel/host/roots", GINT_TO_POINTER(false), test_host);
        g_test_add_data_func("/relabel/host/btrfs", GINT_TO_POINTER(true), test_host);
        g_test_add_func("/relabel/elsewhere", test_elsewhere);
        g_test_add_func("/relabel/type", test_type);
        g_test_add_func("/relabel/not-supported", test_not_supported);
        r = g_test_run();
        worker_stop(worker);
        return r;
}

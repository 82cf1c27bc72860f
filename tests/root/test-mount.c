/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/file.h>

#include <glib/gstdio.h>

#include "mount/mount-note.h"
#include "volumes.h"

/* Mounting, sharing and unmounting on real file systems. */

static void assert_forced_flags(const char *target) {
        g_autofree char *options = NULL, *table = NULL, *needle = path_printf(" %s ", target);
        const char *line;

        g_assert_true(g_file_get_contents("/proc/self/mountinfo", &table, NULL, NULL));
        line = strstr(table, needle);
        g_assert_nonnull(line);
        options = g_strndup(line + strlen(needle), strcspn(line + strlen(needle), " "));
        g_assert_nonnull(strstr(options, "nosuid"));
        g_assert_nonnull(strstr(options, "nodev"));
}

TEST_DISKS(test_file_system, "/mount", "ext4", "xfs", "btrfs", "ext3") {
        g_autofree char *image = make_image(fs_type, fs_type), *target = make_target(fs_type),
                        *file = path_printf("%s/file", target);

        g_auto(Answer) observed = expect_ok(call_observe(worker, image, "", target));
        g_assert_false(observed.question.node.selinux);
        g_assert_null(observed.question.node.file_context);
        g_assert_cmpstr(observed.question.observed.fs_type, ==, fs_type);
        g_assert_false(observed.question.observed.device_read_only);
        g_assert_cmpint(observed.question.observed.n_mounts, ==, 0);

        g_auto(Answer) mounted = expect_ok(mount_with(worker, image, fs_type, target, .options = "noexec,noatime"));
        g_assert_true(is_mounted(target));
        assert_forced_flags(target);
        g_assert_cmpint(mounted.outcome.fact.mount_id, ==, mount_id_of(target));
        g_assert_cmpstr(mounted.outcome.fact.target, ==, target);
        g_assert_cmpstr(mounted.outcome.fact.fs_type, ==, fs_type);
        g_assert_true(g_str_has_prefix(mounted.outcome.fact.source, "/dev/loop"));
        g_assert_cmpstr(mounted.outcome.fact.context, ==, "");
        g_assert_false(mounted.outcome.fact.seclabel);
        g_assert_false(mounted.outcome.fact.read_only);
        g_assert_false(mounted.outcome.superblock_read_only);
        g_assert_cmpstr(mounted.outcome.root_context, ==, "");
        if (!g_str_equal(fs_type, "btrfs"))
                g_assert_cmpint(mounted.outcome.inodes_used, >, 0);
        g_assert_true(g_file_set_contents(file, "data", -1, NULL));

        g_auto(MountFact) there = mount_fact_of(target);
        g_assert_cmpstr(there.device, ==, mounted.outcome.fact.device);
        g_assert_cmpstr(there.target, ==, target);

        assert_says(call_unmount(worker, target, mounted.outcome.fact.mount_id), unmounted, ==, true);
        g_assert_false(is_mounted(target));
        assert_no_loop(image);
}

TEST(test_block_device, "/mount/block-device") {
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("block", "ext4"), *target = make_target("block"),
                        *device = attach_loop(image, &loop), *link = make_link("by-id", strrchr(device, '/') + 1);

        assert_ok(call_observe(worker, link, "ext4", target));
        assert_says_text(mount_with(worker, link, "ext4", target), outcome.fact.source, device);

        assert_fails(call_observe(worker, device, "ext4", TEST_TARGETS), "PathNotAllowed");
        g_autofree char *second = make_target("block-2");
        g_auto(Answer) used = expect_ok(call_observe(worker, device, "ext4", second));
        g_assert_cmpint(used.question.observed.n_mounts, ==, 1);
        g_assert_cmpstr(used.question.observed.mounts[0].target, ==, target);

        g_assert_cmpint(umount2(target, 0), ==, 0);
        g_assert_cmpint(unlink(link), ==, 0);
}

/* A worker that only looks opens nothing for writing. A reader of the image can lock it, and the worker does
 * not wait for that lock. */
TEST(test_image_of_readers, "/mount/image-of-readers") {
        g_autofree char *image = make_image("readers", "ext4"), *target = make_target("readers");
        _cleanup_close_ int fd = open_path(image, O_RDONLY);

        must(fcntl(fd, F_SETLEASE, F_RDLCK));
        assert_ok(call_observe(worker, image, "ext4", target));
        g_assert_cmpint(fcntl(fd, F_GETLEASE), ==, F_RDLCK);
        must(fcntl(fd, F_SETLEASE, F_UNLCK));

        must(flock(fd, LOCK_SH));
        assert_ok(mount_with(worker, image, "ext4", target));
        must(umount2(target, 0));
}

/* access(2) says that an image that is only for appending is writable, but open(2) for writing fails. */
TEST(test_image_append_only, "/mount/image-append-only") {
        g_autofree char *lower = make_image("append-lower", "ext4"), *volume = path_printf(TEST_DIR "/append"),
                        *image = path_printf("%s/image", volume), *target = make_target("append");

        /* Files of ext4 have the attribute on all kernels; those of the tmpfs in /run do not. */
        must(mkdir(volume, 0755));
        g_assert_true(run("mount", "-o", "loop", lower, volume, NULL));
        g_assert_true(image_make(image, 16 << 20, "ext4", NULL));
        g_assert_true(run("chattr", "+a", image, NULL));
        g_autoptr(Worker) w = worker_start("[Worker]\nSourceRoots=" TEST_DIR "\n", NULL);
        Arguments a = { .source = image, .fs_type = "ext4", .target = target };

        assert_fails(call_mount(w, &a), "MountFailed", "read-only");
        a.read_only = true;
        assert_ok(call_mount(w, &a));
        must(umount2(target, 0));
        g_assert_true(run("chattr", "-a", image, NULL));
        g_clear_pointer(&w, worker_stop);
        must(umount2(volume, 0));
}

/* The worker mounts with errors=remount-ro unless the caller says otherwise, whatever the superblock says. */
TEST(test_errors, "/mount/errors") {
        static const struct {
                const char *options, *expected;
        } rows[] = {
                { NULL, "errors=remount-ro" },
                { "noatime", "errors=remount-ro" },
                { "errors=continue", "errors=continue" },
        };
        g_autofree char *image = make_image("errors", "ext4"), *target = make_target("errors");

        g_assert_true(run("tune2fs", "-e", "panic", image, NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree char *table = NULL;

                assert_ok(mount_with(worker, image, "ext4", target, .options = rows[i].options));
                g_assert_true(g_file_get_contents("/proc/self/mounts", &table, NULL, NULL));
                g_assert_nonnull(strstr(strstr(table, target), rows[i].expected));
                must(umount2(target, 0));
        }
}

/* Only mount(2) takes the flag iversion; a file system context does not. */
TEST(test_other_way, "/mount/other-way") {
        g_autofree char *image = make_image("flag", "ext4"), *target = make_target("flag");
        g_autoptr(Worker) w = worker_start("[FileSystem ext4]\nMountOptions=iversion\n", NULL);

        assert_ok(mount_with(w, image, "ext4", target, .options = "iversion"));
        g_assert_true(is_mounted(target));
        must(umount2(target, 0));
        assert_no_loop(image);
}

TEST(test_tmpfs, "/mount/tmpfs") {
        g_autofree char *target = make_target("tmpfs");

        assert_says(call_observe(worker, "tmpfs", "tmpfs", target), question.observed.n_mounts, ==, 0);
        assert_says_text(mount_with(worker, "tmpfs", "tmpfs", target, .options = "size=1m,mode=0700"),
                         outcome.fact.source, "tmpfs");
        g_assert_cmpint(umount2(target, 0), ==, 0);
}

/* A file system has two holders, each of them read-only or not. */
TEST_WORDS(test_share, "/share", how, "rw rw", "rw ro", "ro rw", "ro ro") {
        bool first_read_only = g_str_has_prefix(how, "ro"), second_read_only = g_str_has_suffix(how, "ro");
        g_autofree char *image = make_image("share", "ext4"), *one = make_target("share-1"),
                        *two = make_target("share-2"), *file = path_printf("%s/file", two),
                        *file_one = path_printf("%s/file", one);

        g_auto(Answer) first =
                expect_ok(mount_with(worker, image, "ext4", one, .options = "noexec", .read_only = first_read_only));
        g_assert_cmpint(first.outcome.fact.read_only, ==, first_read_only);
        g_assert_cmpint(first.outcome.superblock_read_only, ==, first_read_only);

        g_auto(Answer) observed = expect_ok(call_observe(worker, image, "ext4", two));
        g_assert_cmpint(observed.question.observed.n_mounts, ==, 1);
        g_assert_cmpint(observed.question.observed.mounts[0].mount_id, ==, first.outcome.fact.mount_id);

        g_auto(Answer) second = expect_ok(mount_with(worker, image, "ext4", two, .read_only = second_read_only,
                                                     .share = one, .share_id = first.outcome.fact.mount_id));
        g_assert_cmpint(second.outcome.fact.read_only, ==, second_read_only);
        g_assert_cmpint(second.outcome.superblock_read_only, ==, first_read_only && second_read_only);
        g_assert_cmpint(second.outcome.fact.mount_id, ==, mount_id_of(two));
        g_assert_cmpint(second.outcome.fact.mount_id, !=, first.outcome.fact.mount_id);
        g_assert_cmpstr(second.outcome.fact.device, ==, first.outcome.fact.device);
        assert_forced_flags(two);
        g_assert_cmpint(is_read_only(one), ==, first_read_only);
        g_assert_cmpint(is_read_only(two), ==, second_read_only);
        g_assert_cmpint(g_file_set_contents(file, "data", -1, NULL), ==, !second_read_only);
        g_assert_cmpint(g_file_test(file_one, G_FILE_TEST_EXISTS), ==, !second_read_only);

        g_auto(MountFact) there = mount_fact_of(two);
        g_assert_cmpint(there.superblock_read_only, ==, second.outcome.superblock_read_only);
        g_assert_cmpint(there.read_only, ==, second.outcome.fact.read_only);

        assert_says(call_unmount(worker, one, first.outcome.fact.mount_id), unmounted, ==, true);
        g_assert_true(is_mounted(two));
        g_assert_cmpint(umount2(two, 0), ==, 0);
}

/* The mount table has another word for the type than the request: of a server, or of an ext3 that was asked
 * for as ext4. */
TEST(test_share_renamed, "/share/renamed") {
        g_autoptr(Worker) w = worker_start("[FileSystem selvolfake]\nSource=network\n", NULL);
        g_autofree char *image = make_image("renamed", NULL), *one = make_target("renamed-1"),
                        *two = make_target("renamed-2");
        const struct {
                const char *source, *first, *second, *word;
        } rows[] = { { "server:/export", "selvolfake", "selvolfake", "tmpfs" }, { image, "", "ext4", "ext3" } };

        add_mount_helper("selvolfake", "#!/bin/sh\nexec mount -i -t tmpfs \"$1\" \"$2\"\n");
        g_assert_true(run("mkfs.ext3", "-q", image, "16m", NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_auto(Answer) first = expect_ok(mount_with(w, rows[i].source, rows[i].first, one));
                g_assert_cmpstr(first.outcome.fact.fs_type, ==, rows[i].word);
                g_auto(Answer) second = expect_ok(mount_with(w, rows[i].source, rows[i].second, two, .share = one,
                                                             .share_id = first.outcome.fact.mount_id));
                g_assert_cmpstr(second.outcome.fact.fs_type, ==, rows[i].word);
                g_assert_cmpstr(second.outcome.fact.device, ==, first.outcome.fact.device);
                must(umount2(one, 0));
                must(umount2(two, 0));
        }
}

TEST(test_share_refused, "/share/refused") {
        g_autofree char *image = make_image("a", "ext4"), *other = make_image("b", "ext4"),
                        *one = make_target("refused-1"), *two = make_target("refused-2");

        g_auto(Answer) first = expect_ok(mount_with(worker, image, "ext4", one));
        Arguments a = { .source = image, .fs_type = "ext4", .target = two, .share = one };

        a.share_id = first.outcome.fact.mount_id + 100000;
        assert_fails(call_mount(worker, &a), "MountFailed", "try again");

        a.share_id = first.outcome.fact.mount_id;
        a.source = other;
        assert_fails(call_mount(worker, &a), "Incompatible");

        a.share = "/run";
        a.share_id = mount_id_of("/run");
        assert_fails(call_mount(worker, &a), "PathNotAllowed");

        /* Another program has made this mount, as kubelet does for another pod's secret. */
        g_autofree char *secret = make_target("refused-3");
        must(mount("tmpfs", secret, "tmpfs", 0, NULL));
        assert_fails(mount_with(worker, "tmpfs", "tmpfs", two, .share = secret, .share_id = mount_id_of(secret)),
                     "PathNotAllowed", "somebody else's");
        must(umount2(secret, 0));

        g_assert_false(is_mounted(two));
        g_assert_cmpint(umount2(one, 0), ==, 0);
}

/* A program that has mounted a superblock read-only outside of the roots relies on that: it is not made
 * writable for a mount that is refused then, whatever selvold has answered. */
TEST_WORDS(test_share_evidence, "/share/evidence", word, "bind", "reader", "reader-of-another") {
        const bool bind = g_str_equal(word, "bind"), share = !g_str_equal(word, "reader-of-another");
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("evidence", "ext4"), *one = make_target("evidence-1"),
                        *two = make_target("evidence-2"), *outside = path_printf(TEST_DIR "/evidence"),
                        *device = attach_loop(image, &loop);

        (void) mkdir(outside, 0755);
        if (!bind)
                assert_ok(mount_with(worker, device, "ext4", one, .read_only = true));
        must(mount(device, outside, "ext4", MS_RDONLY, NULL));
        if (bind)
                must(mount(outside, one, NULL, MS_BIND, NULL));
        assert_fails(mount_with(worker, device, "ext4", two, .share = share ? one : NULL,
                                .share_id = share ? mount_id_of(one) : 0, .blind = true),
                     "PathNotAllowed", outside);
        g_auto(MountFact) there = mount_fact_of(outside);
        g_assert_true(there.superblock_read_only);
        g_assert_false(is_mounted(two));
        must(umount2(one, 0));
        must(umount2(outside, 0));
}

/* Another mount hides the mount that is to be shared. The worker mounts a disk once more then. A tmpfs can't
 * be mounted once more. */
TEST(test_share_hidden, "/share/hidden") {
        g_autofree char *image = make_image("covered", "ext4"), *one = make_target("covered-1"),
                        *two = make_target("covered-2"), *file = path_printf("%s/file", one),
                        *file_two = path_printf("%s/file", two);
        const Arguments rows[] = {
                { .source = image, .fs_type = "ext4", .target = one },
                { .source = "tmpfs", .fs_type = "tmpfs", .target = one },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                bool disk = g_str_equal(rows[i].fs_type, "ext4");
                Arguments a = rows[i];

                g_auto(Answer) first = expect_ok(call_mount(worker, &a));
                g_assert_true(g_file_set_contents(file, "data", -1, NULL));
                must(mount("cover", one, "tmpfs", 0, NULL));
                a.target = two;
                a.share = one;
                a.share_id = first.outcome.fact.mount_id;
                g_auto(Answer) second = expect(call_mount(worker, &a), disk ? "ok" : "MountFailed");
                if (disk) {
                        g_assert_cmpstr(second.outcome.fact.device, ==, first.outcome.fact.device);
                        g_assert_true(g_file_test(file_two, G_FILE_TEST_EXISTS));
                        must(umount2(two, 0));
                } else
                        assert_message(second, "hides it");
                must(umount2(one, 0));
                must(umount2(one, 0));
        }
}

/* The worker sees the mounts of others anywhere. Such a volume may be the host's own disk, so the worker
 * refuses it, unless an administrator allows the place. */
TEST(test_mounted_elsewhere, "/observe/mounted-elsewhere") {
        g_autoptr(Worker) trusting = worker_start("[Worker]\nForeignRoots=" TEST_DIR "\n", NULL);
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("elsewhere", "ext4"), *target = make_target("elsewhere"),
                        *foreign = path_printf(TEST_DIR "/foreign"), *bind = path_printf(TEST_DIR "/bind dir"),
                        *device = attach_loop(image, &loop), *sub = path_printf("%s/lost+found", foreign);

        g_assert_cmpint(mkdir(foreign, 0755), ==, 0);
        g_assert_cmpint(mkdir(bind, 0755), ==, 0);
        g_assert_cmpint(mount(device, foreign, "ext4", 0, NULL), ==, 0);
        g_assert_cmpint(mount(sub, bind, NULL, MS_BIND, NULL), ==, 0);

        const char *const sources[] = { device, image };
        for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
                assert_fails(call_observe(worker, sources[i], "ext4", target), "PathNotAllowed", foreign,
                             "ForeignRoots=");
                assert_fails(mount_with(worker, sources[i], "ext4", target, .blind = true), "PathNotAllowed");
                assert_fails(call_change(worker, &(Arguments){ .source = sources[i],
                                                               .fs_type = "ext4",
                                                               .files = wanted_group(1000) }),
                             "PathNotAllowed");

                g_auto(Answer) observed = expect_ok(call_observe(trusting, sources[i], "ext4", target));
                g_assert_cmpint(observed.question.observed.n_mounts, ==, 2);
                g_assert_cmpstr(observed.question.observed.mounts[0].target, ==, foreign);
                g_assert_cmpstr(observed.question.observed.mounts[1].target, ==, bind);
        }

        /* A read-only mount is possible beside the mount of others, which is writable. */
        assert_says(mount_with(trusting, device, "ext4", target, .read_only = true), outcome.fact.read_only, ==,
                    true);
        g_assert_true(is_read_only(target));
        g_assert_false(is_read_only(foreign));
        g_assert_cmpint(umount2(target, 0), ==, 0);

        /* The kernel refuses a writable mount beside a read-only one, and the message names that one. */
        g_assert_cmpint(umount2(bind, 0), ==, 0);
        g_assert_cmpint(umount2(foreign, 0), ==, 0);
        g_assert_cmpint(mount(device, foreign, "ext4", MS_RDONLY, NULL), ==, 0);
        assert_fails(mount_with(trusting, device, "ext4", target), "MountFailed", foreign, "EBUSY");
        g_assert_false(is_mounted(target));
        g_assert_cmpint(umount2(foreign, 0), ==, 0);
}

/* The child keeps the device mounted in a mount namespace of its own until it is killed; with directory NULL
 * only its copies of all mounts. */
static pid_t mount_hidden(const char *device, const char *directory) {
        int pair[2];
        char byte;
        pid_t pid;

        must(pipe2(pair, O_CLOEXEC));
        pid = fork();
        if (pid == 0) {
                if (!namespace_try() || (directory && mount(device, directory, "ext4", 0, NULL) < 0) ||
                    write(pair[1], "", 1) != 1)
                        _exit(1);
                pause();
                _exit(1);
        }
        g_assert_cmpint(pid, >, 0);
        close(pair[1]);
        g_assert_cmpint(read(pair[0], &byte, 1), ==, 1);
        close(pair[0]);
        return pid;
}

/* Only the kernel knows of such a mount. The worker tells selvold, which decides whether to share it. */
TEST(test_hidden, "/observe/hidden") {
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("hidden", "ext4"), *target = make_target("hidden"),
                        *directory = path_printf(TEST_DIR "/hidden"), *device = attach_loop(image, &loop);
        const char *const sources[] = { device, image };
        pid_t pid;

        must(mkdir(directory, 0755));
        for (size_t i = 0; i < G_N_ELEMENTS(sources); i++)
                assert_says(call_observe(worker, sources[i], "ext4", target), question.observed.hidden, ==, false);

        pid = mount_hidden(device, directory);
        for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
                g_auto(Answer) observed = expect_ok(call_observe(worker, sources[i], "ext4", target));
                g_assert_true(observed.question.observed.hidden);
                g_assert_cmpint(observed.question.observed.n_mounts, ==, 0);
        }
        assert_ok(mount_with(worker, device, "ext4", target));
        must(umount2(target, 0));

        must(kill(pid, SIGKILL));
        g_assert_cmpint(waitpid(pid, NULL, 0), ==, pid);
}

TEST_DISKS(test_btrfs_mounted_elsewhere, "/observe/mounted-elsewhere", "btrfs") {
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("btrfs-2", "btrfs"), *one = make_target("btrfs-1"),
                        *two = make_target("btrfs-2"), *device = attach_loop(image, &loop),
                        *link = path_printf(TEST_IMAGES "/scratch");

        /* The mount table then has the link as the source of the mount. */
        g_assert_cmpint(symlink(device, link), ==, 0);
        g_assert_cmpint(mount(link, one, "btrfs", 0, NULL), ==, 0);

        g_auto(Answer) observed = expect_ok(call_observe(worker, device, "", two));
        g_assert_cmpint(observed.question.observed.n_mounts, ==, 1);
        g_assert_cmpstr(observed.question.observed.mounts[0].target, ==, one);

        g_auto(Answer) adopted = expect(call_adopt(worker, &(Arguments){ .target = one, .step = PLAN_STOP }), "gone");
        g_assert_cmpstr(adopted.question.observed.fs_type, ==, "btrfs");
        g_assert_cmpint(adopted.question.observed.n_mounts, ==, 1);

        assert_ok(mount_with(worker, device, "btrfs", two, .share = one, .share_id = mount_id_of(one)));
        g_assert_cmpint(umount2(two, 0), ==, 0);
        g_assert_cmpint(umount2(one, 0), ==, 0);
        g_assert_cmpint(unlink(link), ==, 0);
}

/* The worker uses a loop device of others, as two loop devices of one image would have two superblocks. */
TEST(test_loop_of_others, "/mount/loop-of-others") {
        int loop;
        g_autofree char *image = make_image("loop", "ext4"), *target = make_target("loop"),
                        *device = attach_loop(image, &loop);

        assert_says_text(mount_with(worker, image, "ext4", target), outcome.fact.source, device);
        g_assert_cmpint(count_loops(image), ==, 1);
        g_assert_cmpint(umount2(target, 0), ==, 0);
        close(loop);
        assert_no_loop(image);

        if (!run("losetup", "--read-only", "--find", image, NULL)) {
                g_test_skip("losetup");
                return;
        }
        assert_fails(mount_with(worker, image, "ext4", target), "MountFailed", "losetup -j");
        g_assert_true(run("sh", "-c", "losetup -d $(losetup -n -O NAME -j \"$1\")", "sh", image, NULL));
}

TEST(test_unmount, "/unmount") {
        g_autofree char *target = make_target("unmount"), *file = path_printf("%s/file", target),
                        *link = path_printf(TEST_TARGETS "/unmount-link");
        int fd;

        assert_says(call_unmount(worker, target, 0), unmounted, ==, false);
        assert_says(call_unmount(worker, TEST_TARGETS "/missing/deeper", 0), unmounted, ==, false);
        assert_fails(call_unmount(worker, "/run", 0), "PathNotAllowed");

        g_assert_cmpint(mount("tmpfs", target, "tmpfs", 0, NULL), ==, 0);
        g_assert_cmpint(symlink(target, link), ==, 0);
        assert_says(call_unmount(worker, link, 0), unmounted, ==, false);
        assert_fails(call_unmount(worker, target, 0), "InvalidTarget", "(tmpfs, type tmpfs, at ");
        assert_says(call_unmount(worker, target, mount_id_of(target) + 100000), unmounted, ==, false);
        g_assert_true(is_mounted(target));

        /* The worker unmounts only what it has noted itself, whatever selvold says. */
        assert_fails(call_unmount(worker, target, mount_id_of(target)), "InvalidTarget", "no record");
        g_assert_true(is_mounted(target));

        note_mount(target);
        fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        assert_fails(call_unmount(worker, target, mount_id_of(target)), "Busy");
        close(fd);
        assert_says(call_unmount(worker, target, mount_id_of(target)), unmounted, ==, true);
        g_assert_false(is_mounted(target));
        g_assert_cmpint(unlink(link), ==, 0);
}

/* After the last mount the worker looks whether the device is free, if selvold asks for that. */
typedef struct OpenCase {
        const char *name, *fs_type;
        bool of_device, last;
        bool copy, bind; /* another mount namespace has a copy; a bind mount is there besides */
        bool still_open;
} OpenCase;

static const OpenCase open_cases[] = {
        { "ext4/image/free", "ext4", .last = true },
        { "ext4/image/copy", "ext4", .last = true, .copy = true, .still_open = true },
        { "ext4/image/bind", "ext4", .last = true, .bind = true, .still_open = true },
        { "ext4/image/not-last", "ext4", .copy = true },
        { "ext4/device/free", "ext4", .of_device = true, .last = true },
        { "ext4/device/copy", "ext4", .of_device = true, .last = true, .copy = true, .still_open = true },
        { "xfs/image/free", "xfs", .last = true },
        { "xfs/image/copy", "xfs", .last = true, .copy = true, .still_open = true },
        { "btrfs/image/free", "btrfs", .last = true },
        { "btrfs/device/copy", "btrfs", .of_device = true, .last = true, .copy = true, .still_open = true },
        { "tmpfs/free", "tmpfs", .last = true },
        { "tmpfs/copy", "tmpfs", .last = true, .copy = true },
};

TEST_ROWS(test_still_open, "/unmount/still-open", open_cases, row) {
        const bool tmpfs = g_str_equal(row->fs_type, "tmpfs");
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = tmpfs ? g_strdup("tmpfs") : make_image("still-open", row->fs_type),
                        *target = make_target("still-open"), *bind = make_target("still-open-bind"),
                        *device = image && row->of_device ? attach_loop(image, &loop) : NULL;
        pid_t pid = 0;

        if (!image)
                return;
        assert_ok(mount_with(worker, device ?: image, row->fs_type, target));
        if (row->copy)
                pid = mount_hidden(NULL, NULL);
        if (row->bind)
                must(mount(target, bind, NULL, MS_BIND, NULL));
        for (unsigned i = 0; i < 2; i++) {
                g_auto(Answer) a = expect_ok(row->last ? call_unmount_last(worker, target, mount_id_of(target))
                                                       : call_unmount(worker, target, mount_id_of(target)));

                g_assert_true(a.unmounted);
                g_assert_cmpint(a.still_open, ==, row->still_open && i == 0);
                if (pid > 0)
                        must(program_end(pid, SIGKILL));
                pid = 0;
                if (row->bind && i == 0)
                        must(umount2(bind, 0));
                /* With nobody else the device is free again. */
                if (i == 0)
                        assert_ok(mount_with(worker, device ?: image, row->fs_type, target));
        }
        loop = fd_close(loop);
        if (!tmpfs)
                assert_no_loop(image);
}

/* The note keeps any id. */
TEST(test_note_ids, "/mount/note-ids") {
        static const char *const ids[] = { "a", "[store 1] a/b.vmdk",      "//a\\x20b\\",
                                           " ", "a\nb\033[2J\342\200\256", "\\x5" };
        g_autofree char *target = make_target("note-ids");

        g_assert_cmpint(mount("tmpfs", target, "tmpfs", 0, NULL), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(ids); i++) {
                _cleanup_(mount_note_done) MountNote note = { 0 };
                g_auto(MountFact) fact = mount_fact_of(target);

                note_mount_as(target, ids[i]);
                g_assert_cmpint(mount_note_find(fact.mount_id, fact.device, target, &note), ==, 1);
                g_assert_cmpstr(note.volume, ==, ids[i]);
        }
        must(umount2(target, 0));
}

/* The child changes to the parent directory after its look at the target, just before it unmounts. */
static gpointer mount_over(gpointer worker_of_child) {
        for (;;) {
                g_autofree char *cwd = path_printf("/proc/%i/cwd", (int) worker_find_child(worker_of_child)),
                                *directory = g_file_read_link(cwd, NULL);

                if (g_strcmp0(directory, TEST_TARGETS) == 0)
                        break;
                g_usleep(1000);
        }
        must(mount("on-top", TEST_TARGETS "/covered", "tmpfs", 0, NULL));
        return NULL;
}

/* The worker unmounts the mount that others have put on top after the worker's look at the target, and says
 * that the volume is still mounted. */
TEST(test_unmount_covered, "/unmount-covered") {
        g_autoptr(Worker) slow = worker_start_traced("inject=umount2:delay_enter=3000000");
        g_autofree char *target = make_target("covered");
        GThread *thread;
        uint64_t id;

        if (!slow)
                return;
        must(mount("volume", target, "tmpfs", 0, NULL));
        note_mount(target);
        id = mount_id_of(target);
        thread = g_thread_new("mount", mount_over, slow);
        g_auto(Answer) covered = call_unmount(slow, target, id);
        g_thread_join(thread);
        assert_answer(covered, "Busy");
        assert_message(covered, "mounted over");
        g_assert_cmpuint(mount_id_of(target), ==, id); /* the volume is visible again */

        must(umount2(target, 0));
}

/* A mount over the target or its parent hides the volume. The worker does not take it for gone, and names the
 * mount that hides it. */
TEST_WORDS(test_unmount_hidden, "/unmount-hidden", word, "target", "parent") {
        const char *over = g_str_equal(word, "target") ? "/sub" : "";
        g_autofree char *parent = make_target("hidden"), *target = make_target("hidden/sub"),
                        *covered = path_printf("%s%s", parent, over), *name = path_printf("at '%s'", covered);
        size_t before = count_mounts();
        uint64_t id;

        must(mount("volume", target, "tmpfs", 0, NULL));
        note_mount(target);
        id = mount_id_of(target);
        must(mount("on-top", covered, "tmpfs", 0, NULL));
        assert_fails(call_unmount(worker, target, id), "Busy", "on-top, type tmpfs", name);
        assert_fails(call_unmount(worker, target, 0), "InvalidTarget");
        g_assert_cmpuint(count_mounts(), ==, before + 2);

        must(umount2(covered, 0));
        assert_says(call_unmount(worker, target, id), unmounted, ==, true);
        assert_says(call_unmount(worker, target, id), unmounted, ==, false);
}

static Answer call_verify_root(const char *path, const char *context) {
        return call_verify_labels(worker, path, context, VERIFY_ROOT);
}

TEST(test_labels, "/labels") {
        g_autofree char *image = make_image("label", "ext4"), *target = make_target("label"),
                        *file = path_printf("%s/file", target), *fifo = path_printf("%s/fifo", target),
                        *link = path_printf("%s/link", target);
        static const char stored[] = "system_u:object_r:container_file_t:s0:c2,c1";

        assert_ok(mount_with(worker, image, "ext4", target));

        g_auto(Answer) unlabeled = expect_ok(call_verify_root(target, stored));
        g_assert_false(unlabeled.matches);
        g_assert_cmpstr(unlabeled.actual, ==, "");

        g_assert_true(run("setfattr", "-n", "security.selinux", "-v", stored, target, NULL));
        g_auto(Answer) verified = expect_ok(call_verify_root(target, "system_u:object_r:container_file_t:s0:c1,c2"));
        g_assert_true(verified.matches);
        g_assert_cmpstr(verified.actual, ==, "system_u:object_r:container_file_t:s0:c1,c2");
        assert_says(call_verify_root(target, "system_u:object_r:container_file_t:s0:c1,c3"), matches, ==, false);
        assert_fails(call_verify_root(target, "nonsense"), "InvalidContext");
        assert_says_text(call_adopt(worker, &(Arguments){ .target = target }), outcome.root_context,
                         "system_u:object_r:container_file_t:s0:c1,c2");

        /* The worker does not open files of other kinds: to open a FIFO would block. */
        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        g_assert_cmpint(mkfifo(fifo, 0600), ==, 0);
        g_assert_true(run("setfattr", "-n", "security.selinux", "-v", stored, fifo, NULL));
        assert_says(call_verify_root(fifo, stored), matches, ==, true);
        assert_says(call_verify_root(file, stored), matches, ==, false);
        g_assert_cmpint(symlink("file", link), ==, 0);
        assert_fails(call_verify_root(link, stored), "InvalidTarget");

        /* A label that is no context counts as none. */
        g_assert_true(run("setfattr", "-n", "security.selinux", "-v", "gar\nbage", target, NULL));
        assert_says_text(call_verify_root(target, stored), actual, "");

        g_assert_cmpint(umount2(target, 0), ==, 0);
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

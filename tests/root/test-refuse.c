/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "basic/string-util.h"
#include "operation.h"
#include "wire/protocol.h"

/* The worker refuses these mounts, whatever selvold has checked, and nothing is mounted then. */

typedef struct Row {
        const char *name;
        const char *source, *fs_type, *target, *options, *context;
        const char *kind, *needle; /* NULL: the worker may refuse with any kind */
} Row;

#define T TEST_TARGETS "/"
#define I TEST_IMAGES "/"

#define TARGET(name, target, ...) \
        { "target/" name, I "good", "ext4", target, NULL, NULL, __VA_ARGS__ }
#define SOURCE(name, source, fs_type, ...) \
        { "source/" name, source, fs_type, T "free", NULL, NULL, __VA_ARGS__ }
#define ASKED(name, ...) \
        { name, I "good", "ext4", T "free", __VA_ARGS__ }

/* The worker refuses rows with options or a context after the answer to Plan, others before it asks. */
static const Row rows[] = {
        TARGET("missing", T "missing", "InvalidTarget", "create the directory first"),
        TARGET("missing-parent", T "missing/too", "InvalidTarget", "create the"),
        TARGET("symlink", T "link", "InvalidTarget", "symbolic link"),
        TARGET("symlink-inside", T "link/sub", "InvalidTarget", "symbolic link"),
        TARGET("symlink-out", T "out", "InvalidTarget", "symbolic link"),
        TARGET("symlink-dangling", T "dangling", "InvalidTarget", "symbolic link"),
        TARGET("file", T "file", "InvalidTarget", "not a directory"),
        TARGET("below-file", T "file/sub", "InvalidTarget", "not a directory"),
        TARGET("mounted", T "mounted", "InvalidTarget", "of in-the-way, type tmpfs"),
        TARGET("outside", "/etc", "PathNotAllowed", "TargetRoots="),
        TARGET("outside-missing", "/nowhere", "PathNotAllowed", "TargetRoots="),
        TARGET("root-itself", TEST_TARGETS, "PathNotAllowed", "TargetRoots="),
        TARGET("prefix", TEST_TARGETS "-2/a", "PathNotAllowed", "TargetRoots="),
        TARGET("dot-dot", T "a/../../b", "InvalidTarget", "absolute path without"),
        TARGET("relative", "a", "InvalidTarget", "absolute path without"),
        SOURCE("missing", I "absent", "ext4", "InvalidVolume", "does not exist"),
        SOURCE("directory", I "directory", "ext4", "InvalidVolume", "neither a block device"),
        SOURCE("character-device", "/dev/null", "ext4", "InvalidVolume", "not a block device"),
        SOURCE("fifo", I "fifo", "ext4", "InvalidVolume", "neither a block device"),
        SOURCE("link-out", I "link-out", "ext4", "PathNotAllowed", "followed beneath /dev only"),
        SOURCE("link", I "link", "ext4", "PathNotAllowed", "followed beneath /dev only"),
        SOURCE("link-above", I "here/good", "ext4", "PathNotAllowed", "followed beneath /dev only"),
        SOURCE("device-elsewhere", I "device", "ext4", "PathNotAllowed", "pass the node in /dev"),
        SOURCE("shared-memory", "/dev/shm/image", "ext4", "PathNotAllowed", "another file system than /dev"),
        SOURCE("descriptor", "/dev/fd/0", "ext4", "PathNotAllowed", "another file system than /dev"),
        SOURCE("outside", "/etc/passwd", "ext4", "PathNotAllowed", "SourceRoots="),
        SOURCE("loop-of-links", I "circle", "ext4", "PathNotAllowed", "followed beneath /dev only"),
        SOURCE("detached", "/dev/loop-free", "ext4", "InvalidVolume", "does not exist"),
        SOURCE("share-colon", "server:/export", "ext4", "InvalidVolume", "absolute"),
        SOURCE("nfs-option", "-o:/x", "nfs4", "InvalidVolume", "server:/export"),
        { "type/unknown", I "good", "minix", T "free", NULL, NULL, "TypeNotAllowed", "[FileSystem" },
        { "type/traversal", I "good", "../ext4", T "free", NULL, NULL, "TypeNotAllowed", "[FileSystem" },
        ASKED("option/unlisted", "dioread_lock", NULL, "InvalidOption", "is not allowed for ext4"),
        ASKED("option/suid", "suid", NULL, "InvalidOption", "nosuid"),
        ASKED("option/loop", "loop=/dev/loop5", NULL, "InvalidOption", "is not allowed for ext4"),
        ASKED("option/label", "rootcontext=a:b:c", NULL, "InvalidOption", "label"),
        ASKED("context/off", NULL, "system_u:object_r:container_file_t:s0:c1,c2", "NotSupported", "SELinux is off"),
        ASKED("context/in-options", "context=system_u:object_r:container_file_t:s0", NULL, "InvalidOption",
              "context"),
        ASKED("context/malformed", NULL, "a:b"),
        ASKED("context/injected", NULL, "system_u:object_r:container_file_t:s0\",rootcontext=\"a:b:c"),
};

static void prepare(void) {
        g_autofree char *good = make_image("good", "ext4"), *mounted = make_target("mounted"),
                        *file = path_printf(T "file");

        g_free(make_target("free"));
        g_free(make_target("real/sub"));
        g_assert_nonnull(good);
        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        g_assert_cmpint(symlink(T "real", T "link"), ==, 0);
        g_assert_cmpint(symlink("/etc", T "out"), ==, 0);
        g_assert_cmpint(symlink("nothing", T "dangling"), ==, 0);
        g_assert_cmpint(mount("in-the-way", mounted, "tmpfs", 0, NULL), ==, 0);
        g_assert_cmpint(mkdir(I "directory", 0755), ==, 0);
        g_assert_cmpint(mkfifo(I "fifo", 0600), ==, 0);
        g_assert_cmpint(symlink("/etc/passwd", I "link-out"), ==, 0);
        g_assert_cmpint(symlink("circle", I "circle"), ==, 0);
        must(symlink("good", I "link"));
        must(symlink(".", I "here"));
        must(mknod(I "device", S_IFBLK | 0600, makedev(7, 0)));
}

TEST_ROWS(test_row, "/refuse", rows, row) {
        size_t before = count_mounts();

        g_auto(Answer) mounted = mount_with(worker, row->source, row->fs_type, row->target, .options = row->options,
                                            .context = row->context);
        g_auto(Answer) planned = mount_with(worker, row->source, row->fs_type, row->target, .options = row->options,
                                            .context = row->context, .only_plan = true);
        g_assert_cmpstr(mounted.kind, !=, "ok");
        g_assert_cmpstr(planned.kind, ==, mounted.kind);
        g_assert_cmpstr(planned.message, ==, mounted.message);
        if (row->kind) {
                assert_answer(mounted, row->kind);
                assert_message(mounted, row->needle);
        }
        g_assert_cmpuint(mounted.heard.n_plans, ==, row->options || row->context);
        g_assert_cmpuint(mounted.heard.n_ready, ==, 0);
        g_assert_cmpint(count_mounts(), ==, before);
        assert_no_loop(I "good");
}

TEST(test_only_plan, "/refuse/only-plan") {
        assert_ok(mount_with(worker, I "good", "ext4", T "free", .only_plan = true));
        g_assert_false(is_mounted(T "free"));
        assert_no_loop(I "good");
}

TEST(test_contents, "/refuse/contents") {
        g_autofree char *empty = make_image("empty", NULL), *ext2 = make_image("ext2", "ext2"),
                        *xfs = make_image("x", "xfs");

        assert_fails(call_observe(worker, empty, "", T "free"), "InvalidVolume", "mkfs.ext4");
        /* The worker compares the type with the superblock. For vfat it can't, so only the mount fails. */
        assert_fails(call_observe(worker, empty, "ext4", T "free"), "InvalidVolume", "mkfs.ext4");
        assert_ok(call_observe(worker, empty, "vfat", T "free"));
        assert_fails(mount_with(worker, empty, "vfat", T "free"), "InvalidVolume", "mkfs.ext4");

        assert_fails(call_observe(worker, ext2, "", T "free"), "TypeNotAllowed", "[FileSystem ext2]");
        /* The kernel's ext4 mounts an ext2, too. */
        assert_ok(call_observe(worker, ext2, "ext4", T "free"));

        if (xfs) {
                assert_fails(call_observe(worker, xfs, "ext4", T "free"), "Incompatible", "type xfs, not ext4");
                assert_no_loop(xfs);
        }

        /* The image has the signatures of two file systems. */
        g_assert_true(run("sh", "-c",
                          "mkfs.btrfs -fq \"$1\" && dd if=\"$2\" of=\"$1\" bs=1k skip=1 seek=1 count=1 conv=notrunc",
                          "sh", empty, ext2, NULL));
        assert_fails(call_observe(worker, empty, "", T "free"), "InvalidVolume", "wipefs");
}

TEST_DISKS(test_host_device, "/refuse/host-device", "ext4", "btrfs") {
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image(fs_type, fs_type), *device = attach_loop(image, &loop);

        must(mount(device, "/srv", fs_type, 0, NULL));
        g_auto(Answer) refused = call_observe(worker, device, "", T "free");
        must(umount2("/srv", 0));
        assert_answer(refused, "PathNotAllowed");
        assert_message(refused, "host's own system");
}

static void assert_source(const char *source, const char *kind, const char *needle) {
        assert_fails(call_observe(worker, source, "ext4", T "free"), kind, needle);
}

/* The worker follows links in /dev, which udev makes. Anybody can make links in /dev/shm: the answer is the
 * same for each of these, so it tells the caller nothing of the file that the link leads to. */
TEST(test_links_in_dev, "/refuse/links-in-dev") {
        static const char *const elsewhere[] = { "/etc/shadow", "/etc/no-such-file", "/dev/loop0", "no-such-file",
                                                 "." };
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("linked", "ext4"), *device = attach_loop(image, &loop),
                        *circle = path_printf("selvol-test-%i-circle", (int) getpid()),
                        *directory = path_printf("/dev/shm/selvol-test-%i", (int) getpid()),
                        *link = path_printf("%s/link", directory);
        const struct {
                const char *name, *leads_to, *kind, *needle;
        } links[] = {
                { "relative", strrchr(device, '/') + 1, "ok", NULL },
                { "absolute", device, "ok", NULL },
                { "out", "../etc/shadow", "PathNotAllowed", "pass the device node" },
                { "circle", circle, "InvalidVolume", "too many levels of symbolic links" },
                { "dangling", "no-such-device", "InvalidVolume", "does not exist" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
                g_autofree char *path = make_link(links[i].name, links[i].leads_to);

                assert_source(path, links[i].kind, links[i].needle);
                must(unlink(path));
        }
        must(mkdir(directory, 0700));
        for (size_t i = 0; i < G_N_ELEMENTS(elsewhere); i++) {
                must(symlink(elsewhere[i], link));
                assert_source(link, "PathNotAllowed", "another file system than /dev");
                must(unlink(link));
        }
        must(rmdir(directory));
}

/* Another user than root can change each of these images, or put another file in its place. */
TEST(test_images_of_others, "/refuse/images-of-others") {
        static const struct {
                const char *path;
                mode_t mode;
                uid_t uid;
        } changes[] = {
                { I "others/image", 0600, 1000 }, { I "others/image", 0620, 0 }, { I "others/image", 0602, 0 },
                { I "others", 0755, 1000 },       { I "others", 0775, 0 },       { I "others", 01777, 0 },
        };
        g_autofree char *image = NULL;

        must(mkdir(I "others", 0755));
        image = make_image("others/image", "ext4");
        assert_ok(call_observe(worker, image, "ext4", T "free"));

        g_autoptr(Worker) trusting = worker_start("[Worker]\nImagesOfOthers=yes\n", NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(changes); i++) {
                g_autofree char *named = path_printf("'%s' must belong to root", changes[i].path);

                must(chown(changes[i].path, changes[i].uid, 0));
                must(chmod(changes[i].path, changes[i].mode));
                assert_source(image, "PathNotAllowed", named);
                assert_source(image, "PathNotAllowed", "ImagesOfOthers=");
                assert_ok(call_observe(trusting, image, "ext4", T "free"));
                must(chown(changes[i].path, 0, 0));
                must(chmod(changes[i].path, streq(changes[i].path, image) ? 0600 : 0755));
        }
}

/* Root in a container can write an image on its volume, and the image belongs to root then. The worker
 * therefore refuses images beneath the target roots. An emptyDir is no mount: it is on the host's own file
 * system. */
TEST(test_image_on_volume, "/refuse/image-on-volume") {
        static const char roots[] = "[Worker]\nSourceRoots=" TEST_TARGETS "\n";
        static const struct {
                const char *directory;
                bool is_mount;
        } volumes[] = { { "emptydir", false }, { "emptydir/below", false }, { "volume", true } };
        g_autofree char *trust = path_printf("%sImagesOfOthers=yes\n", roots);
        g_autoptr(Worker) w = worker_start(roots, NULL), trusting = worker_start(trust, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(volumes); i++) {
                g_autofree char *volume = make_target(volumes[i].directory), *image = path_printf("%s/image", volume),
                                *missing = path_printf("%s/missing", volume);

                if (volumes[i].is_mount)
                        must(mount("tmpfs", volume, "tmpfs", 0, "mode=755,size=64m"));
                must(chmod(volume, 0755));
                g_assert_true(image_make(image, 16 << 20, "ext4", NULL));
                assert_fails(call_observe(w, image, "ext4", T "free"), "PathNotAllowed",
                             "is beneath TargetRoots=", "ImagesOfOthers=");
                assert_fails(call_observe(w, missing, "ext4", T "free"), "PathNotAllowed");
                assert_ok(call_observe(trusting, image, "ext4", T "free"));
                if (volumes[i].is_mount)
                        must(umount2(volume, 0));
        }
}

/* Another program writes to the image while selvold plans. */
TEST(test_superblock_changes, "/refuse/superblock-changes") {
        g_autofree char *image = make_image("changes", "ext4");
        Operation *o =
                operation_start_held(worker, WORKER_MOUNT, &volume_at(image, "ext4", T "free", .hold_plan = true));

        g_assert_true(run("tune2fs", "-o", "debug", image, NULL));
        operation_answer(o);
        assert_fails(operation_finish(o), "InvalidOption", "Mount option 'debug' is not allowed for ext4");
        g_assert_false(is_mounted(T "free"));
        assert_no_loop(image);
}

/* The kernel takes mount options from the superblock, too. The same options are allowed for these. */
TEST(test_superblock_asks, "/refuse/superblock-asks") {
        static const struct {
                const char *flag, *options;
                bool no_list; /* no option is allowed */
                const char *kind, *needle;
        } asks[] = {
                { "-E", "mount_opts=nobarrier", false, "ok", NULL },
                { "-E", "mount_opts=debug", false, "InvalidOption", "Mount option 'debug' is not allowed for ext4" },
                { "-E", "mount_opts=errors=panic", false, "InvalidOption", "'errors=panic'" },
                { "-E", "mount_opts=journal_path=/dev/loop1", false, "InvalidOption",
                  "\"tune2fs -E mount_opts= DEVICE\"" },
                { "-E", "mount_opts=context=a:b:c:s0", false, "InvalidOption", "context" },
                { "-E", "mount_opts=", false, "ok", NULL },
                { "-o", "debug", false, "InvalidOption", "Mount option 'debug' is not allowed for ext4" },
                { "-o", "debug", false, "InvalidOption", "\"tune2fs -o ^debug DEVICE\"" },
                { "-o", "^debug,bsdgroups", false, "InvalidOption", "'grpid'" },
                { "-o", "^bsdgroups,uid16", false, "InvalidOption", "'nouid32'" },
                { "-o", "^uid16,block_validity", false, "InvalidOption", "'block_validity'" },
                { "-o", "^block_validity,discard,nobarrier,nodelalloc,journal_data", false, "ok", NULL },
                { "-o", "journal_data", true, "InvalidOption", "'data=journal'" },
                { "-o", "journal_data_ordered", true, "InvalidOption", "'data=ordered'" },
                { "-o", "journal_data_writeback", true, "InvalidOption",
                  "\"tune2fs -o ^journal_data_writeback DEVICE\"" },
                { "-o", "^journal_data_writeback", true, "InvalidOption", "'nobarrier'" },
                { "-o", "^nobarrier", true, "InvalidOption", "'discard'" },
                { "-o", "^discard", true, "InvalidOption", "'nodelalloc'" },
                { "-o", "^nodelalloc,acl,user_xattr", true, "ok", NULL },
                { "-o", "^acl,^user_xattr", true, "ok", NULL },
        };
        g_autoptr(Worker) strict = worker_start("[FileSystem ext4]\nMountOptions=\n", NULL);
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("asks", "ext4"), *log = make_image("journal", NULL),
                        *journal = attach_loop(log, &loop), *option = path_printf("device=%s", journal);

        for (size_t i = 0; i < G_N_ELEMENTS(asks); i++) {
                g_test_message("%s %s", asks[i].flag, asks[i].options);
                g_assert_true(run("tune2fs", asks[i].flag, asks[i].options, image, NULL));
                assert_fails(call_observe(asks[i].no_list ? strict : worker, image, "ext4", T "free"), asks[i].kind,
                             asks[i].needle);
        }

        g_assert_true(run("mke2fs", "-q", "-F", "-b", "4096", "-O", "journal_dev", journal, NULL));
        g_assert_true(run("mkfs.ext4", "-q", "-F", "-b", "4096", "-J", option, image, NULL));
        assert_source(image, "InvalidOption", "journal on another device");
}

/* The path leads to another device when the worker mounts than when the worker has checked it. */
TEST(test_device_replaced, "/refuse/device-replaced") {
        g_autofree char *checked = make_image("checked", "ext4"), *other = make_image("other", "ext4"),
                        *path = path_printf("/dev/selvol-test-%i-block", (int) getpid()),
                        *next = path_printf("%s-next", path);
        int loops[2];
        char *devices[] = { attach_loop(checked, &loops[0]), attach_loop(other, &loops[1]) };
        struct stat st[2];
        Operation *o;

        for (size_t i = 0; i < G_N_ELEMENTS(st); i++)
                must(stat(devices[i], &st[i]));
        must(mknod(path, S_IFBLK | 0600, st[0].st_rdev));
        o = operation_start_held(worker, WORKER_MOUNT, &volume_at(path, "ext4", T "free", .hold_plan = true));

        must(mknod(next, S_IFBLK | 0600, st[1].st_rdev));
        must(rename(next, path));
        operation_answer(o);
        assert_fails(operation_finish(o), "MountFailed", "another device was mounted");
        g_assert_false(is_mounted(T "free"));
        must(unlink(path));
        for (size_t i = 0; i < G_N_ELEMENTS(loops); i++) {
                close(loops[i]);
                g_free(devices[i]);
        }
}

/* The kernel tells the reason through a file system context; mount(2) returns only an error number. */
TEST(test_bad_value, "/refuse/bad-value") {
        assert_fails(mount_with(worker, I "good", "ext4", T "free", .options = "commit=never"), "MountFailed",
                     stages_in_namespace() ? "journalctl -k" : "commit");
        g_assert_false(is_mounted(T "free"));
        assert_no_loop(I "good");
}

TEST(test_read_only_image, "/read-only-image") {
        g_autofree char *image = make_image("read-only", "ext4");
        Arguments a = volume_at(image, "ext4", T "free");

        g_assert_cmpint(mount(image, image, NULL, MS_BIND, NULL), ==, 0);
        g_assert_cmpint(mount(NULL, image, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        assert_says(call_observe(worker, image, "", T "free"), question.observed.device_read_only, ==, true);
        assert_fails(call_mount(worker, &a), "MountFailed", "read-only");
        a.read_only = true;
        assert_says(call_mount(worker, &a), outcome.superblock_read_only, ==, true);
        g_assert_cmpint(umount2(T "free", 0), ==, 0);
        g_assert_cmpint(umount2(image, 0), ==, 0);
}

/* SELinux is enforcing, as far as the worker reads, and denies a system call. */
typedef struct Denial {
        const char *name, *injection;
        const char *needle, *remedy;
        bool of_context; /* of a file system context */
} Denial;

static void test_denied(gconstpointer data) {
        const char label[] = "system_u:object_r:mnt_t:s0";
        const Denial *d = data;
        g_autofree char *image = make_image("denied", "ext4"), *target = make_target("denied");
        g_autoptr(Worker) traced = worker_start_traced(d->injection);

        if (!traced)
                return;
        must(mount("tmpfs", "/sys/fs", "tmpfs", 0, NULL));
        must(mkdir("/sys/fs/selinux", 0755));
        g_assert_true(g_file_set_contents("/sys/fs/selinux/enforce", "1", -1, NULL));
        must(setxattr(target, "security.selinux", label, sizeof(label), 0));
        must(setxattr(image, "security.selinux", label, sizeof(label), 0));
        g_auto(Answer) denied = mount_with(traced, image, "ext4", target);
        g_assert_true(g_file_set_contents("/sys/fs/selinux/enforce", "0", -1, NULL));
        g_auto(Answer) permitted = mount_with(traced, image, "ext4", target);
        must(umount2("/sys/fs", 0));
        assert_answer(denied, "SELinuxDenied");
        assert_message(denied, d->needle);
        assert_message(denied, d->remedy);
        g_assert_cmpstr(permitted.kind, !=, "ok");
        g_assert_cmpstr(permitted.kind, !=, "SELinuxDenied");
        g_assert_false(is_mounted(target));
}

#define TO_READ_ONLY "inject=faccessat2:error=EACCES"

/* An image that may be read, and not written, can be mounted read-only. */
TEST(test_denied_writing, "/refuse/denied-writing") {
        g_autofree char *image = make_image("denied-writing", "ext4"), *target = make_target("denied-writing");
        Arguments a = volume_at(image, "ext4", T "free", .read_only = true);
        g_autoptr(Worker) traced = worker_start_traced(TO_READ_ONLY);

        if (!traced)
                return;
        assert_says(call_mount(traced, &a), outcome.superblock_read_only, ==, true);
        a.target = target;
        a.read_only = false;
        assert_fails(call_mount(traced, &a), "MountFailed", "can't be used (EACCES)");
        g_assert_cmpint(umount2(T "free", 0), ==, 0);
        assert_no_loop(image);
}

TEST(test_not_mounted, "/refuse/not-mounted") {
        assert_fails(call_adopt(worker, &(Arguments){ .target = T "free" }), "InvalidTarget", "Nothing is mounted");
        assert_fails(call_adopt(worker, &(Arguments){ .target = "/proc" }), "PathNotAllowed");
        g_auto(Answer) unmounted = expect(call_adopt(worker, &(Arguments){ .target = T "free" }), "InvalidTarget");
        g_assert_cmpuint(unmounted.heard.n_plans, ==, 0);
        assert_fails(call_verify_labels(worker, "/etc/shadow", "a:b:c", VERIFY_ROOT), "PathNotAllowed");
}

TEST(test_root_directory, "/root-directory") {
        g_autoptr(Worker) missing =
                worker_start("[Worker]\nTargetRoots=\nTargetRoots=/run/selvol-test/absent\n", NULL);

        assert_fails(call_observe(missing, I "good", "", "/run/selvol-test/absent/a"), "InvalidTarget",
                     "root /run/selvol-test/absent");
        assert_says(call_unmount(missing, "/run/selvol-test/absent/a", 0), unmounted, ==, false);

        g_assert_cmpint(symlink(TEST_TARGETS, TEST_DIR "/aliased"), ==, 0);
        g_autoptr(Worker) link = worker_start("[Worker]\nTargetRoots=\nTargetRoots=/run/selvol-test/aliased\n", NULL);
        assert_fails(call_observe(link, I "good", "", "/run/selvol-test/aliased/free"), "PathNotAllowed",
                     "leads to " TEST_TARGETS " by a symbolic link: add TargetRoots=" TEST_TARGETS " under [Worker]",
                     "--root-dir");
}

TEST(test_no_roots, "/refuse/no-roots") {
        g_autoptr(Worker) none = worker_start("[Worker]\nTargetRoots=\n", NULL);

        assert_fails(mount_with(none, I "good", "ext4", TEST_TARGETS "/free"), "PathNotAllowed");
        assert_fails(call_change(none, &(Arguments){ .source = I "good", .fs_type = "ext4" }), "PathNotAllowed",
                     "TargetRoots=");
}

/* A service that systemd gives a mount namespace of its own gets slaves of the host's mounts. */
TEST(test_not_propagating, "/not-propagating") {
        g_assert_cmpint(mount("tmpfs", TEST_DIR, "tmpfs", 0, NULL), ==, 0);
        g_assert_cmpint(mount(NULL, TEST_DIR, NULL, MS_SHARED, NULL), ==, 0);
        g_autofree char *target = make_target("slave");

        const char *const wrapper[] = { "unshare", "-m", "--propagation", "slave", NULL };
        g_autoptr(Worker) w = worker_start(NULL, wrapper);
        assert_fails(call_observe(w, "tmpfs", "tmpfs", target), "NotPropagating", "ProtectSystem=");
        assert_fails(mount_with(w, "tmpfs", "tmpfs", target), "NotPropagating");

        g_clear_pointer(&w, worker_stop);
        g_assert_cmpint(umount2(TEST_DIR, MNT_DETACH), ==, 0);
}

#define TO_TYPE       "semanage fcontext -a -t container_file_t '"
#define TO_IMAGE_TYPE "semanage fcontext -a -t selvol_image_t '"
#define TO_LOAD       "ausearch -m AVC -c selvol-worker | audit2allow -M selvol-local && semodule -i selvol-local.pp"

void add_tests(void) {
        static const Denial denials[] = {
                { "attach", "inject=move_mount:error=EACCES", .needle = "the target '" T "denied' of type mnt_t",
                  .remedy = TO_TYPE TEST_TARGETS "(/.*)?' && restorecon -RFx " TEST_TARGETS },
                { "image", TO_READ_ONLY, .needle = "the image '" I "denied' of type mnt_t",
                  .remedy = TO_IMAGE_TYPE TEST_IMAGES "(/.*)?' && restorecon -RFx " TEST_IMAGES },
                { "mount", "inject=fsconfig:error=EACCES:when=2+", .needle = "a mount of " I "denied as ext4",
                  .remedy = TO_LOAD, .of_context = true },
                /* A step without words of its own. */
                { "step", "inject=mount_setattr:error=EACCES", .needle = "a step of Mount", .remedy = TO_LOAD },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(denials); i++) {
                g_autofree char *path = path_printf("/refuse/denied/%s", denials[i].name);

                /* A worker that stages in a namespace makes no file system context. */
                if (!denials[i].of_context || !stages_in_namespace())
                        g_test_add_data_func(path, &denials[i], test_denied);
        }
        prepare();
        worker = worker_start(NULL, NULL);
}

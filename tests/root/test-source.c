/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "volumes.h"
#include "wire/protocol.h"

/* The worker can't read a source, the source has no file system, or it becomes another one during a mount. */

/* Makes an image that has a file with its own name. */
static char *make_image_with(const char *name) {
        g_autoptr(TestVolume) v = volume_mount(name, "ext4", 0);
        g_autofree char *file = path_printf("%s/%s", v->target, name);

        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        return g_strdup(v->image);
}

/* The worker must not say that a source has no file system if any of its reads has failed. */
typedef struct Unreadable {
        const char *name, *injection, *kind, *needle;
} Unreadable;

static void test_unreadable(gconstpointer data) {
        const Unreadable *u = data;
        g_autofree char *image = make_image("unreadable", "ext4"), *target = make_target("unreadable");
        g_autoptr(Worker) traced = worker_start_traced_at(image, u->injection);

        if (!traced)
                return;
        g_auto(Answer) answer = call_observe(traced, image, "", target);
        g_test_message("%s: %s", answer.kind, answer.message);
        assert_answer(answer, u->kind);
        assert_message(answer, u->needle);
        g_assert_null(strstr(answer.message, "mkfs"));
}

/* A loop device over another image, of which each question would wait for a server, is asked nothing. A path
 * of the host, beneath which there is no btrfs, is not opened. */
TEST_WORDS(test_strangers, "/source/strangers", fs_type, "ext4", "btrfs") {
        g_autofree char *image = make_image("strangers", fs_type), *apart = make_target("strangers-apart"),
                        *other = path_printf("%s/other", apart), *one = make_target("strangers-one"),
                        *two = make_target("strangers-two"), *device = NULL;
        int loop;

        if (!image)
                return;
        must(mount("apart", apart, "tmpfs", 0, NULL));
        g_assert_true(image_make(other, 32 * 1024 * 1024, "ext4", NULL));
        device = attach_loop(other, &loop);
        must(mount("stranger", "/srv", "tmpfs", 0, NULL));
        for (gsize i = 0; i < 2; i++) {
                const char *path = i == 0 ? device : "/srv";
                g_autoptr(Worker) traced = worker_start_traced_at(path, "inject=ioctl,openat:error=EIO");

                if (!traced)
                        break;
                assert_ok(mount_with(traced, image, fs_type, one));
                assert_ok(call_observe(traced, image, fs_type, two));
                assert_ok(call_unmount_of(traced, one, mount_id_of(one), image, fs_type));
        }
        must(umount2("/srv", 0));
        close(loop);
        must(umount2(apart, MNT_DETACH));
}

/* The worker knows the loop device that it has attached to the image, whatever the image's name. */
TEST(test_other_name, "/source/other-name") {
        g_autofree char *image = make_image("name", "ext4"), *one = make_target("name-one"),
                        *link_to = path_printf(TEST_IMAGES "/name-link"), *two = make_target("name-two");

        if (!image)
                return;
        must(link(image, link_to));
        assert_ok(mount_with(worker, image, "ext4", one));
        g_auto(Answer) observed = expect_ok(call_observe(worker, link_to, "ext4", two));
        g_assert_cmpint(observed.question.observed.n_mounts, ==, 1);
        must(umount2(one, 0));
        must(unlink(link_to));
        assert_no_loop(image);
}

/* The image has a partition of 10,000 sectors, so the message must not advise to make a file system. */
TEST(test_partitions, "/source/partitions") {
        static const unsigned char table[66] = {
                [1] = 0, 2, 0, 0x83, 0, 0, 0, 0x00, 0x08, 0, 0, 0x10, 0x27, 0, 0, [64] = 0x55, 0xaa,
        };
        g_autofree char *image = make_image("partitions", NULL), *target = make_target("partitions");
        _cleanup_close_ int fd = open_path(image, O_WRONLY);

        g_assert_cmpint(pwrite(fd, table, sizeof(table), 446), ==, sizeof(table));
        g_auto(Answer) answer = expect(call_observe(worker, image, "", target), "InvalidVolume", "partitions (dos)");
        g_assert_null(strstr(answer.message, "mkfs"));
        assert_message(answer, "losetup -Pf");
}

/* An image that holds something else than a file system, whatever type the caller names. */
typedef struct Contained {
        const char *name, *command, *remedy;
} Contained;

static const Contained contained[] = {
        { "luks", "printf 'LUKS\\272\\276\\0\\1' | dd conv=notrunc status=none of=", "cryptsetup open" },
        { "swap", "mkswap -q ", "lsblk -f" },
};

TEST_ROWS(test_contained, "/source/contained", contained, c) {
        static const char *const types[] = { "", "ext4", "xfs" };
        g_autofree char *image = make_image(c->name, NULL), *target = make_target(c->name),
                        *command = g_strdup_printf("%s%s", c->command, image);

        g_assert_cmpint(system(command), ==, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(types); i++) {
                g_auto(Answer) answer =
                        expect(call_observe(worker, image, types[i], target), "InvalidVolume", c->remedy);

                assert_message(answer, "holds no file system, but");
                g_assert_null(strstr(answer.message, "[FileSystem"));
        }
}

/* udev's links for a device, which the test makes, and the names that lead to them. */
TEST(test_tags, "/source/tags") {
        static const char *const links[] = { "by-label/selvol\\x20a\\x2fb", "by-partuuid/selvol-01" },
                                 *const names[] = { "LABEL=selvol a/b", "PARTUUID=selvol-01",
                                                    "/dev/disk/by-label/selvol\\x20a\\x2fb" },
                                 *const missing[] = { "LABEL=selvol a", "UUID=selvol-01", "LABEL=..", "LABEL=." };
        int loop;
        g_autofree char *image = make_image("tagged", "ext4"), *target = make_target("tagged"),
                        *device = attach_loop(image, &loop);

        for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
                g_autofree char *link = g_strdup_printf("/dev/disk/%s", links[i]), *above = g_path_get_dirname(link);

                must(g_mkdir_with_parents(above, 0755));
                (void) unlink(link);
                must(symlink(device, link));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_auto(Answer) answer = expect_ok(mount_with(worker, names[i], "", target));

                g_assert_cmpstr(answer.outcome.fact.source, ==, device);
                must(umount2(target, 0));
        }
        for (size_t i = 0; i < G_N_ELEMENTS(missing); i++) {
                g_auto(Answer) answer =
                        expect(call_observe(worker, missing[i], "", target), "InvalidVolume", "lsblk -o NAME,LABEL");

                assert_message(answer, missing[i]);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(links); i++) {
                g_autofree char *link = g_strdup_printf("/dev/disk/%s", links[i]);

                must(unlink(link));
        }
        close(loop);
}

/* The loop device of the image goes to another image after the worker has found it, and before the worker
 * opens it again. Returns false if another process has got the device, which proves nothing. */
static bool try_loop_reused(const char *one, const char *other, const char *target) {
        int loop;
        g_autofree char *file = path_printf("%s/one", target), *device = attach_loop(one, &loop), *again = NULL;
        /* The fourth close(2) of the device is the one after the look that follows the question. */
        g_autoptr(Worker) traced = worker_start_traced_at(device, "inject=close:signal=STOP:when=4");
        bool reused;
        pid_t child;
        Operation *o;

        if (!traced)
                return true;
        o = operation_start_held(traced, WORKER_MOUNT, &volume_at(one, "ext4", target, .hold_plan = true));
        child = worker_find_child(traced);
        operation_answer(o);
        WAIT_FOR(file_count_lines(WORKER_TRACE, "*stopped by SIGSTOP*") > 0);
        close(loop);
        again = attach_loop(other, &loop);
        reused = g_str_equal(again, device);
        must(kill(child, SIGCONT));

        g_auto(Answer) mounted = expect_ok(operation_finish(o));
        if (reused)
                g_assert_cmpstr(mounted.outcome.fact.source, !=, device);
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
        must(umount2(target, 0));
        close(loop);
        assert_no_loop(one);
        return reused;
}

TEST(test_loop_reused, "/source/loop-reused") {
        g_autofree char *one = make_image_with("one"), *other = make_image_with("other"),
                        *target = make_target("loop-reused");

        WAIT_FOR(try_loop_reused(one, other, target));
}

/* Does not count the files of gcov, which a program that is built for tools/coverage writes. */
static unsigned count_opened_for_writing(const char *log) {
        return file_count_lines(log, "*O_WRONLY*") + file_count_lines(log, "*O_RDWR*") -
               file_count_lines(log, "*.gcda\"*O_RDWR*");
}

/* A look opens nothing for writing, because udev would probe the device, and an image would be newer. */
TEST(test_only_looks, "/source/only-looks") {
        static const char log[] = TEST_DIR "/opened";
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *image = make_image("looked-at", "ext4"), *attached = make_image("attached", "ext4"),
                        *target = make_target("looked-at"), *device = attach_loop(attached, &loop);
        g_autoptr(TestVolume) v = volume_mount("mounted", "ext4", 0);
        g_autoptr(Worker) traced = worker_start_logged("trace=open,openat,openat2,creat", log);

        if (!traced)
                return;
        const char *const sources[] = { image, attached, device, v->image, v->device };
        unsigned before = count_opened_for_writing(log);

        for (size_t i = 0; i < G_N_ELEMENTS(sources); i++) {
                assert_ok(call_observe(traced, sources[i], "ext4", target));
                assert_ok(call_observe(traced, sources[i], "", target));
        }
        fill_tree(v->target, 2, 2);
        for (VerifyDepth depth = 0; depth < VERIFY_DEPTHS; depth++)
                assert_ok(call_verify_labels(traced, v->target, LABEL_1, depth));
        g_assert_cmpuint(count_opened_for_writing(log), ==, before);
        assert_no_loop(image);

        /* The log shows that a mount opens for writing. */
        assert_ok(mount_with(traced, image, "ext4", target));
        g_assert_cmpuint(count_opened_for_writing(log), >, before);
        must(umount2(target, 0));
}

void add_tests(void) {
        static const Unreadable unreadable[] = {
                { "all", "inject=read,pread64:error=EIO", "MountFailed", "EIO" },
                { "first", "inject=read,pread64:error=EIO:when=1", "MountFailed", "EIO" },
                { "later", "inject=read,pread64:error=ENODEV:when=5+", "MountFailed", "ENODEV" },
                { "memory", "inject=read,pread64:error=ENOMEM:when=3+", "WorkerFailed", "Cannot allocate memory" },
        };

        worker = worker_start(NULL, NULL);
        add_rows("/source/unreadable", unreadable, test_unreadable);
}

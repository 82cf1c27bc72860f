/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "volumes.h"
#include "wire/protocol.h"

/* Sources that can't be read, that hold something else, or that become another one under way. */

/* An image with a file of that name in it. */
static char *make_image_with(const char *name) {
        g_autofree char *image = make_image(name, "ext4"), *directory = make_target("fill"),
                        *file = path_printf("%s/%s", directory, name);
        char *device;
        int loop;

        device = attach_loop(image, &loop);
        must(mount(device, directory, "ext4", 0, NULL));
        g_assert_true(g_file_set_contents(file, "", -1, NULL));
        must(umount2(directory, 0));
        close(loop);
        g_free(device);
        return g_steal_pointer(&image);
}

/* What can't be read is never said to hold nothing, whichever read fails, and for whatever reason. */
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

/* One primary partition of 10,000 sectors. Nobody is told to make a file system over it. */
static void test_partitions(void) {
        static const unsigned char table[66] = {
                [1] = 0, 2, 0, 0x83, 0, 0, 0, 0x00, 0x08, 0, 0, 0x10, 0x27, 0, 0, [64] = 0x55, 0xaa,
        };
        g_autofree char *image = make_image("partitions", NULL), *target = make_target("partitions");
        int fd = open(image, O_WRONLY | O_CLOEXEC);

        must(fd);
        g_assert_cmpint(pwrite(fd, table, sizeof(table), 446), ==, sizeof(table));
        close(fd);
        g_auto(Answer) answer = expect(call_observe(worker, image, "", target), "InvalidVolume", "partitions (dos)");
        g_assert_null(strstr(answer.message, "mkfs"));
}

/* Between looking for the image's loop device and opening it again, the device goes to another image; or to
 * another process, which shows nothing: then false is returned. */
static bool try_loop_reused(const char *one, const char *other, const char *target) {
        g_autofree char *file = path_printf("%s/one", target), *device = NULL, *again = NULL;
        Arguments a = { .source = one, .fs_type = "ext4", .target = target, .hold_plan = true };
        g_autoptr(Worker) traced = NULL;
        bool reused;
        pid_t child;
        Operation *o;
        int loop;

        device = attach_loop(one, &loop);
        /* The fourth time, after the question: whether it is in use was asked, and it was found once more. */
        traced = worker_start_traced_at(device, "inject=close:signal=STOP:when=4");
        if (!traced)
                return true;
        o = operation_start_held(traced, WORKER_MOUNT, &a);
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

static void test_loop_reused(void) {
        g_autofree char *one = make_image_with("one"), *other = make_image_with("other"),
                        *target = make_target("loop-reused");

        WAIT_FOR(try_loop_reused(one, other, target));
}

/* But for the files of gcov, in which a program that is built for tools/coverage writes down what it has
 * run. */
static unsigned count_opened_for_writing(const char *log) {
        return file_count_lines(log, "*O_WRONLY*") + file_count_lines(log, "*O_RDWR*") -
               file_count_lines(log, "*.gcda\"*O_RDWR*");
}

/* Who may only look has nothing opened for writing, which others would notice: udev probes a device then,
 * and an image is newer. */
static void test_only_looks(void) {
        g_autofree char *image = make_image("looked-at", "ext4"), *attached = make_image("attached", "ext4"),
                        *target = make_target("looked-at"), *device = NULL;
        static const char log[] = TEST_DIR "/opened";
        g_autoptr(TestVolume) v = volume_mount("mounted", "ext4", 0);
        g_autoptr(Worker) traced = worker_start_logged("trace=open,openat,openat2,creat", log);
        int loop;

        if (!traced)
                return;
        device = attach_loop(attached, &loop);
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

        /* As a mount has. */
        assert_ok(mount_with(traced, image, "ext4", target));
        g_assert_cmpuint(count_opened_for_writing(log), >, before);
        must(umount2(target, 0));
        close(loop);
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
        g_test_add_func("/source/partitions", test_partitions);
        g_test_add_func("/source/loop-reused", test_loop_reused);
        g_test_add_func("/source/only-looks", test_only_looks);
}

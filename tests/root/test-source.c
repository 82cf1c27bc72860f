/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "operation.h"
#include "wire/protocol.h"

/* Sources that can't be read, that hold something else, or that become another one under way. */

static Worker *worker;

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

/* Between looking for the image's loop device and opening it again, the device goes to another image. */
static void test_loop_reused(void) {
        g_autofree char *one = make_image_with("one"), *other = make_image_with("other"),
                        *target = make_target("loop-reused"), *file = path_printf("%s/one", target), *device = NULL,
                        *again = NULL;
        Arguments a = { .source = one, .fs_type = "ext4", .target = target, .hold_plan = true };
        g_autoptr(Worker) slow = NULL;
        Operation *o;
        int loop;

        device = attach_loop(one, &loop);
        /* The fourth time, after the question: whether it is in use was asked, and it was found once more. */
        slow = worker_start_traced_at(device, "inject=openat:delay_enter=3000000:when=4");
        if (!slow)
                return;
        o = operation_start(slow, WORKER_MOUNT, &a);
        operation_wait(o, o->held);
        operation_answer(o);
        g_usleep(G_USEC_PER_SEC);
        close(loop);
        /* Unless another process was faster. */
        again = attach_loop(other, &loop);
        g_test_message("%s, then %s", device, again);

        g_auto(Answer) mounted = operation_finish(o);
        assert_answer(mounted, "ok");
        g_assert_cmpstr(mounted.outcome.fact.source, !=, device);
        g_assert_true(g_file_test(file, G_FILE_TEST_EXISTS));
        must(umount2(target, 0));
        close(loop);
        g_assert_cmpint(count_loops(one), ==, 0);
}

int main(int argc, char **argv) {
        int r;

        g_test_init(&argc, &argv, NULL);
        if (!test_enter())
                return 77;

        worker = worker_start(NULL, NULL);
        g_test_add_func("/source/loop-reused", test_loop_reused);
        r = g_test_run();
        worker_stop(worker);
        return r;
}

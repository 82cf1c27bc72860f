/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "basic/string-util.h"
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "volumes.h"
#include "wire/protocol.h"

/* Mount with replace: what the test has mounted, as a driver does, makes way for the worker's mount. */

typedef struct Driver {
        char *image, *device, *target;
        int loop;
        uint64_t id;
} Driver;

static void driver_mount(Driver *d, const char *fs_type, const char *options) {
        g_assert_true(run("mount", "-t", fs_type, "-o", options, d->device, d->target, NULL));
        d->id = mount_id_of(d->target);
}

static Driver *driver_new(const char *name, const char *fs_type, const char *options) {
        g_autofree Driver *d = g_new0(Driver, 1);

        d->image = make_image(name, fs_type);
        if (!d->image)
                return NULL;
        d->device = attach_loop(d->image, &d->loop);
        d->target = make_target(name);
        driver_mount(d, fs_type, options);
        return g_steal_pointer(&d);
}

static void driver_end(Driver *d) {
        while (umount2(d->target, 0) >= 0)
                ;
        close(d->loop);
        g_free(d->image);
        g_free(d->device);
        g_free(d->target);
        g_free(d);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Driver, driver_end)

#define replace(d, ...) mount_with(worker, (d)->device, "", (d)->target, .replace = true __VA_OPT__(, ) __VA_ARGS__)

/* The driver's mount is as it was. */
static void assert_untouched(const Driver *d) {
        g_assert_cmpuint(mount_id_of(d->target), ==, d->id);
        g_assert_cmpuint(count_mounts(), ==, 1);
}

static void assert_replaced(const Driver *d, const Answer *a) {
        const MountFact *m = &a->outcome.fact;

        g_assert_cmpint(mount_note_find(m->mount_id, m->device, d->target, NULL), ==, 1);
        g_assert_cmpuint(a->outcome.fact.mount_id, ==, mount_id_of(d->target));
        g_assert_cmpuint(count_mounts(), ==, 1);
}

static char **options_of(const char *target) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        char **options;

        g_assert_cmpint(mount_table_read(NULL, &table), ==, 0);
        g_assert_cmpint(mount_table_find_options(table, mount_id_of(target), &options), ==, 0);
        return options;
}

static const struct {
        const char *name, *fs_type, *options;
} option_rows[] = {
        { "none", "ext4", "rw" },
        { "ext4", "ext4", "noatime,nodiratime,noexec,discard,commit=7" },
        { "strict", "ext4", "strictatime,sync" },
        { "read-only", "ext4", "ro" },
        { "xfs", "xfs", "nouuid,noatime,logbufs=4,lazytime" },
        { "btrfs", "btrfs", "compress=zstd:3,nosymfollow" },
};

/* The new mount has all options of the one before, shows the same files, and is selvol's to unmount. */
TEST_ROWS(test_options, "/replace/options", option_rows, row) {
        g_autoptr(Driver) d = driver_new("options", row->fs_type, row->options);
        _cleanup_strv_ char **before = NULL, **after = NULL;

        if (!d)
                return;
        before = options_of(d->target);
        g_auto(Answer) mounted = expect_ok(replace(d));
        assert_replaced(d, &mounted);
        after = options_of(d->target);
        for (char **option = before; option && *option; option++)
                if (!strv_contains(after, *option))
                        g_error("%s is lost", *option);
        g_assert_cmpint(is_read_only(d->target), ==, g_str_equal(row->name, "read-only"));
        g_assert_cmpuint(mounted.question.observed.n_mounts, ==, 0);

        /* selvold did not name the mount: that is none to be replaced. */
        assert_fails(replace(d), "InvalidTarget", "is a mount already");
        const MountIdentity own = { .id = mounted.outcome.fact.mount_id, .device = mounted.outcome.fact.device };
        assert_says(replace(d, .expected = own), repeated, ==, true);
        assert_says(call_unmount(worker, d->target, own.id), unmounted, ==, true);
        /* Nothing is there to be replaced. */
        assert_ok(replace(d));
}

/* The copy of a mounted xfs has the same UUID: without nouuid it could not be mounted again. */
TEST(test_copy, "/replace/copy") {
        g_autoptr(Driver) original = driver_new("copy", "xfs", "rw"), copy = NULL;

        if (!original)
                return;
        must(umount2(original->target, 0));
        g_assert_true(run("cp", original->image, TEST_IMAGES "/copied", NULL));
        copy = g_new0(Driver, 1);
        copy->image = g_strdup(TEST_IMAGES "/copied");
        copy->device = attach_loop(copy->image, &copy->loop);
        copy->target = make_target("copied");
        driver_mount(copy, "xfs", "nouuid");
        driver_mount(original, "xfs", "rw");
        assert_ok(replace(copy));
        g_assert_cmpuint(mount_id_of(original->target), ==, original->id);
        assert_ok(replace(original));
}

TEST(test_only_plan, "/replace/only-plan") {
        g_autoptr(Driver) d = driver_new("only-plan", "ext4", "noatime");

        g_auto(Answer) planned = expect_ok(replace(d, .only_plan = true));
        g_assert_cmpstr(planned.question.observed.replaced[0], ==, "noatime");
        assert_untouched(d);
}

/* The worker refuses these before it unmounts anything, whatever selvold says. */
TEST(test_refused, "/replace/refused") {
        g_autoptr(Driver) d = driver_new("refused", "ext4", "rw"), other = NULL;
        g_autofree char *second = make_target("second"), *inside = path_printf("%s/inside", d->target);
        int file;

        /* A caller other than root; a target that is not to be replaced. */
        assert_fails(replace(d, .by_user = true), "InvalidTarget", "is a mount already");
        assert_fails(mount_with(worker, d->device, "", d->target), "InvalidTarget", "is a mount already");
        /* An option that is not allowed. */
        assert_fails(replace(d, .options = "dax"), "InvalidOption", "'dax' is not allowed");
        assert_untouched(d);
        must(mount(NULL, d->target, NULL, MS_REMOUNT, "resuid=1000"));
        assert_fails(replace(d), "InvalidOption", "'resuid=1000' is not allowed");
        must(mount(NULL, d->target, NULL, MS_REMOUNT, "resuid=0"));
        /* A recorded holder's mount would have to be shared. */
        assert_fails(replace(d, .share = second, .share_id = 1), "Busy", second);
        /* Open files. */
        file = open_path(d->target, O_RDONLY);
        assert_fails(replace(d), "Busy", "is in use");
        close(file);
        /* Mounts inside. */
        must(mkdir(inside, 0755));
        must(mount("tmpfs", inside, "tmpfs", 0, NULL));
        assert_fails(replace(d), "Busy", "is in use");
        must(umount2(inside, 0));
        assert_untouched(d);
        /* Other mounts. */
        must(mount(d->target, second, NULL, MS_BIND, NULL));
        assert_fails(replace(d), "Busy", second);
        must(umount2(second, 0));
        /* A part of the file system. */
        must(mount(inside, second, NULL, MS_BIND, NULL));
        assert_fails(mount_with(worker, d->device, "", second, .replace = true), "NotSupported",
                     "shows one directory of");
        must(umount2(second, 0));
        assert_untouched(d);
        /* Other devices, and file systems without one. */
        other = driver_new("other", "ext4", "rw");
        assert_fails(mount_with(worker, d->device, "", other->target, .replace = true), "InvalidTarget",
                     other->device);
        must(umount2(other->target, 0));
        must(mount("tmpfs", other->target, "tmpfs", 0, NULL));
        assert_fails(mount_with(worker, "tmpfs", "tmpfs", other->target, .replace = true), "InvalidTarget", "tmpfs");
        must(umount2(other->target, 0));
        assert_untouched(d);
        /* selvol's own. */
        note_mount(d->target);
        assert_fails(replace(d), "InvalidTarget", "is a mount already");
        assert_untouched(d);
}

/* A process keeps the file system mounted in a namespace of its own, which the worker can't see before. */
TEST(test_kept_elsewhere, "/replace/kept-elsewhere") {
        g_autoptr(Driver) d = driver_new("kept", "ext4", "rw");
        int pipe_fds[2];
        char byte;
        pid_t pid;

        must(pipe(pipe_fds));
        pid = fork();
        must(pid);
        if (pid == 0) {
                if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
                    write(pipe_fds[1], "", 1) != 1)
                        _exit(1);
                for (;;)
                        pause();
        }
        g_assert_cmpint(read(pipe_fds[0], &byte, 1), ==, 1);
        assert_fails(replace(d), "Busy", "is still in use");
        g_assert_false(is_mounted(d->target));
        must(kill(pid, SIGKILL));
        must(waitpid(pid, NULL, 0));
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        assert_ok(replace(d));
}

/* Before Plan is answered nothing is done. After that the target is empty, until Ready is answered. */
TEST_WORDS(test_held, "/replace/held", word, "plan", "ready") {
        g_autoptr(Driver) d = driver_new("held", "ext4", "rw");
        const bool plan = g_str_equal(word, "plan");
        const Arguments a =
                volume_at(d->device, "", d->target, .replace = true, .hold_plan = plan, .hold_ready = !plan);
        Operation *o = operation_start_held(worker, WORKER_MOUNT, &a);

        g_assert_cmpint(is_mounted(d->target), ==, plan);
        answer_drop(operation_hang_up(o));
        g_assert_cmpint(is_mounted(d->target), ==, plan);
        g_auto(Answer) again = expect_ok(replace(d));
        assert_replaced(d, &again);
}

/* The child is killed at a system call: the next call is right. */
TEST_WORDS(test_killed, "/replace/killed", injection, "umount2:signal=KILL:when=1",
           "mount_setattr:signal=KILL:when=1", "fgetxattr:signal=KILL:when=1", "move_mount:signal=KILL:when=1") {
        g_autofree char *inject = path_printf("inject=%s", injection);
        g_autoptr(Worker) traced = worker_start_traced(inject);
        g_autoptr(Driver) d = driver_new("killed", "ext4", "noatime");

        if (!traced)
                return;
        assert_fails(mount_with(traced, d->device, "", d->target, .replace = true), "gone");
        if (is_mounted(d->target) && mount_id_of(d->target) != d->id)
                must(umount2(d->target, 0)); /* selvold would do that, as it knows the mount by Ready */
        g_auto(Answer) again = expect_ok(replace(d));
        assert_replaced(d, &again);
}

void add_tests(void) {
        worker = worker_start(NULL, NULL);
}

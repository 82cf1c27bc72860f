/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "wire/protocol.h"
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "operation.h"

/* The worker tells selvold of changes of the mount table. */

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountChanges, mount_changes_done)

static Watched watch(sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        Watched w;

        must(sd_bus_call_method(bus, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_WATCH, NULL, &reply, "t",
                                UINT64_C(0)));
        g_assert_cmpint(watched_read(reply, &w), ==, 0);
        return w;
}

/* Returns the mounts that are there as if they had just come. */
static MountChanges start_watch(sd_bus *bus, size_t expected) {
        _cleanup_(watched_done) Watched w = watch(bus);

        g_assert_cmpuint(w.n_mounts, ==, expected);
        w.n_mounts = 0;
        return (MountChanges){ .came = TAKE_PTR(w.mounts), .n_came = expected };
}

/* The same, for a test that only needs the number of mounts. */
static void begin_watch(sd_bus *bus, size_t expected) {
        g_auto(MountChanges) there = start_watch(bus, expected);
}

static void expect_mount(sd_bus *bus, const MountFact *fact) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;

        must(sd_bus_message_new_method_call(bus, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_EXPECT));
        g_assert_cmpint(mount_fact_append(call, fact), ==, 0);
        g_assert_cmpint(sd_bus_call(bus, call, 0, NULL, NULL), >=, 0);
}

/* Returns the contents of the next Changed, which is empty if none comes. */
static MountChanges next_change(sd_bus *bus, uint64_t timeout_usec) {
        gint64 end = g_get_monotonic_time() + (gint64) timeout_usec;
        MountChanges c = { 0 };

        for (;;) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
                gint64 now = g_get_monotonic_time();
                int r;

                r = sd_bus_process(bus, &m);
                g_assert_cmpint(r, >=, 0);
                if (m && sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_CHANGED)) {
                        g_assert_cmpint(mount_changes_read(m, &c), ==, 0);
                        g_assert_cmpuint(c.n_came + c.n_went, >, 0);
                        return c;
                }
                if (r == 0) {
                        if (now >= end)
                                return c;
                        g_assert_cmpint(sd_bus_wait(bus, (uint64_t) (end - now)), >=, 0);
                }
        }
}

enum { LONG = WAIT_SEC * G_USEC_PER_SEC, SHORT = 1000 * 1000 };

static MountChanges expect_change(sd_bus *bus, size_t n_came, size_t n_went) {
        MountChanges c = next_change(bus, LONG);

        g_assert_cmpuint(c.n_came, ==, n_came);
        g_assert_cmpuint(c.n_went, ==, n_went);
        return c;
}

static void test_watch(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *early = make_target("early"), *late = make_target("late"),
                        *outside = path_printf(TEST_DIR "/outside");
        g_autoptr(sd_bus) bus = worker_dial(w);
        uint64_t id;

        g_assert_cmpint(mkdir(outside, 0755), ==, 0);
        g_assert_cmpint(mount("early", early, "tmpfs", 0, NULL), ==, 0);
        g_auto(MountChanges) there = start_watch(bus, 1);
        g_assert_cmpstr(there.came[0].target, ==, early);
        g_assert_cmpint(there.came[0].mount_id, ==, mount_id_of(early));

        g_assert_cmpint(mount("late", late, "tmpfs", 0, NULL), ==, 0);
        id = mount_id_of(late);
        g_auto(MountChanges) came = expect_change(bus, 1, 0);
        g_assert_cmpstr(came.came[0].target, ==, late);
        g_assert_cmpstr(came.came[0].source, ==, "late");
        g_assert_cmpint(came.came[0].mount_id, ==, id);

        /* A remount changes the fact of a mount, which did not go meanwhile. */
        g_assert_cmpint(mount(NULL, late, NULL, MS_REMOUNT | MS_RDONLY, NULL), ==, 0);
        g_auto(MountChanges) changed = expect_change(bus, 1, 0);
        g_assert_true(changed.came[0].read_only);

        g_assert_cmpint(umount2(late, 0), ==, 0);
        g_auto(MountChanges) went = expect_change(bus, 0, 1);
        g_assert_cmpint(went.went[0].id, ==, id);

        /* The worker tells nothing of mounts elsewhere. */
        g_assert_cmpint(mount("outside", outside, "tmpfs", 0, NULL), ==, 0);

        /* The worker also tells of its own mounts. */
        g_auto(Answer) mounted = expect_ok(mount_with(w, "tmpfs", "tmpfs", late));
        g_auto(MountChanges) own = expect_change(bus, 1, 0);
        g_assert_cmpint(own.came[0].mount_id, ==, mounted.outcome.fact.mount_id);
        g_assert_cmpstr(own.came[0].device, ==, mounted.outcome.fact.device);

        g_assert_cmpint(umount2(outside, 0), ==, 0);
        g_assert_cmpint(umount2(late, 0), ==, 0);
        g_assert_cmpint(umount2(early, 0), ==, 0);
}

/* The fact of a mount that another one hides names that one. */
static void test_covered(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *parent = make_target("parent"), *target = make_target("parent/covered");
        const char *const over[] = { target, parent };
        g_autoptr(sd_bus) bus = worker_dial(w);

        must(mount("volume", target, "tmpfs", 0, NULL));
        begin_watch(bus, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(over); i++) {
                g_autofree char *expected = path_printf("on-top, type tmpfs, at '%s'", over[i]);

                must(mount("on-top", over[i], "tmpfs", 0, NULL));
                g_auto(MountChanges) covered = expect_change(bus, 2, 0);
                for (size_t k = 0; k < covered.n_came; k++)
                        g_assert_cmpstr(covered.came[k].covered_by, ==,
                                        g_str_equal(covered.came[k].source, "volume") ? expected : "");
                must(umount2(over[i], 0));
                g_auto(MountChanges) uncovered = expect_change(bus, 1, 1);
                g_assert_cmpstr(uncovered.came[0].covered_by, ==, "");
        }
        must(umount2(target, 0));
}

/* The fact of a mount names a second mount of the same files outside of the roots. */
static void test_also_at(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("bound"), *outside = path_printf(TEST_DIR "/bound");
        g_autoptr(sd_bus) bus = worker_dial(w);

        must(mkdir(outside, 0755));
        must(mount("volume", target, "tmpfs", 0, NULL));
        g_auto(MountChanges) there = start_watch(bus, 1);
        g_assert_cmpstr(there.came[0].also_at, ==, "");
        must(mount(target, outside, NULL, MS_BIND, NULL));
        g_auto(MountChanges) bound = expect_change(bus, 1, 0);
        g_assert_cmpstr(bound.came[0].target, ==, target);
        g_assert_cmpstr(bound.came[0].also_at, ==, outside);
        must(umount2(outside, 0));
        g_auto(MountChanges) gone = expect_change(bus, 1, 0);
        g_assert_cmpstr(gone.came[0].also_at, ==, "");
        must(umount2(target, 0));
}

/* The fact of a noted mount says whether others have the file system mounted for writing, too. */
static void test_beside(gconstpointer fs_type) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("beside"), *outside = path_printf(TEST_DIR "/beside"),
                        *inside = make_target("beside-inside"), *image = make_image("beside", fs_type),
                        *part = path_printf("%s/part", target);
        g_autoptr(sd_bus) bus = worker_dial(w);
        const struct {
                const char *what, *target;
                unsigned long flags;
                bool beside, told; /* the fact of the mount changes */
        } rows[] = {
                { target, outside, MS_BIND, true, true },
                { target, inside, MS_BIND, true, true },
                { part, inside, MS_BIND, false, false },
                { part, outside, MS_BIND, true, true },
        };

        if (!image)
                return;
        must(g_mkdir_with_parents(outside, 0755));
        begin_watch(bus, 0);
        assert_ok(mount_with(w, image, fs_type, target));
        must(mkdir(part, 0755));
        g_auto(MountChanges) own = expect_change(bus, 1, 0);
        g_assert_false(own.came[0].beside);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                must(mount(rows[i].what, rows[i].target, NULL, rows[i].flags, NULL));
                g_auto(MountChanges) c = expect_change(bus, rows[i].told + (rows[i].target == inside), 0);
                for (size_t k = 0; k < c.n_came; k++)
                        g_assert_true(c.came[k].beside == (rows[i].beside && g_str_equal(c.came[k].target, target)));
                must(umount2(rows[i].target, 0));
                g_auto(MountChanges) gone = expect_change(bus, rows[i].told, rows[i].target == inside);
                for (size_t k = 0; k < gone.n_came; k++)
                        g_assert_false(gone.came[k].beside);
        }
        must(umount2(target, 0));
}

/* The roots are on a shared mount that is bound to another place, so the kernel shows each mount twice. */
static void test_bound_root(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *data = path_printf(TEST_DIR "/data"), *root = make_target("bound-root"),
                        *first = path_printf("%s/first", root), *second = path_printf("%s/second", root),
                        *image = make_image("bound-root", "ext4");
        g_autoptr(sd_bus) bus = worker_dial(w);

        must(mkdir(data, 0755));
        must(mount("data", data, "tmpfs", 0, NULL));
        must(mount(NULL, data, NULL, MS_SHARED, NULL));
        must(mount(data, root, NULL, MS_BIND, NULL));
        must(mkdir(first, 0755));
        must(mkdir(second, 0755));
        begin_watch(bus, 1);
        for (unsigned i = 0; i < 2; i++) {
                g_auto(Answer) a = expect_ok(mount_with(w, image, "ext4", i ? second : first));
                g_auto(MountChanges) own = expect_change(bus, 1, 0);

                g_assert_cmpuint(a.question.observed.n_mounts, ==, i);
                g_assert_cmpstr(own.came[0].target, ==, i ? second : first);
                g_assert_cmpstr(own.came[0].also_at, ==, "");
        }
        must(umount2(first, 0));
        must(umount2(second, 0));
        must(umount2(root, 0));
        must(umount2(data, 0));
}

/* The watch misses a mount that came and went between two looks, unless it expects the mount. */
static void test_expect(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("expected");
        g_autoptr(sd_bus) bus = worker_dial(w);

        must(mount("expected", target, "tmpfs", 0, NULL));
        note_mount(target);
        begin_watch(bus, 1);
        g_auto(MountFact) there = mount_fact_of(target);
        expect_mount(bus, &there);
        g_auto(MountChanges) none = next_change(bus, SHORT);
        g_assert_cmpuint(none.n_came + none.n_went, ==, 0);

        there.mount_id += 100000;
        expect_mount(bus, &there);
        g_auto(MountChanges) went = expect_change(bus, 0, 1);
        g_assert_cmpuint(went.went[0].id, ==, there.mount_id);
        must(umount2(target, 0));
}

enum { EXPECTATIONS = 8000, LONG_TARGET = 3500, EXPECTED_MAX_KIB = 12 * 1024 };

/* If distinct, each expectation has a target of its own, which is longer than that of the fact. */
static void expect_many(sd_bus *bus, const MountFact *fact, unsigned n, bool distinct) {
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *target = path_printf("%s%0*u", TEST_DIR "/nowhere/", LONG_TARGET, i);
                MountFact other = *fact;

                if (distinct)
                        other.target = target;
                expect_mount(bus, &other);
        }
}

/* A child may have had other roots, so a mount that selvold expects may be outside of the roots. The watch
 * finds it there if it is noted. The watch keeps nothing of other expectations, and of one that it has
 * already. */
static void test_expect_elsewhere(void) {
        /* AddressSanitizer keeps freed memory, which must not count. */
        static const char *const environment[] = { "ASAN_OPTIONS=quarantine_size_mb=1", NULL };
        g_autoptr(Worker) w = worker_launch("[Worker]\nTargetRoots=\nTargetRoots=" TEST_DIR "/other\n",
                                            &(Launch){ .environment = environment });
        g_autoptr(GString) target = g_string_new(TEST_TARGETS "/elsewhere");
        g_autoptr(sd_bus) bus = worker_dial(w);
        long before;
        uint64_t id;
        pid_t child;

        while (target->len < LONG_TARGET)
                g_string_append(target, "/directory");
        must(g_mkdir_with_parents(target->str, 0755));
        begin_watch(bus, 0);
        must(mount("elsewhere", target->str, "tmpfs", 0, NULL));
        note_mount(target->str);
        g_auto(MountFact) fact = mount_fact_of(target->str);
        id = fact.mount_id;

        child = worker_find_child(w);
        expect_many(bus, &fact, 500, false);
        before = program_memory(child);
        expect_many(bus, &fact, EXPECTATIONS, false);
        g_assert_cmpint(program_memory(child), <, before + EXPECTED_MAX_KIB);
        fact.mount_id += 100000;
        expect_many(bus, &fact, EXPECTATIONS, true);
        g_assert_cmpint(program_memory(child), <, before + EXPECTED_MAX_KIB);

        must(umount2(target->str, 0));
        for (bool went = false; !went;) {
                g_auto(MountChanges) c = next_change(bus, LONG);

                g_assert_cmpuint(c.n_came + c.n_went, >, 0);
                for (size_t i = 0; i < c.n_went; i++)
                        went |= c.went[i].id == id;
        }
}

/* The worker tells of thousands of changes in a few messages, which add up to the mounts that are there. */
static void test_storm(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("storm");
        g_autoptr(sd_bus) bus = worker_dial(w);
        unsigned messages = 0;

        begin_watch(bus, 0);

        gint64 start = g_get_monotonic_time();
        for (unsigned i = 0; i < 2001; i++)
                if (i % 2 == 0)
                        g_assert_cmpint(mount("storm", target, "tmpfs", 0, NULL), ==, 0);
                else
                        g_assert_cmpint(umount2(target, 0), ==, 0);
        gint64 took = g_get_monotonic_time() - start;

        uint64_t there = 0;
        for (;;) {
                /* The message of the last change may come late. No other message follows it. */
                g_auto(MountChanges) c = next_change(bus, there == mount_id_of(target) ? SHORT : LONG);

                if (c.n_came + c.n_went == 0)
                        break;
                messages++;
                for (size_t i = 0; i < c.n_went; i++)
                        if (c.went[i].id == there)
                                there = 0;
                if (c.n_came > 0)
                        there = c.came[c.n_came - 1].mount_id;
        }
        g_test_message("%u messages in %i ms", messages, (int) (took / 1000));
        g_assert_cmpint(there, ==, mount_id_of(target));
        g_assert_cmpint(messages, <=, took / (500 * 1000) + 3);
        g_assert_cmpint(umount2(target, 0), ==, 0);
}

/* Returns the volume of the only mount that there is when a watch begins; NULL if the mount is not noted. */
static char *only_volume(const Worker *w, MountIdentity *ret) {
        g_autoptr(sd_bus) bus = worker_dial(w);
        g_auto(MountChanges) there = start_watch(bus, 1);
        const MountFact *fact = &there.came[0];

        *ret = (MountIdentity){ .id = fact->mount_id, .device = g_strdup(fact->device) };
        return isempty(fact->volume) ? NULL : g_strdup(fact->volume);
}

static void assert_none_watched(const Worker *w) {
        g_autoptr(sd_bus) bus = worker_dial(w);

        begin_watch(bus, 0);
}

/* A worker knows the mounts that a worker before it has made and adopted, by the mount and not by its place.
 * It tells of them and unmounts them, also outside of its own target roots. */
static void test_notes(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autoptr(Worker) other = worker_start("[Worker]\nTargetRoots=\nTargetRoots=" TEST_DIR "/other\n", NULL);
        g_autofree char *target = make_target("noted"), *volume = NULL, *again = NULL, *stranger = NULL;
        _cleanup_(mount_identity_done) MountIdentity mounted = { 0 }, adopted = { 0 }, strange = { 0 };

        assert_ok(mount_with(w, "tmpfs", "tmpfs", target));
        volume = only_volume(other, &mounted);
        g_assert_cmpstr(volume, ==, "volume");
        g_assert_cmpint(mounted.id, ==, mount_id_of(target));
        assert_says(call_unmount_identity(other, target, &mounted), unmounted, ==, true);
        g_assert_false(is_mounted(target));

        g_assert_cmpint(mount("theirs", target, "tmpfs", 0, NULL), ==, 0);
        assert_none_watched(other);
        g_assert_null(stranger = only_volume(w, &strange));
        assert_fails(call_unmount_identity(other, target, &strange), "PathNotAllowed");
        assert_fails(call_unmount(other, target, 0), "PathNotAllowed");
        assert_ok(call_adopt(w, &(Arguments){ .target = target }));
        again = only_volume(other, &adopted);
        g_assert_cmpstr(again, ==, "volume");

        /* The test unmounts it. The note of that mount does not count for the next mount at the place. */
        g_assert_cmpint(umount2(target, 0), ==, 0);
        assert_says(call_unmount_identity(other, target, &adopted), unmounted, ==, false);
        g_assert_cmpint(mount("theirs", target, "tmpfs", 0, NULL), ==, 0);
        assert_none_watched(other);
        g_assert_cmpint(umount2(target, 0), ==, 0);
}

/* A mount that is adopted for another volume has the new volume in its fact. */
static void test_adopted_anew(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("anew");
        g_autoptr(sd_bus) bus = worker_dial(w);

        must(mount("theirs", target, "tmpfs", MS_NOSUID | MS_NODEV, NULL));
        note_mount_as(target, "one");
        g_auto(MountChanges) there = start_watch(bus, 1);
        g_assert_cmpstr(there.came[0].volume, ==, "one");
        assert_ok(call_adopt(w, &(Arguments){ .target = target }));
        must(mount(NULL, target, NULL, MS_REMOUNT | MS_RDONLY, NULL));
        g_auto(MountChanges) c = expect_change(bus, 1, 0);
        g_assert_cmpstr(c.came[0].volume, ==, "volume");
        must(umount2(target, 0));
}

/* The worker notes a mount before the mount is visible. The watch does not take that note for the one of a
 * mount that has gone. */
static void test_noted_first(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("first"), *other = make_target("other"), *volume = NULL;
        _cleanup_(mount_identity_done) MountIdentity identity = { 0 };
        g_autoptr(sd_bus) bus = worker_dial(w);
        Operation *o =
                operation_start_held(w, WORKER_MOUNT, &volume_at("tmpfs", "tmpfs", target, .hold_ready = true));

        begin_watch(bus, 0);
        must(mount("other", other, "tmpfs", 0, NULL));
        g_auto(MountChanges) came = expect_change(bus, 1, 0);
        must(umount2(other, 0));
        g_auto(MountChanges) went = expect_change(bus, 0, 1);

        operation_answer(o);
        assert_ok(operation_finish(o));
        volume = only_volume(w, &identity);
        g_assert_cmpstr(volume, ==, "volume");
        assert_says(call_unmount_identity(w, target, &identity), unmounted, ==, true);
}

/* The worker mounts nothing that it can't note. */
static void test_not_noted(void) {
        static const char notes[] = MOUNT_NOTES, aside[] = MOUNT_NOTES ".aside";
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("not-noted");
        g_autoptr(GString) longest = g_string_new(target);

        while (longest->len < PATH_MAX - 20)
                g_string_append(longest, "/directory");
        must(g_mkdir_with_parents(longest->str, 0755));
        assert_fails(mount_with(w, "tmpfs", "tmpfs", longest->str), "InvalidTarget", "too long");

        must(rename(notes, aside));
        assert_fails(mount_with(w, "tmpfs", "tmpfs", target), "WorkerFailed",
                     "can't be noted in " MOUNT_NOTES ": No such file or directory.");
        must(rename(aside, notes));
        g_assert_cmpuint(count_mounts(), ==, 0);
}

/* Mounts the disk where a worker had mounted it. The mount table has the same line for both mounts. Returns
 * false if the new mount has another id, as other processes mount, too. */
static bool replace_mount(const char *device, const char *target, uint64_t id) {
        for (unsigned i = 0; i < 10; i++) {
                must(umount2(target, 0));
                must(mount(device, target, "ext4", MS_NOSUID | MS_NODEV, NULL));
                if (mount_id_of(target) == id)
                        return true;
        }
        return false;
}

/* The worker tells of both mounts in one message, or in several if it has looked in between. */
static void expect_replaced(sd_bus *bus, uint64_t id) {
        bool went = false;

        for (;;) {
                g_auto(MountChanges) c = next_change(bus, LONG);

                g_assert_cmpuint(c.n_came + c.n_went, >, 0);
                for (size_t i = 0; i < c.n_went; i++)
                        went |= c.went[i].id == id;
                for (size_t i = 0; i < c.n_came; i++)
                        if (c.came[i].mount_id == id) {
                                g_assert_true(went);
                                g_assert_cmpstr(c.came[i].volume, ==, "");
                                return;
                        }
        }
}

/* Two mounts with one id have different unique ids. Returns false if the second mount has another id. */
static bool try_reused_id(const Worker *w, const char *image, const char *device, const char *target) {
        _cleanup_(mount_identity_done) MountIdentity identity = { 0 };
        g_autoptr(sd_bus) bus = worker_dial(w);
        uint64_t id;
        bool reused;

        g_auto(Answer) mounted = expect_ok(mount_with(w, image, "ext4", target));
        id = mounted.outcome.fact.mount_id;
        begin_watch(bus, 1);
        reused = replace_mount(device, target, id);
        if (reused) {
                expect_replaced(bus, id);
                g_assert_null(only_volume(w, &identity));
                g_assert_cmpuint(identity.id, ==, id);
                assert_fails(call_unmount_identity(w, target, &identity), "InvalidTarget");
                assert_fails(mount_with(w, image, "ext4", target, .expected = identity), "InvalidTarget");
        }
        must(umount2(target, 0));
        return reused;
}

static void test_reused_id(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        _cleanup_close_ int loop = -EBADF;
        g_autofree char *target = make_target("reused"), *image = make_image("reused", "ext4"),
                        *device = attach_loop(image, &loop);
        uint64_t unique_id;

        g_assert_cmpint(mount_identify_unique(loop, &unique_id, &unique_id), ==, 0);
        if (unique_id == 0)
                g_test_skip("the kernel has no unique ids");
        else
                WAIT_FOR(try_reused_id(w, image, device, target));
}

static bool hears_of_orphan(sd_bus *bus) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;

        g_assert_cmpint(sd_bus_process(bus, &m), >=, 0);
        return m && sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_ORPHAN);
}

/* The worker tells of a child that serves another process, and of its end. */
static void test_orphan(void) {
        g_autoptr(Worker) w = worker_start(NULL, NULL);
        g_autofree char *target = make_target("orphan");
        const pid_t caller = fork();
        int status;

        if (caller == 0) {
                (void) operation_start_held(w, WORKER_MOUNT, &volume_at("tmpfs", "tmpfs", target, .hold_plan = true));
                raise(SIGSTOP);
        }
        must(caller);
        must(waitpid(caller, &status, WUNTRACED));
        g_assert_true(WIFSTOPPED(status));

        g_autoptr(sd_bus) bus = worker_dial(w);
        _cleanup_(watched_done) Watched there = watch(bus);
        g_assert_cmpuint(there.n_orphans, ==, 1);
        g_assert_cmpstr(there.orphans[0].operation, ==, WORKER_MOUNT);
        g_assert_cmpstr(there.orphans[0].target, ==, target);
        g_assert_cmpstr(there.orphans[0].source, ==, "server");

        g_assert_cmpint(program_end(caller, SIGKILL), !=, 0);
        WAIT_FOR(hears_of_orphan(bus));
}

void add_tests(void) {
        g_test_add_func("/watch", test_watch);
        g_test_add_func("/watch/covered", test_covered);
        g_test_add_func("/watch/also-at", test_also_at);
        add_words("/watch/beside", test_beside, "ext4", "xfs", "btrfs", NULL);
        g_test_add_func("/watch/bound-root", test_bound_root);
        g_test_add_func("/watch/expect", test_expect);
        g_test_add_func("/watch/expect-elsewhere", test_expect_elsewhere);
        g_test_add_func("/watch/notes", test_notes);
        g_test_add_func("/watch/adopted-anew", test_adopted_anew);
        g_test_add_func("/watch/noted-first", test_noted_first);
        g_test_add_func("/watch/not-noted", test_not_noted);
        /* A worker that stages in a namespace also does without statmount(2), which has the unique ids. */
        if (!stages_in_namespace())
                g_test_add_func("/watch/reused-id", test_reused_id);
        g_test_add_func("/watch/orphan", test_orphan);
        g_test_add_func("/watch/storm", test_storm);
}

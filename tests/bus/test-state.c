/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The disk of the state is full or read-only, or the file has rows that selvold can't read. In calls/state
 * the disk stalls or fails. */

#include <signal.h>
#include <sys/mount.h>

#include <glib/gstdio.h>
#include <sqlite3.h>

#include "model/limits.h"
#include "store/store.h"
#include "support.h"
#include "support/files.h"

#define POD_A "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, " OVM "}"

static void unmount_from(Fixture *f, const char *volume, const char *target) {
        unmount_volume(f, volume, target);
        g_assert_false(is_mounted(f, target));
        g_assert_cmpuint(count_holders(f, volume), ==, 0);
}

static void assert_mount_fails(Fixture *f, const char *volume, const char *reason, const char *remedy) {
        GError *error = NULL;

        g_assert_null(call_end(f, start_mount(f, volume, "/dev/vdz", T3, POD_A), &error));
        g_assert_nonnull(strstr(error->message, remedy));
        assert_error(error, "StoreFailed", reason);
        g_assert_false(is_mounted(f, T3));
}

static gboolean private_mounts; /* the test has a mount namespace of its own */

static void set_up_small(Fixture *f, gconstpointer data) {
        g_autofree char *state = NULL;

        fixture_set_up(f, data);
        if (!private_mounts)
                return;
        daemon_stop(f, SIGTERM);
        state = file_path(f, "state");
        disk_mount(state, 0);
        daemon_start(f);
}

static void tear_down_small(Fixture *f, gconstpointer data) {
        g_autofree char *state = file_path(f, "state");

        if (private_mounts)
                (void) umount2(state, MNT_DETACH);
        fixture_tear_down(f, data);
}

typedef struct Obstacle {
        const char *reason, *remedy;
        void (*set)(Fixture *f, gboolean on);
} Obstacle;

static void set_full(Fixture *f, gboolean is_full) {
        g_autofree char *state = file_path(f, "state");

        (is_full ? disk_fill : disk_make_room)(state);
}

static void set_read_only(Fixture *f, gboolean is_read_only) {
        g_autofree char *state = file_path(f, "state");

        disk_mount(state, MS_REMOUNT | (is_read_only ? MS_RDONLY : 0));
}

static const Obstacle full = { "No space left on device", "make room", set_full },
                      read_only = { "Read-only file system", "writable", set_read_only };

/* selvold starts and can't write the state. It has the records, refuses mounts, and unmounts. When it can
 * write the state again, all goes on, and records outlive a kill. */
static void test_at_start(Fixture *f, gconstpointer data) {
        g_autoptr(GVariant) mounted = NULL;
        const Obstacle *o = data;

        if (!private_mounts) {
                g_test_skip("no mount namespace of our own");
                return;
        }
        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        mount_volume(f, "w", "/dev/vdc", T2, POD_A);
        daemon_stop(f, SIGKILL);
        o->set(f, TRUE);
        daemon_start(f);
        g_assert_cmpuint(count_holders(f, "v"), ==, 1);
        /* The log may have room for some mounts. */
        for (guint i = 0; o->set == set_full && i < 20; i++) {
                g_autoptr(GVariant) reply = call_end(f, start_mount(f, "filling", "/dev/vdd", T3, POD_A), NULL);

                if (!reply)
                        break;
                unmount_from(f, "filling", T3);
        }
        assert_mount_fails(f, "u", o->reason, o->remedy);
        unmount_from(f, "v", T1);
        /* selvold tries again after a second, in vain. */
        pause_usec(1100000);
        assert_mount_fails(f, "u", o->reason, o->remedy);
        g_assert_cmpuint(count_holders(f, "w"), ==, 1);

        o->set(f, FALSE);
        WAIT_FOR((mounted = call_end(f, start_mount(f, "u", "/dev/vdz", T3, POD_A), NULL)));
        daemon_stop(f, SIGKILL);
        daemon_start(f);
        g_assert_cmpuint(count_holders(f, "v"), ==, 0);
        g_assert_cmpuint(count_holders(f, "w"), ==, 1);
        g_assert_cmpuint(count_holders(f, "u"), ==, 1);
}

/* --- rows that can't be read --- */

static void execute(Fixture *f, const char *sql) {
        g_autofree char *path = file_path(f, "state/state.db");
        sqlite3 *db;

        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
        (void) sqlite3_close(db);
}

static guint count_kept(Fixture *f) {
        g_autofree char *state = file_path(f, "state");
        g_autoptr(GDir) d = g_dir_open(state, 0, NULL);
        const char *name;
        guint n = 0;

        while ((name = g_dir_read_name(d)))
                n += g_str_has_prefix(name, "state.db.damaged-") && !g_str_has_suffix(name, "-wal");
        return n;
}

/* A value that selvold can't read costs its holder or its volume, and nothing else. selvold keeps one copy of
 * the file. */
static void test_row(Fixture *f, gconstpointer data) {
        const gboolean of_holder = g_str_has_prefix(data, "UPDATE holder");

        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        mount_volume(f, "w", "/dev/vdc", T2, POD_A);
        daemon_stop(f, SIGTERM);
        execute(f, data);
        for (guint i = 0; i < 2; i++) {
                g_autofree char *job = NULL;

                daemon_start(f);
                g_assert_cmpuint(count_holders(f, "v"), ==, 1);
                job = get_volume_text(f, "w", "Job");
                g_assert_cmpint(job != NULL, ==, of_holder);
                if (of_holder)
                        g_assert_cmpuint(count_holders(f, "w"), ==, 0);
                g_assert_cmpuint(count_kept(f), ==, 1);
                daemon_stop(f, SIGKILL);
        }
        daemon_start(f);
        unmount_from(f, "v", T1);
}

static void on_skipped(void *userdata, const char *volume, const char *target) {
        g_assert_not_reached();
}

/* The start of a walk is on disk before the walk changes files. A holder is on disk only when selvold knows
 * the identity of its mount. */
TEST_FIXTURE(test_intent, "/state/intent") {
        g_autofree char *directory = file_path(f, "then"), *path = g_build_filename(directory, "state.db", NULL);
        Volumes all = { 0 };
        Store *store = NULL;
        Volume *v;

        g_assert_cmpint(g_mkdir(directory, 0700), ==, 0);
        mount_volume(f, "v", "/dev/vdb", T1, "{'SELinuxLevel': <'s0:c0,c10'>, 'RelabelBy': <'service'>}");
        g_assert_cmpint(store_open(path, &store_schema, &store), ==, 0);
        g_assert_cmpint(store_load(store, &all, on_skipped, NULL), ==, 0);
        v = volumes_find(&all, "v");
        g_assert_nonnull(v);
        g_assert_cmpint((int) v->mark.label_state, ==, (int) FILES_PARTIAL);
        g_assert_null(v->holders);
        volumes_done(&all);
        store_close(store);
}

/* With as many volumes as there may be, selvold refuses one more until it has forgotten one. */
TEST_FIXTURE(test_volumes_limit, "/state/volumes-limit") {
        g_autoptr(GString) sql = g_string_new("BEGIN; CREATE TEMP TABLE another AS SELECT * FROM volume;");

        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        unmount_from(f, "v", T1);
        daemon_stop(f, SIGTERM);
        for (unsigned i = 1; i < VOLUMES_MAX; i++)
                g_string_append_printf(sql, "UPDATE another SET id='v-%u'; INSERT INTO volume SELECT * FROM another;",
                                       i);
        g_string_append(sql, "COMMIT;");
        execute(f, sql->str);
        daemon_start(f);
        expect_error(f, start_mount(f, "w", "/dev/vdc", T2, "{}"), "LimitReached", "selvolctl forget");
        g_variant_unref(expect_reply(f, call_start(f, "ForgetVolume", g_variant_new("(sa{sv})", "v-1", NULL))));
        mount_volume(f, "w", "/dev/vdc", T2, "{}");
}

void add_tests(void) {
        private_mounts = namespace_try();
        g_test_add("/state/full", Fixture, &full, set_up_small, test_at_start, tear_down_small);
        g_test_add("/state/read-only", Fixture, &read_only, set_up_small, test_at_start, tear_down_small);
        g_test_add("/state/row/holder", Fixture, "UPDATE holder SET reason='from-the-future' WHERE volume='w'",
                   fixture_set_up, test_row, fixture_tear_down);
        g_test_add("/state/row/volume", Fixture, "UPDATE volume SET strategy='from-the-future' WHERE id='w'",
                   fixture_set_up, test_row, fixture_tear_down);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The disk that the state is on: it is full, read-only, or has rows that can't be read; that it stalls or
 * fails is in calls/state. */

#include <signal.h>
#include <sys/mount.h>

#include <glib/gstdio.h>
#include <sqlite3.h>

#include "model/limits.h"
#include "store/store.h"
#include "support.h"
#include "support/files.h"

#define T1 "/var/lib/kubelet/pods/a/volumes/v"
#define T2 "/var/lib/kubelet/pods/b/volumes/v"
#define T3 "/var/lib/kubelet/pods/c/volumes/v"
#define POD_A                                                                                              \
        "{'SELinuxLevel': <'s0:c0,c10'>, 'Holder': <'pod-a'>, 'SELinuxRelabelPolicy': <'OnVolumeMount'>, " \
        "'SELinuxMountSupported': <true>}"

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

static gboolean private_mounts; /* what is mounted is seen by this test alone */

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

/* At the start: the records are there, mounts are refused, what is mounted can be unmounted; and all goes
 * on when the state can be written again, from then on also over a kill. */
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
        /* The log may have room for some. */
        for (guint i = 0; o->set == set_full && i < 20; i++) {
                g_autoptr(GVariant) reply = call_end(f, start_mount(f, "filling", "/dev/vdd", T3, POD_A), NULL);

                if (!reply)
                        break;
                unmount_from(f, "filling", T3);
        }
        assert_mount_fails(f, "u", o->reason, o->remedy);
        unmount_from(f, "v", T1);
        /* Nor does it go on when it has been tried anew, after a second. */
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

/* One value costs its holder, or its volume, and nothing else; and it is said once. */
static void test_row(Fixture *f, gconstpointer data) {
        const gboolean of_holder = g_str_has_prefix(data, "UPDATE holder");

        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        mount_volume(f, "w", "/dev/vdc", T2, POD_A);
        daemon_stop(f, SIGTERM);
        execute(f, data);
        for (guint i = 0; i < 2; i++) {
                daemon_start(f);
                g_assert_cmpuint(count_holders(f, "v"), ==, 1);
                g_assert_cmpint(is_recorded(f, "w"), ==, of_holder);
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

/* That a walk has begun is on disk before anything is done; a holder only when it is known which mount it
 * will have. */
static void test_intent(Fixture *f, gconstpointer data) {
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

/* As many as there may be: one more is refused until one is forgotten. */
static void test_volumes_limit(Fixture *f, gconstpointer data) {
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
        g_test_add("/state/intent", Fixture, NULL, fixture_set_up, test_intent, fixture_tear_down);
        g_test_add("/state/volumes-limit", Fixture, NULL, fixture_set_up, test_volumes_limit, fixture_tear_down);
        g_test_add("/state/row/holder", Fixture, "UPDATE holder SET reason='from-the-future' WHERE volume='w'",
                   fixture_set_up, test_row, fixture_tear_down);
        g_test_add("/state/row/volume", Fixture, "UPDATE volume SET strategy='from-the-future' WHERE id='w'",
                   fixture_set_up, test_row, fixture_tear_down);
}

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
#include "support/records.h"

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

        records_execute(path, sql);
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

typedef struct Room {
        const char *name;
        const char *sql;       /* changes the records, of which those used longest ago are v-1 and v-2 */
        const char *forgotten; /* NULL: none, and the mount is refused */
        gboolean other;        /* the caller is not root, and has introduced what uid 0 has */
} Room;

#define USED   "UPDATE volume SET mounted_elsewhere=1, ownership_state='complete';"
#define SHARE  "UPDATE volume SET introducer=0 WHERE CAST(substr(id,3) AS INTEGER) > 3000;"
#define PARTLY "UPDATE volume SET ownership_state='partial'"

static const Room rooms[] = {
        { "oldest", "", "v-1" },
        { "other/oldest", "", "v-1", TRUE },
        { "last-used", "UPDATE volume SET last_used_usec=9999 WHERE id='v-1'", "v-2" },
        { "partial-last", PARTLY " WHERE id='v-1'", "v-2" },
        { "elsewhere-stays",
          "UPDATE volume SET mounted_elsewhere=1, label_state='complete', label_context='a:b:c:s0' "
          "WHERE id='v-1'",
          "v-2" },
        /* With a context mount there is no mark that could be wrong. */
        { "elsewhere-goes", "UPDATE volume SET mounted_elsewhere=1 WHERE id='v-1'", "v-1" },
        { "own-first", SHARE, "v-3001" },
        { "other/own-first", SHARE, "v-3001", TRUE },
        { "own-partial", PARTLY ";UPDATE volume SET introducer=0 WHERE id='v-7'", "v-7" },
        { "all-partial", PARTLY, "v-1" },
        { "other/all-partial", PARTLY, "v-1", TRUE },
        { "own-used", SHARE USED "UPDATE volume SET mounted_elsewhere=0 WHERE id='v-9'", "v-9" },
        { "all-used", USED, NULL },
        { "other/all-used", USED, NULL, TRUE },
        /* A caller over its share takes no place of others, but its own partial ones. */
        { "other/share-used",
          SHARE "UPDATE volume SET mounted_elsewhere=1, ownership_state='complete' WHERE introducer=0", NULL, TRUE },
        { "other/share-partial", SHARE PARTLY " WHERE introducer=0", "v-3001", TRUE },
};

static guint count_records(Fixture *f, const char *where) {
        g_autofree char *path = file_path(f, "state/state.db"),
                        *sql = g_strdup_printf("SELECT count(*) FROM volume WHERE %s", where);
        sqlite3_stmt *st = NULL;
        sqlite3 *db;
        guint n;

        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_prepare_v2(db, sql, -1, &st, NULL), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_step(st), ==, SQLITE_ROW);
        n = (guint) sqlite3_column_int(st, 0);
        (void) sqlite3_finalize(st);
        (void) sqlite3_close(db);
        return n;
}

/* A new volume takes the place of a record, of which nobody else has one more. */
static void test_room(Fixture *f, gconstpointer data) {
        const Room *row = data;
        const guint count = row->other ? VOLUMES_MAX - VOLUMES_RESERVED : VOLUMES_MAX;
        g_autofree char *forgotten = g_strdup_printf("id='%s'", row->forgotten), *state = NULL,
                        *sql = g_strconcat("DELETE FROM volume WHERE id='v';", row->sql, NULL);
        GAsyncResult *call;

        fixture_start(f, CALLER_ROOT, row->other);
        state = file_path(f, "state/state.db");
        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        unmount_from(f, "v", T1);
        daemon_stop(f, SIGTERM);
        records_fill(state, count, sql);
        f->caller = row->other ? CALLER_OTHER : CALLER_ROOT;
        daemon_start(f);
        call = start_mount(f, row->other ? own_id("w") : "w", "/dev/vdc", T2, "{}");
        if (row->other)
                polkit_answer(polkit_pop(f), TRUE, FALSE);
        if (row->forgotten)
                g_variant_unref(expect_reply(f, call));
        else
                expect_error(f, call, "LimitReached", "Unmount one, or forget one");
        daemon_stop(f, SIGTERM);
        g_assert_cmpuint(count_records(f, "id LIKE '%w'"), ==, row->forgotten != NULL);
        g_assert_cmpuint(count_records(f, forgotten), ==, 0);
        g_assert_cmpuint(count_records(f, "TRUE"), ==, count);
}

typedef struct Growth {
        const char *name;
        guint held;       /* holders of another user */
        const char *sql;  /* changes the records */
        gboolean other;   /* the caller is not root, and has introduced what uid 0 has */
        const char *text; /* of the refusal; NULL: there is room */
} Growth;

#define MIB(n) "UPDATE volume SET source=printf('%.*c', 1048576, 'x') WHERE CAST(substr(id,3) AS INTEGER) <= " #n ";"
#define OWN    "UPDATE volume SET introducer=0; UPDATE holder SET owner=0"
#define ALL_IN "The texts of all records take "
#define OWN_IN "The texts of the records of this caller take "

static const Growth growths[] = {
        { "holders/root", 3072, "" },
        { "holders/full", 4096, "", FALSE, "There are 4096 holders, " },
        { "holders/user", 3071, "", TRUE },
        { "holders/users-full", 3072, "", TRUE, "There are 3072 holders, " },
        { "holders/own", 767, OWN, TRUE },
        { "holders/own-full", 768, OWN, TRUE, "This caller has 768 holders, " },
        { "bytes/root", 0, MIB(6) USED },
        { "bytes/full", 0, MIB(8) USED, FALSE, ALL_IN },
        { "bytes/user", 0, MIB(5) USED, TRUE },
        { "bytes/users-full", 0, MIB(6) USED, TRUE, ALL_IN },
        { "bytes/unused", 0, MIB(12), TRUE },
        { "bytes/own", 0, MIB(1) USED OWN, TRUE },
        { "bytes/own-full", 0, MIB(2) USED OWN, TRUE, OWN_IN },
        { "bytes/own-unused", 0, MIB(2) OWN, TRUE },
        { "bytes/holders", 1, "UPDATE holder SET spec=printf('%.*c', 8388608, 'x')", FALSE, ALL_IN },
};

/* A mount that does not fit is refused before the worker is called, which can't be called here. */
static void test_growth(Fixture *f, gconstpointer data) {
        const Growth *row = data;
        g_autofree char *state = NULL;
        GAsyncResult *call;

        fixture_start(f, CALLER_ROOT, row->other);
        state = file_path(f, "state/state.db");
        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        daemon_stop(f, SIGTERM);
        worker_stop(f);
        records_fill_held(state, MAX(row->held, 16), row->held, row->sql);
        f->caller = row->other ? CALLER_OTHER : CALLER_ROOT;
        daemon_start(f);
        call = start_mount(f, row->other ? own_id("w") : "w", "/dev/vdc", T2, "{}");
        if (row->other)
                polkit_answer(polkit_pop(f), TRUE, FALSE);
        expect_error(f, call, row->text ? "LimitReached" : "WorkerFailed", row->text ?: "");
}

/* Records that nobody uses make room, those used longest ago first, and no more than needed. */
TEST_FIXTURE(test_room_for_bytes, "/state/room/bytes") {
        g_autofree char *state = file_path(f, "state/state.db");

        mount_volume(f, "v", "/dev/vdb", T1, POD_A);
        unmount_from(f, "v", T1);
        daemon_stop(f, SIGTERM);
        records_fill(state, 12, "DELETE FROM volume WHERE id='v';" MIB(12));
        daemon_start(f);
        mount_volume(f, "w", "/dev/vdc", T2, "{}");
        daemon_stop(f, SIGTERM);
        g_assert_cmpuint(count_records(f, "id IN ('w', 'v-6', 'v-7', 'v-8', 'v-9', 'v-10', 'v-11', 'v-12')"), ==, 8);
        g_assert_cmpuint(count_records(f, "TRUE"), ==, 8);
}

/* Ten thousand volumes one after the other are all mounted, beside one that stays. */
static void test_many(Fixture *f, gconstpointer data) {
        mount_volume(f, "held", "/dev/vdb", T1, POD_A);
        for (guint i = 0; i < 10000; i++) {
                g_autofree char *id = g_strdup_printf("v-%u", i);

                mount_volume(f, id, "/dev/vdc", T2, "{}");
                unmount_volume(f, id, T2);
        }
        g_assert_cmpuint(count_holders(f, "held"), ==, 1);
        assert_metric(f, "selvol_volumes_forgotten_total{reason=\"room\"} 5905\n");
}

void add_tests(void) {
        private_mounts = namespace_try();
        g_test_add("/state/full", Fixture, &full, set_up_small, test_at_start, tear_down_small);
        g_test_add("/state/read-only", Fixture, &read_only, set_up_small, test_at_start, tear_down_small);
        g_test_add("/state/row/holder", Fixture, "UPDATE holder SET reason='from-the-future' WHERE volume='w'",
                   fixture_set_up, test_row, fixture_tear_down);
        if (g_test_slow())
                g_test_add("/state/many", Fixture, NULL, fixture_set_up, test_many, fixture_tear_down);
        for (gsize i = 0; i < G_N_ELEMENTS(rooms); i++) {
                g_autofree char *path = g_strconcat("/state/room/", rooms[i].name, NULL);

                g_test_add(path, Fixture, &rooms[i], NULL, test_room, fixture_tear_down);
        }
        for (gsize i = 0; i < G_N_ELEMENTS(growths); i++) {
                g_autofree char *path = g_strconcat("/state/growth/", growths[i].name, NULL);

                g_test_add(path, Fixture, &growths[i], NULL, test_growth, fixture_tear_down);
        }
        g_test_add("/state/row/volume", Fixture, "UPDATE volume SET strategy='from-the-future' WHERE id='w'",
                   fixture_set_up, test_row, fixture_tear_down);
}

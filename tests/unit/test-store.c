/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The state file: what was committed is there again, what is hostile, damaged or newer is told apart, and a store
 * that has failed takes nothing until it was written anew. */

#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>

#include "store/store.h"

typedef struct Fixture {
        char *directory, *path;
        Store *store;
} Fixture;

static void set_up(Fixture *f, gconstpointer data) {
        f->directory = g_dir_make_tmp("selvol-store-XXXXXX", NULL);
        g_assert_nonnull(f->directory);
        f->path = g_build_filename(f->directory, "state.db", NULL);
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
}

static void tear_down(Fixture *f, gconstpointer data) {
        g_autoptr(GDir) d = NULL;
        const char *name;

        f->store = store_close(f->store);
        d = g_dir_open(f->directory, 0, NULL);
        while ((name = g_dir_read_name(d))) {
                g_autofree char *child = g_build_filename(f->directory, name, NULL);

                (void) g_remove(child);
        }
        (void) g_remove(f->directory);
        g_free(f->directory);
        g_free(f->path);
}

static void reopen(Fixture *f) {
        f->store = store_close(f->store);
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
}

static Volume *sample(const char *id, const char *target) {
        Volume *v = volume_new(id);
        Holder *h = calloc(1, sizeof(*h));

        g_assert_true(v && h);
        g_assert_cmpint(free_and_strdup(&v->source, "/dev/vdb"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->fs_type, "ext4"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->driver, "d.example"), ==, 0);
        g_assert_cmpint(free_and_strdup(&v->context, "system_u:object_r:container_file_t:s0:c1,c2"), ==, 0);
        v->access_mode = ACCESS_READ_WRITE_ONCE_POD;
        v->strategy = STRATEGY_CONTEXT_MOUNT;
        v->record.tainted = true;
        v->last_verified_usec = 1700000000000000;
        *h = (Holder){ .name = strdup("pod a"),
                       .target = strdup(target),
                       .spec = strdup("spec"),
                       .state = HOLDER_MOUNTED,
                       .strategy = STRATEGY_CONTEXT_MOUNT,
                       .reason = REASON_CONTEXT_SHARED,
                       .read_only = true,
                       .since_usec = 17,
                       .mount_id = UINT64_MAX };
        volume_add_holder(v, h);
        return v;
}

static void put_sample(Fixture *f) {
        _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");

        store_put_volume(f->store, v);
        g_assert_true(store_is_dirty(f->store));
        g_assert_cmpint(store_commit(f->store), ==, 0);
}

static void test_round_trip(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        const Volume *v;
        const Holder *h;

        put_sample(f);
        reopen(f);
        g_assert_cmpint(store_load(f->store, &all), ==, 0);
        g_assert_cmpuint(volumes_count(&all), ==, 1);
        v = volumes_find(&all, "a/b");
        g_assert_nonnull(v);
        g_assert_cmpstr(v->source, ==, "/dev/vdb");
        g_assert_cmpstr(v->driver, ==, "d.example");
        g_assert_cmpint(v->access_mode, ==, ACCESS_READ_WRITE_ONCE_POD);
        g_assert_cmpint(v->strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpint(v->record.label_state, ==, LABEL_UNKNOWN);
        g_assert_true(v->record.tainted);
        g_assert_cmpuint(v->last_verified_usec, ==, 1700000000000000);
        h = volume_find_holder(v, "/var/lib/kubelet/a");
        g_assert_nonnull(h);
        g_assert_cmpstr(h->name, ==, "pod a");
        g_assert_cmpint(h->reason, ==, REASON_CONTEXT_SHARED);
        g_assert_true(h->read_only);
        g_assert_cmpuint(h->mount_id, ==, UINT64_MAX);
}

/* What was not committed was never there. */
static void test_uncommitted(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        _cleanup_(volume_freep) Volume *v = sample("x", "/var/lib/kubelet/x");

        store_put_volume(f->store, v);
        reopen(f);
        g_assert_cmpint(store_load(f->store, &all), ==, 0);
        g_assert_cmpuint(volumes_count(&all), ==, 0);
}

static void test_delete(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        HistoryEntry *entries;
        size_t n;

        put_sample(f);
        store_add_history(f->store, "a/b", &(HistoryEntry){ .time_usec = 1 });
        store_delete_volume(f->store, "a/b");
        g_assert_cmpint(store_commit(f->store), ==, 0);
        g_assert_cmpint(store_load(f->store, &all), ==, 0);
        g_assert_cmpuint(volumes_count(&all), ==, 0);
        g_assert_cmpint(store_get_history(f->store, "a/b", &entries, &n), ==, 0);
        g_assert_cmpuint(n, ==, 0);
        free(entries);
}

static void test_history(Fixture *f, gconstpointer data) {
        HistoryEntry *entries;
        size_t n;

        put_sample(f);
        for (unsigned i = 0; i < HISTORY_MAX + 10; i++)
                store_add_history(f->store, "a/b", &(HistoryEntry){ .time_usec = i, .operation = (char *) "mount" });
        g_assert_cmpint(store_commit(f->store), ==, 0);
        g_assert_cmpint(store_get_history(f->store, "a/b", &entries, &n), ==, 0);
        g_assert_cmpuint(n, ==, HISTORY_MAX);
        g_assert_cmpuint(entries[0].time_usec, ==, 10);
        g_assert_cmpstr(entries[n - 1].operation, ==, "mount");
        for (size_t i = 0; i < n; i++)
                history_entry_done(&entries[i]);
        free(entries);
}

static void test_boot_id(Fixture *f, gconstpointer data) {
        g_autofree char *absent = NULL, *present = NULL;

        g_assert_cmpint(store_get_boot_id(f->store, &absent), ==, 0);
        g_assert_cmpstr(absent, ==, "");
        store_set_boot_id(f->store, "one");
        store_set_boot_id(f->store, "two");
        g_assert_cmpint(store_commit(f->store), ==, 0);
        reopen(f);
        g_assert_cmpint(store_get_boot_id(f->store, &present), ==, 0);
        g_assert_cmpstr(present, ==, "two");
}

static void execute(Fixture *f, const char *sql) {
        sqlite3 *db;
        char *message = NULL;

        f->store = store_close(f->store);
        g_assert_cmpint(sqlite3_open(f->path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, &message), ==, SQLITE_OK);
        (void) sqlite3_close(db);
}

static void test_newer(Fixture *f, gconstpointer data) {
        execute(f, "PRAGMA user_version=2");
        g_assert_cmpint(store_open(f->path, &f->store), ==, -EPROTONOSUPPORT);
}

static void test_second_process(Fixture *f, gconstpointer data) {
        Store *second;

        g_assert_cmpint(store_open(f->path, &second), ==, -EBUSY);
}

/* Whoever can write the file can't make us believe what can't be. */
static void test_hostile(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        int r;

        put_sample(f);
        execute(f, data);
        r = store_open(f->path, &f->store);
        if (r == 0)
                r = store_load(f->store, &all);
        g_assert_cmpint(r, ==, -EUCLEAN);
}

static void test_damaged(Fixture *f, gconstpointer data) {
        g_autofree char *name = NULL;

        f->store = store_close(f->store);
        g_assert_true(g_file_set_contents(f->path,
                                          "This is not a database, and it is long enough to be looked at as "
                                          "one, as SQLite's header has 100 bytes and this has more of them.",
                                          -1, NULL));
        g_assert_cmpint(store_open(f->path, &f->store), ==, -EUCLEAN);
        g_assert_cmpint(store_set_aside(f->path, 42, &name), ==, 0);
        g_assert_true(g_str_has_suffix(name, "state.db.damaged-42"));
        g_assert_true(g_file_test(name, G_FILE_TEST_EXISTS));
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
}

static void test_rewrite(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 }, read = { 0 };
        g_autofree char *boot_id = NULL;
        HistoryEntry *entries;
        size_t n;

        put_sample(f);
        store_add_history(f->store, "a/b", &(HistoryEntry){ .time_usec = 5 });
        g_assert_cmpint(store_commit(f->store), ==, 0);
        volumes_add(&all, sample("a/b", "/var/lib/kubelet/a"));
        volumes_add(&all, sample("c", "/var/lib/kubelet/c"));
        g_assert_cmpint(store_rewrite(f->store, &all, "boot"), ==, 0);
        reopen(f);
        g_assert_cmpint(store_load(f->store, &read), ==, 0);
        g_assert_cmpuint(volumes_count(&read), ==, 2);
        g_assert_cmpint(store_get_boot_id(f->store, &boot_id), ==, 0);
        g_assert_cmpstr(boot_id, ==, "boot");
        g_assert_cmpint(store_get_history(f->store, "a/b", &entries, &n), ==, 0);
        g_assert_cmpuint(n, ==, 1);
        history_entry_done(&entries[0]);
        free(entries);
}

/* A change that the file refuses: two holders at one target. */
static void test_failed(Fixture *f, gconstpointer data) {
        _cleanup_(volume_freep) Volume *second = sample("other", "/var/lib/kubelet/a");
        _cleanup_(volumes_done) Volumes all = { 0 };

        put_sample(f);
        store_put_volume(f->store, second);
        g_assert_true(store_is_failed(f->store));
        g_assert_cmpint(store_commit(f->store), <, 0);
        store_delete_volume(f->store, "a/b");
        g_assert_cmpint(store_commit(f->store), <, 0);
        volumes_add(&all, sample("a/b", "/var/lib/kubelet/a"));
        g_assert_cmpint(store_rewrite(f->store, &all, ""), ==, 0);
        g_assert_false(store_is_failed(f->store));
        put_sample(f);
}

int main(int argc, char *argv[]) {
        static const struct {
                const char *name, *sql;
        } hostile[] = {
                { "volume-id",
                  "INSERT INTO volume SELECT 'a/../b',source,fs_type,driver,volume_type,access_mode,strategy,"
                  "context,label_state,tainted,last_verified_usec,inodes_used FROM volume" },
                { "strategy", "UPDATE volume SET strategy='trust-me'" },
                { "label-state", "UPDATE volume SET label_state='Complete'" },
                { "context", "UPDATE volume SET context='a:b:c:s0:c2,c1'" },
                { "context-injection", "UPDATE volume SET context='a:b:c:s0\",suid'" },
                { "target", "UPDATE holder SET target='/var/lib/kubelet/../../etc'" },
                { "holder-state", "UPDATE holder SET state=''" },
                { "holder-name", "UPDATE holder SET name=CAST(x'e4' AS TEXT)" },
                { "no-table", "DROP TABLE history" },
                { "orphan", "PRAGMA foreign_keys=OFF; UPDATE holder SET volume='nobody'" },
                { "version", "PRAGMA user_version=0" },
        };

        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/store/" name, Fixture, data, set_up, function, tear_down)
        ADD("round-trip", NULL, test_round_trip);
        ADD("uncommitted", NULL, test_uncommitted);
        ADD("delete", NULL, test_delete);
        ADD("history", NULL, test_history);
        ADD("boot-id", NULL, test_boot_id);
        ADD("newer", NULL, test_newer);
        ADD("second-process", NULL, test_second_process);
        for (size_t i = 0; i < G_N_ELEMENTS(hostile); i++) {
                g_autofree char *path = g_strdup_printf("/store/hostile/%s", hostile[i].name);

                g_test_add(path, Fixture, hostile[i].sql, set_up, test_hostile, tear_down);
        }
        ADD("damaged", NULL, test_damaged);
        ADD("rewrite", NULL, test_rewrite);
        ADD("failed", NULL, test_failed);
        return g_test_run();
}

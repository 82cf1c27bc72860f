/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The state file: what was committed is there again, what is hostile, damaged or newer is told apart, and a store
 * that has failed takes nothing until it was written anew. */

#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>

#include <utlist.h>

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
        g_assert_cmpint(strv_extend(&v->mount_options, "noatime"), ==, 0);
        g_assert_cmpint(strv_extend(&v->mount_options, "subvol=/a/b"), ==, 0);
        v->mounted_here = true;
        v->mounted_this_boot = true;
        v->access_mode = ACCESS_READ_WRITE_ONCE_POD;
        v->strategy = STRATEGY_CONTEXT_MOUNT;
        v->mark = (Mark){ .label_state = FILES_COMPLETE,
                          .context = strdup("system_u:object_r:container_file_t:s0:c3"),
                          .tainted = true,
                          .ownership_state = FILES_PARTIAL,
                          .gid = (gid_t) -2 };
        v->last_verified_usec = 1700000000000000;
        *h = (Holder){ .name = strdup("pod a"),
                       .target = strdup(target),
                       .context = strdup("system_u:object_r:container_file_t:s0:c1,c2"),
                       .device = strdup("254:16"),
                       .spec = strdup("spec"),
                       .state = HOLDER_MOUNTED,
                       .strategy = STRATEGY_CONTEXT_MOUNT,
                       .reason = REASON_CONTEXT_SHARED,
                       .read_only = true,
                       .relabeled_here = true,
                       .fs_group = (gid_t) -2,
                       .disk_gid = 1000,
                       .since_usec = 17,
                       .mount_id = UINT64_MAX };
        volume_add_holder(v, h);
        return v;
}

static void put(Fixture *f, const Volume *v) {
        const Holder *h;

        store_put_volume(f->store, v);
        LL_FOREACH (v->holders, h)
                store_put_holder(f->store, v, h);
}

static void put_sample(Fixture *f) {
        _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");

        put(f, v);
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
        g_assert_cmpuint(strv_length(v->mount_options), ==, 2);
        g_assert_cmpstr(v->mount_options[1], ==, "subvol=/a/b");
        g_assert_true(v->mounted_here);
        g_assert_true(v->mounted_this_boot);
        g_assert_cmpint(v->access_mode, ==, ACCESS_READ_WRITE_ONCE_POD);
        g_assert_cmpint(v->strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpint(v->mark.label_state, ==, FILES_COMPLETE);
        g_assert_cmpstr(v->mark.context, ==, "system_u:object_r:container_file_t:s0:c3");
        g_assert_true(v->mark.tainted);
        g_assert_cmpint(v->mark.ownership_state, ==, FILES_PARTIAL);
        g_assert_cmpuint(v->mark.gid, ==, (gid_t) -2);
        g_assert_cmpuint(v->last_verified_usec, ==, 1700000000000000);
        h = volume_find_holder(v, "/var/lib/kubelet/a");
        g_assert_nonnull(h);
        g_assert_cmpstr(h->name, ==, "pod a");
        g_assert_cmpint(h->reason, ==, REASON_CONTEXT_SHARED);
        g_assert_true(h->read_only);
        g_assert_false(h->adopted);
        g_assert_true(h->relabeled_here);
        g_assert_cmpuint(h->fs_group, ==, (gid_t) -2);
        g_assert_cmpuint(h->disk_gid, ==, 1000);
        g_assert_cmpuint(h->mount_id, ==, UINT64_MAX);
        g_assert_cmpstr(h->context, ==, "system_u:object_r:container_file_t:s0:c1,c2");
        g_assert_cmpstr(h->device, ==, "254:16");
}

/* What is put again replaces all of what was there. */
static void test_replace(Fixture *f, gconstpointer data) {
        _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");
        _cleanup_(volumes_done) Volumes all = { 0 };
        const Volume *read;

        put_sample(f);
        mark_done(&v->mark);
        v->holders->relabeled_here = false;
        v->holders->context = (free(v->holders->context), NULL);
        v->holders->device = (free(v->holders->device), NULL);
        v->mount_options = strv_free(v->mount_options);
        v->mounted_here = false;
        put(f, v);
        g_assert_cmpint(store_commit(f->store), ==, 0);
        reopen(f);
        g_assert_cmpint(store_load(f->store, &all), ==, 0);
        read = volumes_find(&all, "a/b");
        g_assert_true(mark_equal(&read->mark, &v->mark));
        g_assert_cmpstr(read->mark.context, ==, "");
        g_assert_cmpuint(read->mark.gid, ==, 0);
        g_assert_false(read->holders->relabeled_here);
        g_assert_cmpstr(read->holders->context, ==, "");
        g_assert_cmpstr(read->holders->device, ==, "");
        g_assert_cmpuint(strv_length(read->mount_options), ==, 0);
        g_assert_false(read->mounted_here);
}

/* A mark that was reset by halves must not make the file unreadable; what it lacks it doesn't know. */
static void test_leftovers(Fixture *f, gconstpointer data) {
        for (int i = 0; i < 3; i++) {
                _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");
                _cleanup_(volumes_done) Volumes all = { 0 };
                const Mark *read;

                if (i == 0)
                        v->mark.label_state = FILES_UNKNOWN; /* the context is left */
                else if (i == 1)
                        v->mark.context = (free(v->mark.context), NULL); /* the state is left */
                else
                        v->mark.ownership_state = FILES_UNKNOWN; /* the gid is left */
                put(f, v);
                g_assert_cmpint(store_commit(f->store), ==, 0);
                reopen(f);
                g_assert_cmpint(store_load(f->store, &all), ==, 0);
                read = &volumes_find(&all, "a/b")->mark;
                g_assert_cmpint(read->label_state, ==, i < 2 ? FILES_UNKNOWN : FILES_COMPLETE);
                g_assert_cmpint(isempty(read->context), ==, i < 2);
                g_assert_cmpuint(read->gid, ==, i == 2 ? 0 : (gid_t) -2);
                g_assert_true(read->tainted);
        }
}

/* What was not committed was never there. */
static void test_uncommitted(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        _cleanup_(volume_freep) Volume *v = sample("x", "/var/lib/kubelet/x");

        put(f, v);
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
        execute(f, "PRAGMA user_version=7");
        g_assert_cmpint(store_open(f->path, &f->store), ==, -EPROTONOSUPPORT);
}

/* --- files of earlier versions --- */

static const char version_1[] =
        "PRAGMA journal_mode=WAL;"
        "CREATE TABLE volume (id TEXT PRIMARY KEY, source TEXT NOT NULL, fs_type TEXT NOT NULL, driver TEXT,"
        " volume_type TEXT NOT NULL, access_mode TEXT NOT NULL, strategy TEXT NOT NULL, context TEXT NOT NULL,"
        " label_state TEXT NOT NULL, tainted INTEGER NOT NULL, last_verified_usec INTEGER NOT NULL,"
        " inodes_used INTEGER NOT NULL) STRICT;"
        "CREATE TABLE holder (volume TEXT NOT NULL REFERENCES volume (id) ON DELETE CASCADE, name TEXT NOT NULL,"
        " target TEXT PRIMARY KEY, state TEXT NOT NULL, strategy TEXT NOT NULL, reason TEXT NOT NULL,"
        " read_only INTEGER NOT NULL, adopted INTEGER NOT NULL, since_usec INTEGER NOT NULL, mount_id INTEGER NOT "
        "NULL,"
        " spec TEXT NOT NULL) STRICT;"
        "CREATE INDEX holder_volume ON holder (volume);"
        "CREATE TABLE history (seq INTEGER PRIMARY KEY, volume TEXT NOT NULL REFERENCES volume (id) ON DELETE "
        "CASCADE,"
        " time_usec INTEGER NOT NULL, operation TEXT NOT NULL, result TEXT NOT NULL, reason TEXT NOT NULL,"
        " target TEXT NOT NULL, holder TEXT NOT NULL, context TEXT NOT NULL, caller TEXT NOT NULL, text TEXT NOT "
        "NULL,"
        " duration_usec INTEGER NOT NULL) STRICT;"
        "CREATE INDEX history_volume ON history (volume, seq);"
        "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;"
        "PRAGMA user_version=1;"
        "INSERT INTO volume VALUES ('a/b','/dev/vdb','ext4','d.example','csi','ReadWriteOncePod','context-mount',"
        "'system_u:object_r:container_file_t:s0:c1,c2','unknown',1,1700000000000000,42);"
        "INSERT INTO volume VALUES ('plain','/dev/vdc','xfs',NULL,'csi','','relabel',"
        "'system_u:object_r:container_file_t:s0:c5','unknown',0,0,0);"
        "INSERT INTO holder VALUES ('a/b','pod a','/var/lib/kubelet/a','mounted','context-mount','context-mount',"
        "0,1,17,99,'spec');"
        "INSERT INTO holder VALUES ('plain','pod b','/var/lib/kubelet/b','mounted','relabel','policy-always',"
        "0,0,18,100,'spec b');"
        "INSERT INTO holder VALUES ('plain','pod c','/var/lib/kubelet/c','mounting','none','read-only',1,0,19,0,'');"
        "INSERT INTO history VALUES (NULL,'a/b',5,'mount','done','','','','','','',0);"
        "INSERT INTO meta VALUES ('boot_id','one');";

static const char version_2[] =
        "ALTER TABLE volume ADD COLUMN label_context TEXT NOT NULL DEFAULT '';"
        "ALTER TABLE volume ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE volume ADD COLUMN ownership_state TEXT NOT NULL DEFAULT 'unknown';"
        "ALTER TABLE volume ADD COLUMN gid INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE volume ADD COLUMN mount_options TEXT NOT NULL DEFAULT '';"
        "ALTER TABLE volume ADD COLUMN mounted_here INTEGER NOT NULL DEFAULT 0;"
        "ALTER TABLE holder ADD COLUMN relabelled_here INTEGER NOT NULL DEFAULT 0;"
        "PRAGMA user_version=2;"
        "UPDATE volume SET label_state='complete',label_context='system_u:object_r:container_file_t:s0:c3',"
        "generation=7,ownership_state='partial',gid=1000,mount_options='noatime,subvol=/a/b',mounted_here=1"
        " WHERE id='a/b';"
        "UPDATE holder SET relabelled_here=1 WHERE name='pod b';";

static const char version_3[] = "ALTER TABLE holder ADD COLUMN fs_group INTEGER NOT NULL DEFAULT 4294967295;"
                                "ALTER TABLE holder ADD COLUMN disk_gid INTEGER NOT NULL DEFAULT 4294967295;"
                                "PRAGMA user_version=3;"
                                "UPDATE holder SET fs_group=2000,disk_gid=0 WHERE name='pod a';";

static const char version_4[] =
        "ALTER TABLE holder ADD COLUMN context TEXT NOT NULL DEFAULT '';"
        "ALTER TABLE holder ADD COLUMN device TEXT NOT NULL DEFAULT '';"
        "UPDATE holder SET context=(SELECT context FROM volume WHERE id=holder.volume) WHERE strategy<>'none';"
        "ALTER TABLE volume DROP COLUMN generation;"
        "ALTER TABLE holder RENAME COLUMN relabelled_here TO relabeled_here;"
        "PRAGMA user_version=4;";

enum { VERSIONS = 4 };

/* A file as that version left it, and then more. */
static void make_version(Fixture *f, int version, const char *more) {
        g_autofree char *sql = g_strconcat(version_1, version >= 2 ? version_2 : "", version >= 3 ? version_3 : "",
                                           version >= 4 ? version_4 : "", more, NULL),
                        *wal = g_strconcat(f->path, "-wal", NULL);

        f->store = store_close(f->store);
        g_assert_cmpint(g_unlink(f->path), ==, 0);
        (void) g_unlink(wal);
        execute(f, sql);
}

/* The columns as the file describes them, in their order, and its version. */
static char *describe_columns(Fixture *f) {
        GString *text = g_string_new(NULL);
        sqlite3_stmt *st;
        sqlite3 *db;

        f->store = store_close(f->store);
        g_assert_cmpint(sqlite3_open(f->path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_prepare_v2(db,
                                           "SELECT t.name, c.cid, c.name, c.type, c.\"notnull\", c.dflt_value, c.pk, "
                                           "v.user_version FROM pragma_user_version v, sqlite_schema t, "
                                           "pragma_table_info(t.name) c WHERE t.type='table' ORDER BY t.name, c.cid",
                                           -1, &st, NULL),
                        ==, SQLITE_OK);
        while (sqlite3_step(st) == SQLITE_ROW) {
                for (int i = 0; i < sqlite3_column_count(st); i++)
                        g_string_append_printf(text, "%s ", strempty((const char *) sqlite3_column_text(st, i)));
                g_string_append_c(text, '\n');
        }
        sqlite3_finalize(st);
        (void) sqlite3_close(db);
        return g_string_free(text, FALSE);
}

static void assert_volume_of_version(const Volume *v, int version) {
        g_assert_cmpstr(v->source, ==, "/dev/vdb");
        g_assert_cmpstr(v->driver, ==, "d.example");
        g_assert_cmpint(v->access_mode, ==, ACCESS_READ_WRITE_ONCE_POD);
        g_assert_cmpint(v->strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpstr(v->context, ==, "system_u:object_r:container_file_t:s0:c1,c2");
        g_assert_cmpuint(v->last_verified_usec, ==, 1700000000000000);
        g_assert_cmpuint(v->inodes_used, ==, 42);
        g_assert_true(v->mark.tainted);
        g_assert_cmpint(v->mark.label_state, ==, version >= 2 ? FILES_COMPLETE : FILES_UNKNOWN);
        g_assert_cmpstr(v->mark.context, ==, version >= 2 ? "system_u:object_r:container_file_t:s0:c3" : "");
        g_assert_cmpint(v->mark.ownership_state, ==, version >= 2 ? FILES_PARTIAL : FILES_UNKNOWN);
        g_assert_cmpuint(v->mark.gid, ==, version >= 2 ? 1000 : 0);
        g_assert_cmpuint(strv_length(v->mount_options), ==, version >= 2 ? 2 : 0);
        g_assert_cmpint(v->mounted_here, ==, version >= 2);
        g_assert_false(v->mounted_this_boot); /* its holder has adopted it */
}

static void assert_holders_of_version(const Volumes *all, int version) {
        const Holder *a = volumes_find_target(all, "/var/lib/kubelet/a", NULL),
                     *b = volumes_find_target(all, "/var/lib/kubelet/b", NULL),
                     *c = volumes_find_target(all, "/var/lib/kubelet/c", NULL);

        g_assert_true(a && b && c);
        g_assert_true(b->volume->mounted_this_boot);
        g_assert_true(a->adopted);
        g_assert_cmpuint(a->mount_id, ==, 99);
        g_assert_cmpstr(a->spec, ==, "spec");
        g_assert_cmpuint(a->fs_group, ==, version >= 3 ? 2000 : GID_NONE);
        g_assert_cmpuint(a->disk_gid, ==, version >= 3 ? 0 : GID_NONE);
        g_assert_cmpuint(b->fs_group, ==, GID_NONE);
        g_assert_cmpuint(b->disk_gid, ==, GID_NONE);
        g_assert_cmpint(c->state, ==, HOLDER_MOUNTING);
        g_assert_true(c->read_only);

        g_assert_false(a->relabeled_here);
        g_assert_cmpint(b->relabeled_here, ==, version >= 2);
        g_assert_false(c->relabeled_here);

        /* Holders had the volume's context, unless labels played no part; the device is not known. */
        g_assert_cmpstr(a->context, ==, "system_u:object_r:container_file_t:s0:c1,c2");
        g_assert_cmpstr(b->context, ==, "system_u:object_r:container_file_t:s0:c5");
        g_assert_cmpstr(c->context, ==, "");
        g_assert_cmpstr(a->device, ==, "");
        g_assert_cmpstr(b->device, ==, "");
        g_assert_cmpstr(c->device, ==, "");
}

/* Whatever was there is there, and what it could not know is unknown. Twice: the steps are taken once. */
static void test_version(Fixture *f, gconstpointer data) {
        int version = GPOINTER_TO_INT(data);

        make_version(f, version, "");
        for (int i = 0; i < 2; i++) {
                _cleanup_(volumes_done) Volumes all = { 0 };
                _cleanup_free_ char *boot_id = NULL;
                const Volume *plain;
                HistoryEntry *entries;
                size_t n;

                reopen(f);
                g_assert_cmpint(store_load(f->store, &all), ==, 0);
                g_assert_cmpuint(volumes_count(&all), ==, 2);
                assert_volume_of_version(volumes_find(&all, "a/b"), version);
                assert_holders_of_version(&all, version);
                plain = volumes_find(&all, "plain");
                g_assert_cmpuint(volume_count_holders(plain), ==, 2);
                g_assert_null(plain->driver);
                g_assert_false(plain->mark.tainted);
                g_assert_cmpint(plain->mark.label_state, ==, FILES_UNKNOWN);

                g_assert_cmpint(store_get_history(f->store, "a/b", &entries, &n), ==, 0);
                g_assert_cmpuint(n, ==, 1);
                g_assert_cmpstr(entries[0].operation, ==, "mount");
                history_entry_done(&entries[0]);
                free(entries);
                g_assert_cmpint(store_get_boot_id(f->store, &boot_id), ==, 0);
                g_assert_cmpstr(boot_id, ==, "one");
        }
        /* And it takes what a new file takes. */
        put_sample(f);
}

static void test_version_columns(Fixture *f, gconstpointer data) {
        g_autofree char *fresh = describe_columns(f), *migrated = NULL;

        g_assert_nonnull(strstr(fresh, "relabeled_here"));
        make_version(f, GPOINTER_TO_INT(data), "");
        reopen(f);
        migrated = describe_columns(f);
        g_assert_cmpstr(fresh, ==, migrated);
}

/* The step fails at its last column: nothing of it stays, so that it can be looked at, or set aside, as it was. */
static void test_version_whole(Fixture *f, gconstpointer data) {
        static const char *const last_columns[VERSIONS] = { "holder ADD COLUMN relabelled_here",
                                                            "holder ADD COLUMN disk_gid",
                                                            "holder ADD COLUMN relabeled_here",
                                                            "volume ADD COLUMN mounted_this_boot" };
        int version = GPOINTER_TO_INT(data);
        g_autofree char *before = NULL, *after = NULL,
                        *more = g_strdup_printf("ALTER TABLE %s INTEGER;", last_columns[version - 1]);

        make_version(f, version, more);
        before = describe_columns(f);
        g_assert_cmpint(store_open(f->path, &f->store), ==, -EUCLEAN);
        f->store = NULL;
        after = describe_columns(f);
        g_assert_cmpstr(before, ==, after);
}

/* What an earlier version says is checked like any other. */
static void test_version_hostile(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };

        make_version(f, GPOINTER_TO_INT(data), "UPDATE volume SET label_state='complete' WHERE id='plain';");
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
        g_assert_cmpint(store_load(f->store, &all), ==, -EUCLEAN);
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
        HistoryEntry *entries;
        size_t n;

        put_sample(f);
        store_put_holder(f->store, second, second->holders); /* of a volume that is not there */
        g_assert_true(store_is_failed(f->store));
        g_assert_cmpint(store_commit(f->store), <, 0);
        store_delete_volume(f->store, "a/b");
        g_assert_cmpint(store_commit(f->store), <, 0);
        g_assert_cmpint(store_get_history(f->store, "a/b", &entries, &n), <, 0);
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
                  "context,label_state,tainted,last_verified_usec,inodes_used,label_context,ownership_state,gid,"
                  "mount_options,mounted_here,mounted_this_boot,fingerprint FROM volume" },
                { "strategy", "UPDATE volume SET strategy='trust-me'" },
                { "label-state", "UPDATE volume SET label_state='Complete'" },
                { "label-context", "UPDATE volume SET label_context='a:b:c:s0:c2,c1'" },
                { "label-context-injection", "UPDATE volume SET label_context='a:b:c:s0 tainted=no'" },
                { "label-context-missing", "UPDATE volume SET label_context=''" },
                { "label-context-of-nothing", "UPDATE volume SET label_state='unknown'" },
                { "partial-without-context", "UPDATE volume SET label_state='partial', label_context=''" },
                { "tainted", "UPDATE volume SET tainted=2" },
                { "tainted-negative", "UPDATE volume SET tainted=-1" },
                { "ownership-state", "UPDATE volume SET ownership_state='mine'" },
                { "ownership-of-nothing", "UPDATE volume SET ownership_state='unknown'" },
                { "gid", "UPDATE volume SET gid=4294967295" },
                { "gid-wraps", "UPDATE volume SET gid=4294967296" },
                { "gid-negative", "UPDATE volume SET gid=-2" },
                { "mount-options-context", "UPDATE volume SET mount_options='noatime,context=a:b:c:s0'" },
                { "mount-options-dev", "UPDATE volume SET mount_options='dev'" },
                { "mount-options-quotes", "UPDATE volume SET mount_options='subvol=\"a\"'" },
                { "mounted-here", "UPDATE volume SET mounted_here=2" },
                { "fingerprint", "UPDATE volume SET fingerprint='xfs:A'" },
                { "mounted-this-boot", "UPDATE volume SET mounted_this_boot=2" },
                { "relabeled-here", "UPDATE holder SET relabeled_here=256" },
                { "fs-group-alone", "UPDATE holder SET disk_gid=4294967295" },
                { "disk-gid-alone", "UPDATE holder SET fs_group=4294967295" },
                { "fs-group-wraps", "UPDATE holder SET fs_group=4294967296" },
                { "disk-gid-negative", "UPDATE holder SET disk_gid=-1" },
                { "holder-context", "UPDATE holder SET context='a:b:c:s0:c2,c1'" },
                { "holder-context-injection", "UPDATE holder SET context='a:b:c:s0\",suid'" },
                { "holder-device", "UPDATE holder SET device=CAST(x'e4' AS TEXT)" },
                { "read-only", "UPDATE holder SET read_only=-1" },
                { "context", "UPDATE volume SET context='a:b:c:s0:c2,c1'" },
                { "context-injection", "UPDATE volume SET context='a:b:c:s0\",suid'" },
                { "target", "UPDATE holder SET target='/var/lib/kubelet/../../etc'" },
                { "holder-state", "UPDATE holder SET state=''" },
                { "holder-name", "UPDATE holder SET name=CAST(x'e4' AS TEXT)" },
                { "no-table", "DROP TABLE history" },
                { "orphan", "PRAGMA foreign_keys=OFF; UPDATE holder SET volume='nobody'" },
                { "version", "PRAGMA user_version=0" },
        };

        static const struct {
                const char *name;
                void (*function)(Fixture *f, gconstpointer data);
        } migrations[] = {
                { "read", test_version },
                { "columns", test_version_columns },
                { "whole", test_version_whole },
                { "hostile", test_version_hostile },
        };

        g_test_init(&argc, &argv, NULL);
#define ADD(name, data, function) g_test_add("/store/" name, Fixture, data, set_up, function, tear_down)
        ADD("round-trip", NULL, test_round_trip);
        ADD("replace", NULL, test_replace);
        ADD("leftovers", NULL, test_leftovers);
        ADD("uncommitted", NULL, test_uncommitted);
        ADD("delete", NULL, test_delete);
        ADD("history", NULL, test_history);
        ADD("boot-id", NULL, test_boot_id);
        ADD("newer", NULL, test_newer);
        ADD("second-process", NULL, test_second_process);
        for (int version = 1; version <= VERSIONS; version++)
                for (size_t i = 0; i < G_N_ELEMENTS(migrations); i++) {
                        g_autofree char *path = g_strdup_printf("/store/version-%i/%s", version, migrations[i].name);

                        g_test_add(path, Fixture, GINT_TO_POINTER(version), set_up, migrations[i].function,
                                   tear_down);
                }
        for (size_t i = 0; i < G_N_ELEMENTS(hostile); i++) {
                g_autofree char *path = g_strdup_printf("/store/hostile/%s", hostile[i].name);

                g_test_add(path, Fixture, hostile[i].sql, set_up, test_hostile, tear_down);
        }
        ADD("damaged", NULL, test_damaged);
        ADD("rewrite", NULL, test_rewrite);
        ADD("failed", NULL, test_failed);
        return g_test_run();
}

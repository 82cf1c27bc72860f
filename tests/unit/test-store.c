/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The file has all that was committed. selvold tells hostile, damaged and newer files apart. A store that has
 * failed takes nothing until it was written anew. */

#include <glib/gstdio.h>
#include <sqlite3.h>

#include "store-fixture.h"

static void assert_sample(Fixture *f, const char *driver) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        const Volume *v;
        const Holder *h;

        load(f, &all);
        g_assert_cmpuint(volumes_count(&all), ==, 1);
        v = volumes_find(&all, "a/b");
        g_assert_nonnull(v);
        g_assert_cmpstr(v->source, ==, "/dev/vdb");
        g_assert_cmpstr(v->identity.text, ==, "nfs:s:/\303\244");
        g_assert_cmpstr(v->link, ==, "/dev/disk/by-id/a");
        g_assert_cmpstr(v->fs_type, ==, "nfs4");
        g_assert_cmpstr(v->mount_type, ==, "nfs");
        g_assert_cmpstr(v->driver, ==, driver);
        g_assert_cmpuint(strv_length(v->mount_options), ==, 2);
        g_assert_cmpstr(v->mount_options[1], ==, "subvol=/a/b");
        g_assert_true(v->mounted_here);
        g_assert_true(v->mounted_this_boot);
        g_assert_true(v->mounted_elsewhere);
        g_assert_cmpint(v->access_mode, ==, ACCESS_READ_WRITE_ONCE_POD);
        g_assert_cmpint(v->strategy, ==, STRATEGY_CONTEXT_MOUNT);
        g_assert_cmpint(v->mark.label_state, ==, FILES_COMPLETE);
        g_assert_cmpstr(v->mark.context, ==, "system_u:object_r:container_file_t:s0:c3");
        g_assert_true(v->mark.tainted);
        g_assert_cmpint(v->mark.ownership_state, ==, FILES_PARTIAL);
        g_assert_cmpuint(v->mark.gid, ==, (gid_t) -2);
        g_assert_cmpuint(v->last_verified_usec, ==, 1700000000000000);
        g_assert_cmpuint(v->last_used_usec, ==, 1700000000000001);
        g_assert_cmpuint(v->introducer, ==, (uid_t) -2);
        g_assert_true(v->ephemeral);
        h = volume_find_holder(v, "/var/lib/kubelet/a");
        g_assert_nonnull(h);
        g_assert_cmpstr(h->name, ==, "pod a");
        g_assert_cmpint(h->reason, ==, REASON_CONTEXT_SHARED);
        g_assert_true(h->read_only);
        g_assert_false(h->adopted);
        g_assert_false(h->release_on_umount);
        g_assert_true(h->relabeled_here);
        g_assert_cmpuint(h->fs_group, ==, (gid_t) -2);
        g_assert_cmpuint(h->disk_gid, ==, 1000);
        g_assert_cmpuint(h->mount_id, ==, UINT64_MAX);
        g_assert_cmpstr(h->context, ==, "system_u:object_r:container_file_t:s0:c1,c2");
        g_assert_cmpstr(h->device, ==, "254:16");
        g_assert_cmpstr(h->superblock, ==, "device:254:16");
        g_assert_cmpuint(h->owner, ==, (uid_t) -2);
}

static void test_round_trip(Fixture *f, gconstpointer data) {
        put_sample(f);
        reopen(f);
        assert_sample(f, "d.example");
}

/* A volume that is put again replaces the whole earlier one. */
static void test_replace(Fixture *f, gconstpointer data) {
        _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");
        _cleanup_(volumes_done) Volumes all = { 0 };
        const Volume *read;

        put_sample(f);
        mark_done(&v->mark);
        v->holders->relabeled_here = false;
        v->holders->context = (free(v->holders->context), NULL);
        v->holders->device = (free(v->holders->device), NULL);
        v->holders->superblock = (free(v->holders->superblock), NULL);
        v->mount_options = strv_free(v->mount_options);
        v->mounted_here = false;
        v->driver = (free(v->driver), NULL);
        v->holders->adopted = true;
        v->holders->release_on_umount = true;
        v->holders->state = HOLDER_MOUNTING;
        v->holders->fs_group = v->holders->disk_gid = GID_NONE;
        put(f, v);
        g_assert_cmpint(store_commit(f->store), ==, 0);
        reopen(f);
        load(f, &all);
        read = volumes_find(&all, "a/b");
        g_assert_true(mark_equal(&read->mark, &v->mark));
        g_assert_cmpstr(read->mark.context, ==, "");
        g_assert_cmpuint(read->mark.gid, ==, 0);
        g_assert_false(read->holders->relabeled_here);
        g_assert_cmpstr(read->holders->context, ==, "");
        g_assert_cmpstr(read->holders->device, ==, "");
        g_assert_cmpuint(strv_length(read->mount_options), ==, 0);
        g_assert_false(read->mounted_here);
        g_assert_null(read->driver);
        g_assert_true(read->holders->adopted);
        g_assert_true(read->holders->release_on_umount);
        g_assert_cmpint(read->holders->state, ==, HOLDER_MOUNTING);
        g_assert_cmpuint(read->holders->fs_group, ==, GID_NONE);
        g_assert_cmpuint(read->holders->disk_gid, ==, GID_NONE);
}

/* A mark that was reset only in part must not make the file unreadable. A state without its value is
 * unknown. */
static void test_leftovers(Fixture *f, gconstpointer data) {
        for (int i = 0; i < 3; i++) {
                _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");
                _cleanup_(volumes_done) Volumes all = { 0 };
                const Mark *read;

                if (i == 0)
                        v->mark.label_state = FILES_UNKNOWN; /* the context stays */
                else if (i == 1)
                        v->mark.context = (free(v->mark.context), NULL); /* the state stays */
                else
                        v->mark.ownership_state = FILES_UNKNOWN; /* the gid stays */
                put(f, v);
                g_assert_cmpint(store_commit(f->store), ==, 0);
                reopen(f);
                load(f, &all);
                read = &volumes_find(&all, "a/b")->mark;
                g_assert_cmpint(read->label_state, ==, i < 2 ? FILES_UNKNOWN : FILES_COMPLETE);
                g_assert_cmpint(isempty(read->context), ==, i < 2);
                g_assert_cmpuint(read->gid, ==, i == 2 ? 0 : (gid_t) -2);
                g_assert_true(read->tainted);
        }
}

/* A volume that was not committed is not in the file. */
static void test_uncommitted(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        _cleanup_(volume_freep) Volume *v = sample("x", "/var/lib/kubelet/x");

        put(f, v);
        reopen(f);
        load(f, &all);
        g_assert_cmpuint(volumes_count(&all), ==, 0);
}

static void test_delete(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };

        put_sample(f);
        store_delete_volume(f->store, "a/b");
        g_assert_cmpint(store_commit(f->store), ==, 0);
        load(f, &all);
        g_assert_cmpuint(volumes_count(&all), ==, 0);
}

static void test_boot_id(Fixture *f, gconstpointer data) {
        g_autofree char *absent = NULL, *present = NULL;

        g_assert_cmpint(store_get_boot_id(f->store, &absent), ==, 0);
        g_assert_cmpstr(absent, ==, "");
        store_put_boot_id(f->store, "one");
        store_put_boot_id(f->store, "two");
        g_assert_cmpint(store_commit(f->store), ==, 0);
        reopen(f);
        g_assert_cmpint(store_get_boot_id(f->store, &present), ==, 0);
        g_assert_cmpstr(present, ==, "two");
}

static void test_newer(Fixture *f, gconstpointer data) {
        execute(f, "PRAGMA user_version=2");
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, -EPROTONOSUPPORT);
}

/* --- files of earlier versions --- */

/* selvold can't read exactly these rows, and reads that many volumes. */
static void assert_skipped(Fixture *f, const char *rows, unsigned n_volumes) {
        g_autoptr(GString) skipped = g_string_new(NULL);
        _cleanup_(volumes_done) Volumes all = { 0 };

        g_assert_cmpint(store_get_error(f->store), ==, 0);
        g_assert_cmpint(store_load(f->store, &all, on_skipped, skipped), ==, 0);
        g_assert_cmpstr(skipped->str, ==, rows);
        g_assert_cmpuint(volumes_count(&all), ==, n_volumes);
}

/* Returns the file's own description of its columns, in their order, and its version. */
static char *describe_columns(Fixture *f, const char *path) {
        GString *text = g_string_new(NULL);
        sqlite3_stmt *st;
        sqlite3 *db;

        f->store = store_close(f->store);
        g_assert_cmpint(sqlite3_open(path, &db), ==, SQLITE_OK);
        g_assert_cmpint(
                sqlite3_prepare_v2(
                        db,
                        "SELECT t.name, c.cid, c.name, c.type, c.\"notnull\", c.dflt_value, c.pk, "
                        "v.user_version, a.application_id FROM pragma_user_version v, pragma_application_id a, sqlite_schema t, "
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

/* The rows stay, and the steps of the migration run once. */
static void test_version(Fixture *f, gconstpointer data) {
        make_version(f, GPOINTER_TO_INT(data), "");
        for (int i = 0; i < 2; i++) {
                reopen(f);
                g_assert_cmpint(store_get_error(f->store), ==, 0);
                assert_sample(f, "d.example-3");
        }
        /* The migrated file takes volumes as a new file does. */
        put_sample(f);
        assert_sample(f, "d.example");
}

/* The migrated tables are those of a new file, and selvold keeps the old file. */
static void test_version_columns(Fixture *f, gconstpointer data) {
        int version = GPOINTER_TO_INT(data);
        g_autofree char *fresh = NULL, *before = NULL, *migrated = NULL, *kept = NULL,
                        *copy = g_strdup_printf("%s.version-%i", f->path, version);

        make_version(f, version, "");
        before = describe_columns(f, f->path);
        reopen(f);
        migrated = describe_columns(f, f->path);
        kept = describe_columns(f, copy);
        g_assert_cmpstr(before, ==, kept);
        g_assert_cmpint(g_unlink(f->path), ==, 0);
        reopen(f);
        fresh = describe_columns(f, f->path);
        g_assert_nonnull(strstr(fresh, "third"));
        g_assert_cmpstr(fresh, ==, migrated);
}

/* The last step fails at its last column, and leaves nothing behind: a person can look at the old file. */
static void test_version_whole(Fixture *f, gconstpointer data) {
        g_autofree char *before = NULL, *after = NULL;

        make_version(f, GPOINTER_TO_INT(data), "ALTER TABLE holder ADD COLUMN third INTEGER;");
        before = describe_columns(f, f->path);
        reopen(f);
        g_assert_cmpint(store_get_error(f->store), ==, -EUCLEAN);
        after = describe_columns(f, f->path);
        g_assert_cmpstr(before, ==, after);
}

/* selvold checks rows of an earlier version like all others. */
static void test_version_hostile(Fixture *f, gconstpointer data) {
        make_version(f, GPOINTER_TO_INT(data), "UPDATE holder SET state='held';");
        reopen(f);
        assert_skipped(f, "a/b@/var/lib/kubelet/a ", 1);
}

static void test_second_process(Fixture *f, gconstpointer data) {
        Store *second;

        g_assert_cmpint(store_open(f->path, &f->schema, &second), ==, -EBUSY);
}

typedef struct Hostile {
        const char *name, *sql;
        const char *rows; /* selvold skips these; NULL: the file is damaged as a whole */
} Hostile;

/* A row that can't be true costs only itself, and a row of a volume its holders, too. */
static void test_hostile(Fixture *f, gconstpointer data) {
        _cleanup_(volume_freep) Volume *good = sample("good", "/var/lib/kubelet/good");
        _cleanup_(volumes_done) Volumes all = { 0 };
        g_autoptr(GString) skipped = g_string_new(NULL);
        const Hostile *h = data;

        put_sample(f);
        execute(f, h->sql);
        reopen(f);
        g_assert_cmpint(store_get_error(f->store), ==, 0);
        put(f, good);
        g_assert_cmpint(store_commit(f->store), ==, 0);
        reopen(f);
        g_assert_cmpint(store_load(f->store, &all, on_skipped, skipped), ==, 0);
        g_assert_cmpstr(skipped->str, ==, h->rows);
        g_assert_nonnull(volume_find_holder(volumes_find(&all, "good"), "/var/lib/kubelet/good"));
}

/* selvold keeps a file that it can't use under another name, with SQLite's log, and makes a new file. */
static void test_set_aside(Fixture *f, gconstpointer data) {
        static const char text[] =
                "This is not a database, and it is long enough to be looked at as one, as SQLite's "
                "header has 100 bytes and this has more of them.";
        g_autofree char *wal = g_strconcat(f->path, "-wal", NULL), *kept = NULL;
        _cleanup_(volumes_done) Volumes all = { 0 };
        _cleanup_free_ char *name = NULL;

        f->store = store_close(f->store);
        g_assert_true(g_file_set_contents(f->path, text, -1, NULL));
        g_assert_true(g_file_set_contents(wal, "log", -1, NULL));
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
        g_assert_cmpint(store_get_error(f->store), ==, -EUCLEAN);
        load(f, &all);
        g_assert_cmpuint(volumes_count(&all), ==, 0);
        g_assert_cmpint(store_set_aside(f->store, 42, &name), ==, 0);
        g_assert_true(g_str_has_suffix(name, "state.db.damaged-42"));
        g_assert_cmpint(write_anew(f, &all), ==, 0);
        g_assert_cmpint(store_get_error(f->store), ==, 0);
        g_assert_true(g_file_get_contents(name, &kept, NULL, NULL));
        g_assert_cmpstr(kept, ==, text);
        put_sample(f);
        reopen(f);
        g_assert_cmpint(store_get_error(f->store), ==, 0);
}

/* A file that lacks a table or the version, or that is of another application, is damaged as a whole. */
static void test_damaged(Fixture *f, gconstpointer data) {
        const Hostile *h = data;

        put_sample(f);
        execute(f, h->sql);
        reopen(f);
        g_assert_cmpint(store_get_error(f->store), ==, -EUCLEAN);
}

static void test_rewrite(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 }, read = { 0 };
        g_autofree char *boot_id = NULL;
        Volume *planned = sample("planned", "/var/lib/kubelet/planned");

        put_sample(f);
        planned->holders->state = HOLDER_MOUNTING;
        planned->holders->mount_id = 0;
        g_assert_cmpint(volumes_add(&all, planned), ==, 0);
        g_assert_cmpint(volumes_add(&all, sample("a/b", "/var/lib/kubelet/a")), ==, 0);
        g_assert_cmpint(volumes_add(&all, sample("c", "/var/lib/kubelet/c")), ==, 0);
        g_assert_cmpint(write_anew(f, &all), ==, 0);
        reopen(f);
        load(f, &read);
        g_assert_cmpuint(volumes_count(&read), ==, 3);
        /* The intent must not be on disk before selvold knows the identity of the mount. */
        g_assert_null(volumes_find(&read, "planned")->holders);
        g_assert_cmpint(store_get_boot_id(f->store, &boot_id), ==, 0);
        g_assert_cmpstr(boot_id, ==, "boot");
}

/* The file refuses a change: the volume of the holder does not exist. */
static void test_failed(Fixture *f, gconstpointer data) {
        _cleanup_(volume_freep) Volume *second = sample("other", "/var/lib/kubelet/a");
        _cleanup_(volumes_done) Volumes all = { 0 }, read = { 0 };

        put_sample(f);
        store_put_holder(f->store, second, second->holders);
        g_assert_cmpint(store_commit(f->store), ==, -EUCLEAN);
        g_assert_cmpint(store_get_error(f->store), ==, -EUCLEAN);
        store_delete_volume(f->store, "a/b");
        g_assert_cmpint(store_commit(f->store), ==, -EUCLEAN);
        g_assert_cmpint(volumes_add(&all, sample("a/b", "/var/lib/kubelet/a")), ==, 0);
        g_assert_cmpint(write_anew(f, &all), ==, 0);
        g_assert_cmpint(store_get_error(f->store), ==, 0);
        put_sample(f);
        reopen(f);
        load(f, &read);
        g_assert_nonnull(volumes_find_target(&read, "/var/lib/kubelet/a", NULL));
}

void add_tests(void) {
#define A_HOLDER "a/b@/var/lib/kubelet/a "
#define A_VOLUME "a/b@ " A_HOLDER
        static const Hostile damages[] = {
                { "no-table", "DROP TABLE meta" },
                { "version", "PRAGMA user_version=0" },
                { "application", "PRAGMA application_id=17" },
                { "application/none", "PRAGMA application_id=0" },
                { "application/newer", "PRAGMA application_id=17; PRAGMA user_version=2" },
        };
        static const Hostile hostile[] = {
                { "volume-id",
                  "INSERT INTO volume SELECT '',source,fs_type,driver,volume_type,access_mode,strategy,"
                  "context,label_state,tainted,last_verified_usec,inodes_used,label_context,ownership_state,gid,"
                  "mount_options,mounted_here,mounted_this_boot,fingerprint,mount_type,identity,link,mounted_elsewhere,"
                  "last_used_usec,introducer,ephemeral FROM volume",
                  "@ " },
                { "strategy", "UPDATE volume SET strategy='trust-me'", A_VOLUME },
                { "label-state", "UPDATE volume SET label_state='Complete'", A_VOLUME },
                { "label-context", "UPDATE volume SET label_context='a:b:c:s0:c2,c1'", A_VOLUME },
                { "label-context-injection", "UPDATE volume SET label_context='a:b:c:s0 tainted=no'", A_VOLUME },
                { "label-context-missing", "UPDATE volume SET label_context=''", A_VOLUME },
                { "label-context-of-nothing", "UPDATE volume SET label_state='unknown'", A_VOLUME },
                { "partial-without-context", "UPDATE volume SET label_state='partial', label_context=''", A_VOLUME },
                { "tainted", "UPDATE volume SET tainted=2", A_VOLUME },
                { "tainted-negative", "UPDATE volume SET tainted=-1", A_VOLUME },
                { "ownership-state", "UPDATE volume SET ownership_state='mine'", A_VOLUME },
                { "ownership-of-nothing", "UPDATE volume SET ownership_state='unknown'", A_VOLUME },
                { "gid", "UPDATE volume SET gid=4294967295", A_VOLUME },
                { "gid-wraps", "UPDATE volume SET gid=4294967296", A_VOLUME },
                { "gid-negative", "UPDATE volume SET gid=-2", A_VOLUME },
                { "mount-options-context", "UPDATE volume SET mount_options='noatime,context=a:b:c:s0'", A_VOLUME },
                { "mount-options-dev", "UPDATE volume SET mount_options='dev'", A_VOLUME },
                { "mount-options-quotes", "UPDATE volume SET mount_options='subvol=\"a\"'", A_VOLUME },
                { "mounted-here", "UPDATE volume SET mounted_here=2", A_VOLUME },
                { "fingerprint", "UPDATE volume SET fingerprint='xfs:A'", A_VOLUME },
                { "identity", "UPDATE volume SET identity='ext4:a b'", A_VOLUME },
                { "introducer", "UPDATE volume SET introducer=4294967296", A_VOLUME },
                { "ephemeral", "UPDATE volume SET ephemeral=2", A_VOLUME },
                { "mounted-this-boot", "UPDATE volume SET mounted_this_boot=2", A_VOLUME },
                { "owner", "UPDATE holder SET owner=4294967296", A_HOLDER },
                { "relabeled-here", "UPDATE holder SET relabeled_here=256", A_HOLDER },
                { "fs-group-alone", "UPDATE holder SET disk_gid=4294967295", A_HOLDER },
                { "disk-gid-alone", "UPDATE holder SET fs_group=4294967295", A_HOLDER },
                { "fs-group-wraps", "UPDATE holder SET fs_group=4294967296", A_HOLDER },
                { "disk-gid-negative", "UPDATE holder SET disk_gid=-1", A_HOLDER },
                { "holder-context", "UPDATE holder SET context='a:b:c:s0:c2,c1'", A_HOLDER },
                { "holder-context-injection", "UPDATE holder SET context='a:b:c:s0\",suid'", A_HOLDER },
                { "holder-device", "UPDATE holder SET device=CAST(x'e4' AS TEXT)", A_HOLDER },
                { "read-only", "UPDATE holder SET read_only=-1", A_HOLDER },
                { "context", "UPDATE volume SET context='a:b:c:s0:c2,c1'", A_VOLUME },
                { "context-injection", "UPDATE volume SET context='a:b:c:s0\",suid'", A_VOLUME },
                { "target", "UPDATE holder SET target='/var/lib/kubelet/../../etc'",
                  "a/b@/var/lib/kubelet/../../etc " },
                { "holder-state", "UPDATE holder SET state=''", A_HOLDER },
                { "holder-name", "UPDATE holder SET name=CAST(x'e4' AS TEXT)", A_HOLDER },
                { "orphan", "PRAGMA foreign_keys=OFF; UPDATE holder SET volume='nobody'",
                  "nobody@/var/lib/kubelet/a " },
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

#define ADD(name, data, function) g_test_add("/store/" name, Fixture, data, store_set_up, function, store_tear_down)
        ADD("round-trip", NULL, test_round_trip);
        ADD("replace", NULL, test_replace);
        ADD("leftovers", NULL, test_leftovers);
        ADD("uncommitted", NULL, test_uncommitted);
        ADD("delete", NULL, test_delete);
        ADD("boot-id", NULL, test_boot_id);
        ADD("newer", NULL, test_newer);
        ADD("second-process", NULL, test_second_process);
        for (int version = 1; version <= OLDER_VERSIONS; version++)
                for (size_t i = 0; i < G_N_ELEMENTS(migrations); i++) {
                        g_autofree char *path = g_strdup_printf("/store/version-%i/%s", version, migrations[i].name);

                        g_test_add(path, Fixture, GINT_TO_POINTER(version), store_set_up, migrations[i].function,
                                   store_tear_down);
                }
        add_fixture_rows("/store/hostile", Fixture, hostile, store_set_up, test_hostile, store_tear_down);
        add_fixture_rows("/store/damaged", Fixture, damages, store_set_up, test_damaged, store_tear_down);
        ADD("set-aside", NULL, test_set_aside);
        ADD("rewrite", NULL, test_rewrite);
        ADD("failed", NULL, test_failed);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>

#include <glib/gstdio.h>
#include <sqlite3.h>

#include <utlist.h>

#include "store-fixture.h"

bool private_mounts;

void store_set_up(Fixture *f, gconstpointer data) {
        f->directory = g_dir_make_tmp("selvol-store-XXXXXX", NULL);
        g_assert_nonnull(f->directory);
        f->path = g_build_filename(f->directory, "state.db", NULL);
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
}

void store_tear_down(Fixture *f, gconstpointer data) {
        g_autoptr(GDir) d = NULL;
        const char *name;

        f->store = store_close(f->store);
        if (private_mounts)
                (void) umount2(f->directory, MNT_DETACH);
        d = g_dir_open(f->directory, 0, NULL);
        while ((name = g_dir_read_name(d))) {
                g_autofree char *child = g_build_filename(f->directory, name, NULL);

                (void) g_remove(child);
        }
        (void) g_remove(f->directory);
        g_free(f->directory);
        g_free(f->path);
}

void reopen(Fixture *f) {
        f->store = store_close(f->store);
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
}

Volume *sample(const char *id, const char *target) {
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
                       .superblock = strdup("device:254:16"),
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
        g_assert_cmpint(volume_add_holder(v, h), ==, 0);
        return v;
}

void on_skipped(void *userdata, const char *volume, const char *target) {
        GString *text = userdata;

        g_string_append_printf(text, "%s@%s ", volume, target);
}

/* Everything must be readable. */
void load(Fixture *f, Volumes *all) {
        g_autoptr(GString) skipped = g_string_new(NULL);

        g_assert_cmpint(store_load(f->store, all, on_skipped, skipped), ==, 0);
        g_assert_cmpstr(skipped->str, ==, "");
}

static void on_history(void *userdata, int error, const History *h) {
        GString *text = userdata;

        g_assert_cmpint(error, ==, 0);
        for (size_t i = 0; i < h->n; i++)
                g_string_append_printf(text, "%s%s%s%s", i > 0 ? " " : "", h->of_all ? h->entries[i].volume : "",
                                       h->of_all ? ":" : "", h->entries[i].operation);
}

/* The operations of a volume's history; of all, with their volumes. */
char *read_history(Fixture *f, const char *id) {
        GString *text = g_string_new(NULL);

        g_assert_cmpint(store_get_history(f->store, id, on_history, text), ==, 0);
        store_wait(f->store);
        return g_string_free(text, FALSE);
}

void put(Fixture *f, const Volume *v) {
        const Holder *h;

        store_put_volume(f->store, v);
        LL_FOREACH (v->holders, h)
                store_put_holder(f->store, v, h);
}

void put_sample(Fixture *f) {
        _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");

        put(f, v);
        g_assert_true(store_is_dirty(f->store));
        g_assert_cmpint(store_commit(f->store), ==, 0);
}

void execute(Fixture *f, const char *sql) {
        sqlite3 *db;
        char *message = NULL;

        f->store = store_close(f->store);
        g_assert_cmpint(sqlite3_open(f->path, &db), ==, SQLITE_OK);
        g_assert_cmpint(sqlite3_exec(db, sql, NULL, NULL, &message), ==, SQLITE_OK);
        (void) sqlite3_close(db);
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

static const char version_5[] =
        "ALTER TABLE volume ADD COLUMN mounted_this_boot INTEGER NOT NULL DEFAULT 0;"
        "UPDATE volume SET mounted_this_boot=1 WHERE id IN (SELECT volume FROM holder WHERE adopted=0);"
        "PRAGMA user_version=5;";

static const char version_6[] = "ALTER TABLE volume ADD COLUMN fingerprint TEXT NOT NULL DEFAULT '';"
                                "PRAGMA user_version=6;";

/* A file as that version left it, and then more. */
void make_version(Fixture *f, int version, const char *more) {
        g_autofree char *sql = g_strconcat(version_1, version >= 2 ? version_2 : "", version >= 3 ? version_3 : "",
                                           version >= 4 ? version_4 : "", version >= 5 ? version_5 : "",
                                           version >= 6 ? version_6 : "", more, NULL),
                        *wal = g_strconcat(f->path, "-wal", NULL);

        f->store = store_close(f->store);
        g_assert_cmpint(g_unlink(f->path), ==, 0);
        (void) g_unlink(wal);
        execute(f, sql);
}

static void on_committed(void *userdata, int error) {
        *(int *) userdata = error;
}

int write_anew(Fixture *f, const Volumes *all) {
        int r = 0;

        store_hand_over_anew(f->store, all, "boot", on_committed, &r);
        store_wait(f->store);
        return r;
}

/* A small file system as the directory of the file. */
void mount_small(Fixture *f) {
        f->store = store_close(f->store);
        disk_mount(f->directory, 0);
        g_assert_cmpint(store_open(f->path, &f->store), ==, 0);
}

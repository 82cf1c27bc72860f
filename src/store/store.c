/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "store/store-statement.h"
#include "store/store.h"

enum { SCHEMA_VERSION = 3 };

static const char *const statement_sql[STATEMENTS] = {
        [BEGIN] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
        [PUT_VOLUME] =
                "INSERT INTO volume VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET source=?2,fs_type=?3,driver=?4,volume_type=?5,access_mode=?6,strategy=?7,context=?8,label_state=?9,tainted=?10,last_verified_usec=?11,inodes_used=?12,label_context=?13,generation=?14,ownership_state=?15,gid=?16,mount_options=?17,mounted_here=?18",
        [DELETE_VOLUME] = "DELETE FROM volume WHERE id=?",
        [PUT_HOLDER] = "INSERT INTO holder VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        [DELETE_HOLDERS] = "DELETE FROM holder WHERE volume=?",
        [ADD_HISTORY] = "INSERT INTO history VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)",
        [TRIM_HISTORY] =
                "DELETE FROM history WHERE volume=?1 AND seq NOT IN (SELECT seq FROM history WHERE volume=?1 ORDER BY seq DESC LIMIT ?2)",
        [GET_HISTORY] =
                "SELECT time_usec,operation,result,reason,target,holder,context,caller,text,duration_usec FROM history WHERE volume=? ORDER BY seq",
        [GET_META] = "SELECT value FROM meta WHERE key=?",
        [PUT_META] = "INSERT INTO meta VALUES (?1,?2) ON CONFLICT (key) DO UPDATE SET value=?2",
};

/* What version 2 added, in the words of both CREATE TABLE and ALTER TABLE, so that a file has the same columns in the
 * same order wherever it comes from. Version 1 knew nothing of labels but taints. */
#define COLUMN_LABEL_CONTEXT   "label_context TEXT NOT NULL DEFAULT ''"
#define COLUMN_GENERATION      "generation INTEGER NOT NULL DEFAULT 0"
#define COLUMN_OWNERSHIP_STATE "ownership_state TEXT NOT NULL DEFAULT 'unknown'"
#define COLUMN_GID             "gid INTEGER NOT NULL DEFAULT 0"
#define COLUMN_MOUNT_OPTIONS   "mount_options TEXT NOT NULL DEFAULT ''"
#define COLUMN_MOUNTED_HERE    "mounted_here INTEGER NOT NULL DEFAULT 0"
#define COLUMN_RELABELLED_HERE "relabelled_here INTEGER NOT NULL DEFAULT 0"

/* Version 3: no group, GID_NONE. */
#define COLUMN_FS_GROUP "fs_group INTEGER NOT NULL DEFAULT 4294967295"
#define COLUMN_DISK_GID "disk_gid INTEGER NOT NULL DEFAULT 4294967295"

static const char schema[] =
        "CREATE TABLE volume (id TEXT PRIMARY KEY, source TEXT NOT NULL, fs_type TEXT NOT NULL, driver TEXT, volume_type TEXT NOT NULL, access_mode TEXT NOT NULL, strategy TEXT NOT NULL, context TEXT NOT NULL, label_state TEXT NOT NULL, tainted INTEGER NOT NULL, last_verified_usec INTEGER NOT NULL, inodes_used INTEGER NOT NULL, " COLUMN_LABEL_CONTEXT
        ", " COLUMN_GENERATION ", " COLUMN_OWNERSHIP_STATE ", " COLUMN_GID ", " COLUMN_MOUNT_OPTIONS
        ", " COLUMN_MOUNTED_HERE
        ") STRICT;CREATE TABLE holder (volume TEXT NOT NULL REFERENCES volume (id) ON DELETE CASCADE, name TEXT NOT NULL, target TEXT PRIMARY KEY, state TEXT NOT NULL, strategy TEXT NOT NULL, reason TEXT NOT NULL, read_only INTEGER NOT NULL, adopted INTEGER NOT NULL, since_usec INTEGER NOT NULL, mount_id INTEGER NOT NULL, spec TEXT NOT NULL, " COLUMN_RELABELLED_HERE
        ", " COLUMN_FS_GROUP ", " COLUMN_DISK_GID
        ") STRICT;CREATE INDEX holder_volume ON holder (volume);CREATE TABLE history (seq INTEGER PRIMARY KEY, volume TEXT NOT NULL REFERENCES volume (id) ON DELETE CASCADE, time_usec INTEGER NOT NULL, operation TEXT NOT NULL, result TEXT NOT NULL, reason TEXT NOT NULL, target TEXT NOT NULL, holder TEXT NOT NULL, context TEXT NOT NULL, caller TEXT NOT NULL, text TEXT NOT NULL, duration_usec INTEGER NOT NULL) STRICT;CREATE INDEX history_volume ON history (volume, seq);CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;PRAGMA user_version=3;";

static const char from_version_1[] =
        "ALTER TABLE volume ADD COLUMN " COLUMN_LABEL_CONTEXT ";ALTER TABLE volume ADD COLUMN " COLUMN_GENERATION
        ";ALTER TABLE volume ADD COLUMN " COLUMN_OWNERSHIP_STATE ";ALTER TABLE volume ADD COLUMN " COLUMN_GID
        ";ALTER TABLE volume ADD COLUMN " COLUMN_MOUNT_OPTIONS ";ALTER TABLE volume ADD COLUMN " COLUMN_MOUNTED_HERE
        ";ALTER TABLE holder ADD COLUMN " COLUMN_RELABELLED_HERE ";PRAGMA user_version=2;";

static const char from_version_2[] = "ALTER TABLE holder ADD COLUMN " COLUMN_FS_GROUP
                                     ";ALTER TABLE holder ADD COLUMN " COLUMN_DISK_GID ";PRAGMA user_version=3;";

static int execute(sqlite3 *db, const char *sql) {
        return store_errno(sqlite3_exec(db, sql, NULL, NULL, NULL));
}

static int query_int(sqlite3 *db, const char *sql, int *ret) {
        sqlite3_stmt *st = NULL;
        int rc;

        rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
        if (rc == SQLITE_OK) {
                rc = sqlite3_step(st);
                if (rc == SQLITE_ROW)
                        *ret = sqlite3_column_int(st, 0);
        }
        sqlite3_finalize(st);
        return rc == SQLITE_DONE ? -EUCLEAN : store_errno(rc);
}

/* All of it or nothing: whoever closes the file without a COMMIT rolls back. */
static int execute_in_transaction(sqlite3 *db, const char *sql) {
        return execute(db, "BEGIN IMMEDIATE") ?: execute(db, sql) ?: execute(db, "COMMIT");
}

/* WAL with FULL: a commit is one append and one fsync. EXCLUSIVE: no second process, and no shared memory file. */
static int prepare_database(Store *s) {
        int version = 0, tables = 0, r;

        r = execute(
                s->db,
                "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;");
        if (r >= 0)
                r = execute(s->db, "BEGIN IMMEDIATE; COMMIT");
        if (r >= 0)
                r = query_int(s->db, "PRAGMA user_version", &version);
        if (r >= 0)
                r = query_int(s->db, "SELECT count(*) FROM sqlite_schema", &tables);
        if (r < 0)
                return r;

        if (version > SCHEMA_VERSION)
                return -EPROTONOSUPPORT;
        if (version == 0 && tables == 0) {
                r = execute_in_transaction(s->db, schema);
                version = SCHEMA_VERSION;
        } else if (version < 1)
                return -EUCLEAN;
        for (; r >= 0 && version < SCHEMA_VERSION; version++)
                r = execute_in_transaction(s->db, version == 1 ? from_version_1 : from_version_2);
        if (r < 0)
                return r;

        for (size_t i = 0; i < STATEMENTS; i++) {
                r = store_errno(sqlite3_prepare_v3(s->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
                                                   &s->statements[i], NULL));
                if (r < 0)
                        return r;
        }
        return 0;
}

static void close_database(Store *s) {
        for (size_t i = 0; i < STATEMENTS; i++) {
                sqlite3_finalize(s->statements[i]);
                s->statements[i] = NULL;
        }
        (void) sqlite3_close(s->db);
        s->db = NULL;
}

static int open_database(Store *s) {
        int r;

        r = store_errno(sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
        if (r >= 0)
                r = prepare_database(s);
        if (r < 0)
                close_database(s);
        return r;
}

int store_open(const char *path, Store **ret) {
        _cleanup_(store_closep) Store *s = calloc(1, sizeof(*s));
        int r;

        if (!s)
                return -ENOMEM;
        s->path = strdup(path);
        if (!s->path)
                return -ENOMEM;
        r = open_database(s);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(s);
        return 0;
}

Store *store_close(Store *s) {
        if (s) {
                close_database(s);
                free(s->path);
                free(s);
        }
        return NULL;
}

static int sync_directory_of(const char *path) {
        _cleanup_free_ char *directory = strndup(path, (size_t) (strrchr(path, '/') - path));
        _cleanup_close_ int fd = -EBADF;

        if (!directory)
                return -ENOMEM;
        fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int store_set_aside(const char *path, uint64_t now_usec, char **ret_name) {
        _cleanup_free_ char *name = strdup_printf("%s.damaged-%llu", path, (unsigned long long) now_usec);
        static const char *const suffixes[] = { "-wal", "-shm" };

        if (!name)
                return -ENOMEM;
        for (size_t i = 0; i < ELEMENTSOF(suffixes); i++) {
                _cleanup_free_ char *from = strdup_printf("%s%s", path, suffixes[i]),
                                    *to = strdup_printf("%s%s", name, suffixes[i]);

                if (!from || !to)
                        return -ENOMEM;
                if (rename(from, to) < 0 && errno != ENOENT)
                        return -errno;
        }
        if (rename(path, name) < 0)
                return -errno;

        *ret_name = TAKE_PTR(name);
        return sync_directory_of(path);
}

bool store_is_dirty(const Store *s) {
        return s->dirty;
}

bool store_is_failed(const Store *s) {
        return s->error < 0;
}

int store_commit(Store *s) {
        int r = s->error;

        if (r >= 0 && s->dirty)
                r = store_run(s, COMMIT, false);
        if (r < 0) {
                s->error = r;
                if (s->db && !sqlite3_get_autocommit(s->db))
                        (void) store_run(s, ROLLBACK, false);
        }
        s->dirty = false;
        return r;
}

static void copy_history(Store *from, Store *to, const char *id) {
        HistoryEntry *entries;
        size_t n;

        if (!from->db || store_get_history(from, id, &entries, &n) < 0)
                return;
        for (size_t i = 0; i < n; i++) {
                store_add_history(to, id, &entries[i]);
                history_entry_done(&entries[i]);
        }
        free(entries);
}

int store_rewrite(Store *s, const Volumes *all, const char *boot_id) {
        _cleanup_(store_closep) Store *fresh = NULL;
        _cleanup_free_ char *path = strdup_printf("%s.new", s->path), *wal = strdup_printf("%s-wal", s->path);
        Volume *v, *next;
        int r;

        if (!path || !wal)
                return -ENOMEM;
        (void) unlink(path);
        r = store_open(path, &fresh);
        if (r < 0)
                return r;

        s->error = 0;
        store_set_boot_id(fresh, boot_id);
        HASH_ITER (hh, all->table, v, next) {
                store_put_volume(fresh, v);
                copy_history(s, fresh, v->id);
        }
        r = store_commit(fresh);
        if (r >= 0)
                r = execute(fresh->db, "PRAGMA wal_checkpoint(TRUNCATE)");
        if (r < 0) {
                s->error = r;
                return r;
        }
        close_database(fresh);
        close_database(s);

        /* The old file goes before its log, and both before the new one comes: whatever is left after a crash is
         * either whole or absent, and absent means that everything is unknown, which is safe. */
        if ((unlink(s->path) < 0 && errno != ENOENT) || (unlink(wal) < 0 && errno != ENOENT) ||
            rename(path, s->path) < 0)
                r = -errno;
        else
                r = sync_directory_of(s->path);
        if (r >= 0)
                r = open_database(s);
        s->error = r < 0 ? r : 0;
        s->dirty = false;
        return r;
}

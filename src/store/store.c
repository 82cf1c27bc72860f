/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include <sqlite3.h>
#include <utlist.h>

#include "basic/path-util.h"
#include "core/context.h"
#include "store/store.h"

enum { SCHEMA_VERSION = 1 };

typedef enum Statement {
        BEGIN,
        COMMIT,
        ROLLBACK,
        PUT_VOLUME,
        DELETE_VOLUME,
        PUT_HOLDER,
        DELETE_HOLDERS,
        ADD_HISTORY,
        TRIM_HISTORY,
        GET_HISTORY,
        GET_META,
        PUT_META,
        STATEMENTS,
} Statement;

static const char *const statement_sql[STATEMENTS] = {
        [BEGIN] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
        [PUT_VOLUME] = "INSERT INTO volume VALUES (?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT (id) DO UPDATE SET source=?2,"
                       "fs_type=?3,driver=?4,volume_type=?5,access_mode=?6,strategy=?7,context=?8,label_state=?9,"
                       "tainted=?10,last_verified_usec=?11,inodes_used=?12",
        [DELETE_VOLUME] = "DELETE FROM volume WHERE id=?",
        [PUT_HOLDER] = "INSERT INTO holder VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        [DELETE_HOLDERS] = "DELETE FROM holder WHERE volume=?",
        [ADD_HISTORY] = "INSERT INTO history VALUES (NULL,?,?,?,?,?,?,?,?,?,?,?)",
        [TRIM_HISTORY] =
                "DELETE FROM history WHERE volume=?1 AND seq NOT IN (SELECT seq FROM history WHERE volume=?1 "
                "ORDER BY seq DESC LIMIT ?2)",
        [GET_HISTORY] =
                "SELECT time_usec,operation,result,reason,target,holder,context,caller,text,duration_usec FROM "
                "history WHERE volume=? ORDER BY seq",
        [GET_META] = "SELECT value FROM meta WHERE key=?",
        [PUT_META] = "INSERT INTO meta VALUES (?1,?2) ON CONFLICT (key) DO UPDATE SET value=?2",
};

static const char schema[] =
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
        "PRAGMA user_version=1;";

struct Store {
        char *path;
        sqlite3 *db;
        sqlite3_stmt *statements[STATEMENTS];
        bool dirty;
        int error; /* negative once failed */
};

void history_entry_done(HistoryEntry *e) {
        free(e->operation);
        free(e->result);
        free(e->reason);
        free(e->target);
        free(e->holder);
        free(e->context);
        free(e->caller);
        free(e->text);
        *e = (HistoryEntry){ 0 };
}

static int sqlite_to_errno(int rc) {
        switch (rc & 0xff) {
        case SQLITE_OK:
        case SQLITE_DONE:
        case SQLITE_ROW:
                return 0;
        case SQLITE_NOMEM:
                return -ENOMEM;
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
                return -EBUSY;
        case SQLITE_FULL:
                return -ENOSPC;
        case SQLITE_READONLY:
                return -EROFS;
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB:
        case SQLITE_FORMAT:
        case SQLITE_SCHEMA:
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
                return -EUCLEAN;
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
                return -EACCES;
        case SQLITE_ERROR:
                return -EUCLEAN;
        default:
                return -EIO;
        }
}

static int execute(sqlite3 *db, const char *sql) {
        return sqlite_to_errno(sqlite3_exec(db, sql, NULL, NULL, NULL));
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
        return rc == SQLITE_DONE ? -EUCLEAN : sqlite_to_errno(rc);
}

/* WAL with FULL: a commit is one append and one fsync. EXCLUSIVE: no second process, and no shared memory file. */
static int prepare_database(Store *s) {
        int version = 0, tables = 0, r;

        r = execute(s->db, "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                           "PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON;");
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
        if (version == 0 && tables == 0)
                r = execute(s->db, "BEGIN IMMEDIATE") ?: execute(s->db, schema) ?: execute(s->db, "COMMIT");
        else if (version != SCHEMA_VERSION)
                return -EUCLEAN;
        if (r < 0)
                return r;

        for (size_t i = 0; i < STATEMENTS; i++) {
                r = sqlite_to_errno(sqlite3_prepare_v3(s->db, statement_sql[i], -1, SQLITE_PREPARE_PERSISTENT,
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

        r = sqlite_to_errno(sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
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

/* Runs a statement whose parameters are bound; a row that it returns is left for the caller when wanted. */
static int run(Store *s, Statement id, bool keep_row) {
        sqlite3_stmt *st = s->statements[id];
        int rc = sqlite3_step(st);

        if (!keep_row || rc != SQLITE_ROW) {
                sqlite3_reset(st);
                sqlite3_clear_bindings(st);
        }
        return rc == SQLITE_ROW ? 1 : sqlite_to_errno(rc);
}

static void bind_text(sqlite3_stmt *st, int *n, const char *s) {
        (void) sqlite3_bind_text(st, ++*n, s, -1, SQLITE_STATIC);
}

static void bind_u64(sqlite3_stmt *st, int *n, uint64_t v) {
        (void) sqlite3_bind_int64(st, ++*n, (sqlite3_int64) v);
}

/* Opens the transaction with the first change of an iteration. False if the store takes no changes. */
static bool begin(Store *s) {
        int r;

        if (s->error < 0)
                return false;
        if (!s->dirty) {
                r = run(s, BEGIN, false);
                if (r < 0) {
                        s->error = r;
                        return false;
                }
                s->dirty = true;
        }
        return true;
}

static void change(Store *s, Statement id) {
        int r = run(s, id, false);

        if (r < 0)
                s->error = r;
}

static void put_holder(Store *s, const Volume *v, const Holder *h) {
        sqlite3_stmt *st = s->statements[PUT_HOLDER];
        int n = 0;

        bind_text(st, &n, v->id);
        bind_text(st, &n, h->name);
        bind_text(st, &n, h->target);
        bind_text(st, &n, holder_state_to_string(h->state));
        bind_text(st, &n, strategy_to_string(h->strategy));
        bind_text(st, &n, reason_to_string(h->reason));
        bind_u64(st, &n, h->read_only);
        bind_u64(st, &n, h->adopted);
        bind_u64(st, &n, h->since_usec);
        bind_u64(st, &n, h->mount_id);
        bind_text(st, &n, h->spec);
        change(s, PUT_HOLDER);
}

static void bind_id(Store *s, Statement id, const char *volume) {
        int n = 0;

        bind_text(s->statements[id], &n, volume);
}

void store_put_volume(Store *s, const Volume *v) {
        sqlite3_stmt *st = s->statements[PUT_VOLUME];
        const Holder *h;
        int n = 0;

        if (!begin(s))
                return;

        bind_text(st, &n, v->id);
        bind_text(st, &n, v->source);
        bind_text(st, &n, v->fs_type);
        bind_text(st, &n, v->driver);
        bind_text(st, &n, v->volume_type);
        bind_text(st, &n, access_mode_to_string(v->access_mode));
        bind_text(st, &n, strategy_to_string(v->strategy));
        bind_text(st, &n, v->context);
        bind_text(st, &n, label_state_to_string(v->label_state));
        bind_u64(st, &n, v->tainted);
        bind_u64(st, &n, v->last_verified_usec);
        bind_u64(st, &n, v->inodes_used);
        change(s, PUT_VOLUME);

        bind_id(s, DELETE_HOLDERS, v->id);
        change(s, DELETE_HOLDERS);
        LL_FOREACH (v->holders, h)
                put_holder(s, v, h);
}

void store_delete_volume(Store *s, const char *id) {
        if (!begin(s))
                return;
        bind_id(s, DELETE_VOLUME, id);
        change(s, DELETE_VOLUME);
}

void store_add_history(Store *s, const char *id, const HistoryEntry *e) {
        sqlite3_stmt *st = s->statements[ADD_HISTORY];
        int n = 0;

        if (!begin(s))
                return;

        bind_text(st, &n, id);
        bind_u64(st, &n, e->time_usec);
        bind_text(st, &n, strempty(e->operation));
        bind_text(st, &n, strempty(e->result));
        bind_text(st, &n, strempty(e->reason));
        bind_text(st, &n, strempty(e->target));
        bind_text(st, &n, strempty(e->holder));
        bind_text(st, &n, strempty(e->context));
        bind_text(st, &n, strempty(e->caller));
        bind_text(st, &n, strempty(e->text));
        bind_u64(st, &n, e->duration_usec);
        change(s, ADD_HISTORY);

        n = 0;
        bind_text(s->statements[TRIM_HISTORY], &n, id);
        bind_u64(s->statements[TRIM_HISTORY], &n, HISTORY_MAX);
        change(s, TRIM_HISTORY);
}

void store_set_boot_id(Store *s, const char *boot_id) {
        int n = 0;

        if (!begin(s))
                return;
        bind_text(s->statements[PUT_META], &n, "boot_id");
        bind_text(s->statements[PUT_META], &n, boot_id);
        change(s, PUT_META);
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
                r = run(s, COMMIT, false);
        if (r < 0) {
                s->error = r;
                if (s->db && !sqlite3_get_autocommit(s->db))
                        (void) run(s, ROLLBACK, false);
        }
        s->dirty = false;
        return r;
}

static int dup_column(sqlite3_stmt *st, int column, char **ret) {
        const char *text = (const char *) sqlite3_column_text(st, column);

        return free_and_strdup(ret, strempty(text));
}

int store_get_history(Store *s, const char *id, HistoryEntry **ret, size_t *ret_n) {
        sqlite3_stmt *st = s->statements[GET_HISTORY];
        HistoryEntry *entries = NULL;
        size_t n = 0;
        int r;

        if (s->error < 0)
                return s->error;

        bind_id(s, GET_HISTORY, id);
        while ((r = run(s, GET_HISTORY, true)) > 0) {
                HistoryEntry e = { .time_usec = (uint64_t) sqlite3_column_int64(st, 0),
                                   .duration_usec = (uint64_t) sqlite3_column_int64(st, 9) };
                char **fields[] = { &e.operation, &e.result,  &e.reason, &e.target,
                                    &e.holder,    &e.context, &e.caller, &e.text };
                HistoryEntry *grown = reallocarray(entries, n + 1, sizeof(*entries));

                r = grown ? 0 : -ENOMEM;
                entries = grown ? grown : entries;
                for (size_t i = 0; i < ELEMENTSOF(fields) && r >= 0; i++)
                        r = dup_column(st, (int) i + 1, fields[i]);
                if (r < 0) {
                        history_entry_done(&e);
                        sqlite3_reset(st);
                        break;
                }
                entries[n++] = e;
        }
        if (r < 0) {
                while (n > 0)
                        history_entry_done(&entries[--n]);
                free(entries);
                return r;
        }

        *ret = entries;
        *ret_n = n;
        return 0;
}

int store_get_boot_id(Store *s, char **ret) {
        sqlite3_stmt *st = s->statements[GET_META];
        char *id = NULL;
        int r;

        bind_id(s, GET_META, "boot_id");
        r = run(s, GET_META, true);
        if (r < 0)
                return r;
        if (r > 0) {
                r = dup_column(st, 0, &id);
                sqlite3_reset(st);
        } else
                r = free_and_strdup(&id, "");
        if (r < 0)
                return r;
        *ret = id;
        return 0;
}

static int enum_column(sqlite3_stmt *st, int column, int (*from_string)(const char *)) {
        return from_string(strempty((const char *) sqlite3_column_text(st, column)));
}

static int check_volume(const Volume *v) {
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *canonical = NULL;
        int r;

        r = volume_id_validate(v->id, &f);
        if (r == 0 && !isempty(v->context)) {
                r = context_canonicalize(v->context, &canonical, &f);
                if (r == 0 && !streq(canonical, v->context))
                        r = -EUCLEAN;
        }
        return r > 0 ? -EUCLEAN : r;
}

static int read_volume(sqlite3_stmt *st, Volume **ret) {
        _cleanup_(volume_freep) Volume *v = volume_new(strempty((const char *) sqlite3_column_text(st, 0)));
        int access_mode = enum_column(st, 5, access_mode_from_string),
            strategy = enum_column(st, 6, strategy_from_string),
            label_state = enum_column(st, 8, label_state_from_string);
        int r;

        if (!v)
                return -ENOMEM;
        if (access_mode < 0 || strategy < 0 || label_state < 0)
                return -EUCLEAN;
        r = dup_column(st, 1, &v->source);
        if (r >= 0)
                r = dup_column(st, 2, &v->fs_type);
        if (r >= 0 && sqlite3_column_type(st, 3) != SQLITE_NULL)
                r = dup_column(st, 3, &v->driver);
        if (r >= 0)
                r = dup_column(st, 4, &v->volume_type);
        if (r >= 0)
                r = dup_column(st, 7, &v->context);
        if (r >= 0)
                r = check_volume(v);
        if (r < 0)
                return r;

        v->access_mode = (AccessMode) access_mode;
        v->strategy = (Strategy) strategy;
        v->label_state = (LabelState) label_state;
        v->tainted = sqlite3_column_int(st, 9) != 0;
        v->last_verified_usec = (uint64_t) sqlite3_column_int64(st, 10);
        v->inodes_used = (uint64_t) sqlite3_column_int64(st, 11);
        *ret = TAKE_PTR(v);
        return 0;
}

static int read_holder(sqlite3_stmt *st, const Volumes *all) {
        _cleanup_(holder_freep) Holder *h = calloc(1, sizeof(*h));
        Volume *v = volumes_find(all, strempty((const char *) sqlite3_column_text(st, 0)));
        int state = enum_column(st, 3, holder_state_from_string), strategy = enum_column(st, 4, strategy_from_string),
            reason = enum_column(st, 5, reason_from_string), r;

        if (!h)
                return -ENOMEM;
        if (!v || state < 0 || strategy < 0 || reason < 0)
                return -EUCLEAN;
        r = dup_column(st, 1, &h->name);
        if (r >= 0)
                r = dup_column(st, 2, &h->target);
        if (r >= 0)
                r = dup_column(st, 10, &h->spec);
        if (r < 0)
                return r;
        if (!path_is_normalized(h->target))
                return -EUCLEAN;

        h->state = (HolderState) state;
        h->strategy = (Strategy) strategy;
        h->reason = (Reason) reason;
        h->read_only = sqlite3_column_int(st, 6) != 0;
        h->adopted = sqlite3_column_int(st, 7) != 0;
        h->since_usec = (uint64_t) sqlite3_column_int64(st, 8);
        h->mount_id = (uint64_t) sqlite3_column_int64(st, 9);
        volume_add_holder(v, TAKE_PTR(h));
        return 0;
}

static int load_volumes(Store *s, Volumes *all) {
        sqlite3_stmt *st = NULL;
        int r, rc;

        r = sqlite_to_errno(sqlite3_prepare_v2(s->db, "SELECT * FROM volume", -1, &st, NULL));
        if (r < 0)
                return r;
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
                Volume *v;

                r = read_volume(st, &v);
                if (r < 0)
                        break;
                volumes_add(all, v);
        }
        sqlite3_finalize(st);
        return r < 0 ? r : sqlite_to_errno(rc);
}

static int load_holders(Store *s, const Volumes *all) {
        sqlite3_stmt *st = NULL;
        int r, rc;

        r = sqlite_to_errno(sqlite3_prepare_v2(s->db, "SELECT * FROM holder ORDER BY rowid", -1, &st, NULL));
        if (r < 0)
                return r;
        while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
                r = read_holder(st, all);
                if (r < 0)
                        break;
        }
        sqlite3_finalize(st);
        return r < 0 ? r : sqlite_to_errno(rc);
}

int store_load(Store *s, Volumes *ret) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        int r;

        r = load_volumes(s, &all);
        if (r >= 0)
                r = load_holders(s, &all);
        if (r < 0)
                return r;

        *ret = all;
        all = (Volumes){ 0 };
        return 0;
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

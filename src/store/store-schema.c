/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/store-schema.h"

#define SCHEMA_VERSION 7

#define COLUMN_NAME(position, name, type)       "," name
#define COLUMN_PARAMETER(position, name, type)  ",?"
#define COLUMN_UPDATE(position, name, type)     "," name "=excluded." name
#define COLUMN_DEFINITION(position, name, type) "," name " " type
#define COLUMN_ADD_VOLUME(position, name, type) "ALTER TABLE volume ADD COLUMN " name " " type ";"
#define COLUMN_ADD_HOLDER(position, name, type) "ALTER TABLE holder ADD COLUMN " name " " type ";"

#define STRINGIFY_(x)       #x
#define STRINGIFY(x)        STRINGIFY_(x)
#define SET_VERSION(number) "PRAGMA user_version=" STRINGIFY(number) ";"

/* Of all columns but a table's first. */
#define VOLUME_NAMES        VOLUME_COLUMNS(COLUMN_NAME)
#define VOLUME_PARAMETERS   VOLUME_COLUMNS(COLUMN_PARAMETER)
#define VOLUME_UPDATES      VOLUME_COLUMNS(COLUMN_UPDATE)
#define VOLUME_DEFINITIONS  VOLUME_COLUMNS(COLUMN_DEFINITION)
#define HOLDER_NAMES        HOLDER_COLUMNS(COLUMN_NAME)
#define HOLDER_PARAMETERS   HOLDER_COLUMNS(COLUMN_PARAMETER)
#define HOLDER_UPDATES      HOLDER_COLUMNS(COLUMN_UPDATE)
#define HOLDER_DEFINITIONS  HOLDER_COLUMNS(COLUMN_DEFINITION)
#define HISTORY_NAMES       HISTORY_COLUMNS(COLUMN_NAME)
#define HISTORY_PARAMETERS  HISTORY_COLUMNS(COLUMN_PARAMETER)
#define HISTORY_DEFINITIONS HISTORY_COLUMNS(COLUMN_DEFINITION)

#define VOLUME_REFERENCE "volume TEXT NOT NULL REFERENCES volume (id) ON DELETE CASCADE"

static const char *const statement_sql[STATEMENTS] = {
        [BEGIN] = "BEGIN IMMEDIATE",
        [COMMIT] = "COMMIT",
        [ROLLBACK] = "ROLLBACK",
        [GET_VOLUMES] = "SELECT id" VOLUME_NAMES " FROM volume",
        [PUT_VOLUME] = "INSERT INTO volume (id" VOLUME_NAMES ") VALUES (?" VOLUME_PARAMETERS
                       ") ON CONFLICT (id) DO UPDATE SET id=excluded.id" VOLUME_UPDATES,
        [DELETE_VOLUME] = "DELETE FROM volume WHERE id=?",
        [GET_HOLDERS] = "SELECT volume" HOLDER_NAMES " FROM holder ORDER BY rowid",
        [PUT_HOLDER] = "INSERT INTO holder (volume" HOLDER_NAMES ") VALUES (?" HOLDER_PARAMETERS
                       ") ON CONFLICT (target) DO UPDATE SET volume=excluded.volume" HOLDER_UPDATES,
        [DELETE_HOLDER] = "DELETE FROM holder WHERE target=?",
        [GET_HISTORY] = "SELECT volume" HISTORY_NAMES " FROM history WHERE volume=? ORDER BY seq",
        [TRIM_HISTORY] =
                "DELETE FROM history WHERE volume=?1 AND seq NOT IN (SELECT seq FROM history WHERE volume=?1 ORDER BY seq DESC LIMIT ?2)",
        [GET_ALL_HISTORY] = "SELECT volume" HISTORY_NAMES " FROM history ORDER BY seq",
        [GET_LATE_HISTORY] =
                "SELECT volume" HISTORY_NAMES " FROM (SELECT * FROM history ORDER BY seq DESC LIMIT ?) ORDER BY seq",
        [ADD_HISTORY] = "INSERT INTO history (volume" HISTORY_NAMES ") SELECT ?1" HISTORY_PARAMETERS
                        " WHERE EXISTS (SELECT 1 FROM volume WHERE id=?1)",
        [GET_META] = "SELECT key,value FROM meta WHERE key=?",
        [PUT_META] = "INSERT INTO meta (key,value) VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value=excluded.value",
};

#define SET_SCHEMA_VERSION SET_VERSION(SCHEMA_VERSION)

static const char schema[] =
        "CREATE TABLE volume (id TEXT PRIMARY KEY" VOLUME_DEFINITIONS ") STRICT;"
        "CREATE TABLE holder (" VOLUME_REFERENCE HOLDER_DEFINITIONS ") STRICT;"
        "CREATE INDEX holder_volume ON holder (volume);"
        "CREATE TABLE history (seq INTEGER PRIMARY KEY," VOLUME_REFERENCE HISTORY_DEFINITIONS ") STRICT;"
        "CREATE INDEX history_volume ON history (volume,seq);"
        "CREATE TABLE meta (key TEXT PRIMARY KEY,value TEXT NOT NULL) STRICT;" SET_SCHEMA_VERSION;

/* Version 4 dropped a column of version 2, and renamed another one. */
#define ADD_GENERATION        "ALTER TABLE volume ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;"
#define DROP_GENERATION       "ALTER TABLE volume DROP COLUMN generation;"
#define ADD_RELABELED_HERE    "ALTER TABLE holder ADD COLUMN relabelled_here INTEGER NOT NULL DEFAULT 0;"
#define RENAME_RELABELED_HERE "ALTER TABLE holder RENAME COLUMN relabelled_here TO relabeled_here;"
#define SET_CONTEXTS                                                                    \
        "UPDATE holder SET context=(SELECT context FROM volume WHERE id=holder.volume)" \
        " WHERE strategy<>'none';"

#define SET_MOUNTED_THIS_BOOT \
        "UPDATE volume SET mounted_this_boot=1 WHERE id IN (SELECT volume FROM holder WHERE adopted=0);"

/* From the version that is the index to the next one. */
static const char *const migrations[SCHEMA_VERSION] = {
        [1] = VOLUME_COLUMNS_2(COLUMN_ADD_VOLUME) ADD_GENERATION ADD_RELABELED_HERE SET_VERSION(2),
        [2] = HOLDER_COLUMNS_3(COLUMN_ADD_HOLDER) SET_VERSION(3),
        [3] = HOLDER_COLUMNS_4(COLUMN_ADD_HOLDER) SET_CONTEXTS DROP_GENERATION RENAME_RELABELED_HERE SET_VERSION(4),
        [4] = VOLUME_COLUMNS_5(COLUMN_ADD_VOLUME) SET_MOUNTED_THIS_BOOT SET_VERSION(5),
        [5] = VOLUME_COLUMNS_6(COLUMN_ADD_VOLUME) SET_VERSION(6),
        [6] = HOLDER_COLUMNS_7(COLUMN_ADD_HOLDER) SET_VERSION(7),
};

static int errno_of(sqlite3 *db, int missing) {
        int e = sqlite3_system_errno(db);

        return e > 0 ? -e : missing;
}

int schema_errno(sqlite3 *db, int rc) {
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
        case SQLITE_ERROR:
                return -EUCLEAN;
        case SQLITE_CANTOPEN:
        case SQLITE_PERM:
                return errno_of(db, -EACCES);
        default:
                return errno_of(db, -EIO);
        }
}

int schema_execute(sqlite3 *db, const char *sql) {
        assert(db && sql);

        return schema_errno(db, sqlite3_exec(db, sql, NULL, NULL, NULL));
}

int statement_step(sqlite3_stmt *st) {
        int rc = sqlite3_step(st);

        return rc == SQLITE_ROW ? 1 : schema_errno(sqlite3_db_handle(st), rc);
}

int statement_execute(sqlite3_stmt *st) {
        int r = statement_step(st);

        return r < 0 ? r : 0;
}

static int query_int(sqlite3 *db, const char *sql, int *ret) {
        sqlite3_stmt *st = NULL;
        int rc;

        rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
        if (rc != SQLITE_OK)
                return schema_errno(db, rc);
        rc = sqlite3_step(st);
        if (rc == SQLITE_ROW)
                *ret = sqlite3_column_int(st, 0);
        rc = rc == SQLITE_DONE ? -EUCLEAN : schema_errno(db, rc);
        sqlite3_finalize(st);
        return rc;
}

/* Closing the file without COMMIT rolls back. */
static int execute_in_transaction(sqlite3 *db, const char *sql) {
        int r;

        r = schema_execute(db, "BEGIN IMMEDIATE");
        if (r < 0)
                return r;
        r = schema_execute(db, sql);
        if (r < 0)
                return r;
        return schema_execute(db, "COMMIT");
}

int schema_get_version(sqlite3 *db, int *ret) {
        int version = 0, tables = 0, r;

        assert(db && ret);

        r = query_int(db, "PRAGMA user_version", &version);
        if (r < 0)
                return r;
        r = query_int(db, "SELECT count(*) FROM sqlite_schema", &tables);
        if (r < 0)
                return r;
        if (version > SCHEMA_VERSION)
                return -EPROTONOSUPPORT;
        if (version < 0 || (version == 0) != (tables == 0))
                return -EUCLEAN;
        *ret = version;
        return 0;
}

bool schema_is_older(int version) {
        return version > 0 && version < SCHEMA_VERSION;
}

int schema_update(sqlite3 *db, int version) {
        int r;

        assert(db && version >= 0);

        if (version == 0)
                return execute_in_transaction(db, schema);
        for (; version < SCHEMA_VERSION; version++) {
                r = execute_in_transaction(db, migrations[version]);
                if (r < 0)
                        return r;
        }
        return 0;
}

int schema_prepare_statement(sqlite3 *db, Statement id, sqlite3_stmt **ret) {
        assert(db);
        assert(id < STATEMENTS);
        assert(ret);

        return schema_errno(db, sqlite3_prepare_v3(db, statement_sql[id], -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
}

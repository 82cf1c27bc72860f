/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "store/store-schema.h"

/* "selv" in ASCII, so that a dump of the header shows the owner; file(1) knows no format with this number. A
 * file with another id is no store, whatever tables it has. */
enum { APPLICATION_ID = 0x73656c76 };

#define COLUMN_NAME(position, name, type)       "," name
#define COLUMN_PARAMETER(position, name, type)  ",?"
#define COLUMN_UPDATE(position, name, type)     "," name "=excluded." name
#define COLUMN_DEFINITION(position, name, type) "," name " " type

/* All columns but the first of a table. */
#define VOLUME_NAMES       VOLUME_COLUMNS(COLUMN_NAME)
#define VOLUME_PARAMETERS  VOLUME_COLUMNS(COLUMN_PARAMETER)
#define VOLUME_UPDATES     VOLUME_COLUMNS(COLUMN_UPDATE)
#define VOLUME_DEFINITIONS VOLUME_COLUMNS(COLUMN_DEFINITION)
#define HOLDER_NAMES       HOLDER_COLUMNS(COLUMN_NAME)
#define HOLDER_PARAMETERS  HOLDER_COLUMNS(COLUMN_PARAMETER)
#define HOLDER_UPDATES     HOLDER_COLUMNS(COLUMN_UPDATE)
#define HOLDER_DEFINITIONS HOLDER_COLUMNS(COLUMN_DEFINITION)

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
        [GET_META] = "SELECT key,value FROM meta WHERE key=?",
        [PUT_META] = "INSERT INTO meta (key,value) VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value=excluded.value",
};

static const char tables[] =
        "CREATE TABLE volume (id TEXT PRIMARY KEY" VOLUME_DEFINITIONS ") STRICT;"
        "CREATE TABLE holder (volume TEXT NOT NULL REFERENCES volume (id) ON DELETE CASCADE" HOLDER_DEFINITIONS
        ") STRICT;"
        "CREATE INDEX holder_volume ON holder (volume);"
        "CREATE TABLE meta (key TEXT PRIMARY KEY,value TEXT NOT NULL) STRICT;";

/* The first step leads from version 1 to version 2. */
static const char *const steps[] = {};

const Schema store_schema = { .tables = tables, .steps = steps, .n_steps = ELEMENTSOF(steps) };

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

void statement_resetp(sqlite3_stmt **st) {
        if (!*st)
                return;
        (void) sqlite3_reset(*st);
        (void) sqlite3_clear_bindings(*st);
}

int statement_execute(sqlite3_stmt *statement) {
        _cleanup_statement_ sqlite3_stmt *st = statement;
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

static int schema_version(const Schema *s) {
        return (int) s->n_steps + 1;
}

int schema_get_version(const Schema *s, sqlite3 *db, int *ret) {
        int application = 0, version = 0, n_tables = 0, r;

        assert(s && db && ret);

        r = query_int(db, "PRAGMA application_id", &application);
        if (r < 0)
                return r;
        r = query_int(db, "PRAGMA user_version", &version);
        if (r < 0)
                return r;
        r = query_int(db, "SELECT count(*) FROM sqlite_schema", &n_tables);
        if (r < 0)
                return r;
        if (application == 0 && version == 0 && n_tables == 0) {
                *ret = 0;
                return 0;
        }
        if (application != APPLICATION_ID || version <= 0)
                return -EUCLEAN;
        if (version > schema_version(s))
                return -EPROTONOSUPPORT;
        if (n_tables == 0)
                return -EUCLEAN;
        *ret = version;
        return 0;
}

bool schema_is_newer(const Schema *s, int version) {
        return version > 0 && version < schema_version(s);
}

static int take_steps(const Schema *s, sqlite3 *db, int version) {
        int r;

        if (version == 0)
                return schema_execute(db, s->tables);
        for (size_t i = (size_t) version - 1; i < s->n_steps; i++) {
                r = schema_execute(db, s->steps[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* If the file is closed without COMMIT, SQLite rolls back. */
int schema_update(const Schema *s, sqlite3 *db, int version) {
        _cleanup_free_ char *end = NULL;
        int r;

        assert(s && db && version >= 0);

        end = strdup_printf("PRAGMA application_id=%i; PRAGMA user_version=%i; COMMIT", APPLICATION_ID,
                            schema_version(s));
        if (!end)
                return -ENOMEM;
        r = schema_execute(db, "BEGIN IMMEDIATE");
        if (r < 0)
                return r;
        r = take_steps(s, db, version);
        if (r < 0)
                return r;
        return schema_execute(db, end);
}

int schema_prepare_statement(sqlite3 *db, Statement id, sqlite3_stmt **ret) {
        assert(db);
        assert(id < STATEMENTS);
        assert(ret);

        return schema_errno(db, sqlite3_prepare_v3(db, statement_sql[id], -1, SQLITE_PREPARE_PERSISTENT, ret, NULL));
}

/* --- changes --- */

typedef enum ValueType { VALUE_NULL, VALUE_NUMBER, VALUE_TEXT } ValueType;

typedef struct Value {
        ValueType type;
        uint64_t number;
        char *text;
} Value;

struct Change {
        Change *next;
        Statement statement;
        bool incomplete;
        Value values[COLUMNS_MAX];
};

Change *changes_append(Changes *all, Statement statement, const char *key) {
        Change *c = calloc(1, sizeof(*c));

        assert(all);

        if (!c) {
                all->incomplete = true;
                return NULL;
        }
        c->statement = statement;
        if (all->last)
                all->last->next = c;
        else
                all->first = c;
        all->last = c;
        change_set_text(c, 0, key);
        return c;
}

void changes_done(Changes *all) {
        while (all->first) {
                Change *c = all->first;

                all->first = c->next;
                for (size_t i = 0; i < COLUMNS_MAX; i++)
                        free(c->values[i].text);
                free(c);
        }
        *all = (Changes){ 0 };
}

void change_set_text(Change *c, int column, const char *text) {
        assert(c && column >= 0 && column < COLUMNS_MAX);

        if (!text)
                return;
        c->values[column] = (Value){ .type = VALUE_TEXT, .text = strdup(text) };
        c->incomplete = c->incomplete || !c->values[column].text;
}

void change_set_number(Change *c, int column, uint64_t number) {
        assert(c && column >= 0 && column < COLUMNS_MAX);

        c->values[column] = (Value){ .type = VALUE_NUMBER, .number = number };
}

int changes_execute(const Changes *all, sqlite3_stmt *const statements[STATEMENTS]) {
        assert(all);

        if (all->incomplete)
                return -ENOMEM;
        for (const Change *c = all->first; c; c = c->next) {
                _cleanup_statement_ sqlite3_stmt *st = statements[c->statement];
                int r;

                if (c->incomplete)
                        return -ENOMEM;
                /* SQLite counts parameters from 1. If binding fails for lack of memory, executing the
                 * statement fails. */
                for (int i = 0; i < sqlite3_bind_parameter_count(st); i++) {
                        const Value *v = &c->values[i];

                        if (v->type == VALUE_TEXT)
                                (void) sqlite3_bind_text(st, i + 1, v->text, -1, SQLITE_STATIC);
                        else if (v->type == VALUE_NUMBER)
                                (void) sqlite3_bind_int64(st, i + 1, (sqlite3_int64) v->number);
                }
                r = statement_execute(st);
                if (r < 0)
                        return r;
        }
        return 0;
}

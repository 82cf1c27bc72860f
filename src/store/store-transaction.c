/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/store-internal.h"
#include "store/store-transaction.h"

/* WAL with FULL: a commit is one append and one fsync. EXCLUSIVE: no second process, and no shared memory file. */
static const char settings[] = "PRAGMA locking_mode=EXCLUSIVE;"
                               "PRAGMA journal_mode=WAL;"
                               "PRAGMA synchronous=FULL;"
                               "PRAGMA foreign_keys=ON;"
                               "PRAGMA trusted_schema=OFF;"
                               "PRAGMA cell_size_check=ON;"
                               "BEGIN IMMEDIATE;" /* takes the lock */
                               "COMMIT;";

static int prepare(Store *s) {
        int r;

        r = schema_execute(s->db, settings);
        if (r < 0)
                return r;
        r = schema_prepare(s->db);
        if (r < 0)
                return r;
        for (Statement i = 0; i < STATEMENTS; i++) {
                r = schema_prepare_statement(s->db, i, &s->statements[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

void store_close_database(Store *s) {
        for (size_t i = 0; i < STATEMENTS; i++) {
                (void) sqlite3_finalize(s->statements[i]);
                s->statements[i] = NULL;
        }
        (void) sqlite3_close(s->db);
        s->db = NULL;
}

static int open_and_prepare(Store *s) {
        int r;

        r = schema_errno(sqlite3_open_v2(s->path, &s->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL));
        if (r < 0)
                return r;
        return prepare(s);
}

int store_open_database(Store *s) {
        int r;

        assert(s && s->path && !s->db);

        r = open_and_prepare(s);
        if (r < 0)
                store_close_database(s);
        return r;
}

int store_step(sqlite3_stmt *st) {
        int rc = sqlite3_step(st);

        return rc == SQLITE_ROW ? 1 : schema_errno(rc);
}

/* Runs a statement to its end; a row is of no interest. */
static int execute(Store *s, Statement id) {
        _cleanup_statement_ sqlite3_stmt *st = s->statements[id];
        int r;

        r = store_step(st);
        return r < 0 ? r : 0;
}

bool store_begin(Store *s) {
        int r;

        assert(s);

        if (s->error < 0)
                return false;
        if (s->dirty)
                return true;
        r = execute(s, BEGIN);
        if (r < 0) {
                s->error = r;
                return false;
        }
        s->dirty = true;
        return true;
}

void store_change(Store *s, Statement id) {
        int r;

        r = execute(s, id);
        if (r < 0)
                s->error = r;
}

bool store_is_dirty(const Store *s) {
        return s->dirty;
}

bool store_is_failed(const Store *s) {
        return s->error < 0;
}

static int commit(Store *s) {
        if (s->error < 0)
                return s->error;
        if (!s->dirty)
                return 0;
        return execute(s, COMMIT);
}

int store_commit(Store *s) {
        int r;

        assert(s);

        r = commit(s);
        s->dirty = false;
        if (r >= 0)
                return 0;

        s->error = r;
        if (s->db && !sqlite3_get_autocommit(s->db))
                (void) execute(s, ROLLBACK);
        return r;
}

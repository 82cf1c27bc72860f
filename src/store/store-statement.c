/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "store/store-statement.h"

int store_errno(int rc) {
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

int store_run(Store *s, Statement id, bool keep_row) {
        sqlite3_stmt *st = s->statements[id];
        int rc = sqlite3_step(st);

        if (!keep_row || rc != SQLITE_ROW) {
                sqlite3_reset(st);
                sqlite3_clear_bindings(st);
        }
        return rc == SQLITE_ROW ? 1 : store_errno(rc);
}

bool store_begin(Store *s) {
        int r;

        if (s->error < 0)
                return false;
        if (!s->dirty) {
                r = store_run(s, BEGIN, false);
                if (r < 0) {
                        s->error = r;
                        return false;
                }
                s->dirty = true;
        }
        return true;
}

void store_change(Store *s, Statement id) {
        int r = store_run(s, id, false);

        if (r < 0)
                s->error = r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sqlite3.h>

#include "records.h"

void records_execute(const char *database, const char *sql) {
        char *message = NULL;
        sqlite3 *db;

        g_assert_cmpint(sqlite3_open(database, &db), ==, SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
                g_error("%s: %s", sql, message);
        (void) sqlite3_close(db);
}

void records_fill(const char *database, guint n, const char *sql) {
        g_autofree char *text = g_strdup_printf(
                "CREATE TEMP TABLE one AS SELECT * FROM volume LIMIT 1;"
                "UPDATE one SET last_used_usec=0, introducer=1000, mounted_elsewhere=0;"
                "CREATE TEMP TABLE many AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%u)"
                " SELECT n.i AS number, one.* FROM n, one;"
                "UPDATE many SET id='" RECORDS_PREFIX "'||number, last_used_usec=number;"
                "ALTER TABLE many DROP COLUMN number;"
                "INSERT OR REPLACE INTO volume SELECT * FROM many;"
                "%s",
                n, sql);

        records_execute(database, text);
}

void records_fill_held(const char *database, guint n, guint held, const char *sql) {
        g_autofree char *text = g_strdup_printf(
                "DELETE FROM volume WHERE id NOT LIKE '" RECORDS_PREFIX "%%';"
                "CREATE TEMP TABLE h AS SELECT * FROM holder; DELETE FROM holder; UPDATE h SET owner=1000;"
                "CREATE TEMP TABLE held AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%u)"
                " SELECT n.i AS number, h.* FROM n, h;"
                "UPDATE held SET volume='" RECORDS_PREFIX "'||number, target='" RECORDS_TARGET "/'||number,"
                " mount_id=number+1000;"
                "ALTER TABLE held DROP COLUMN number;"
                "INSERT INTO holder SELECT * FROM held WHERE %u > 0;"
                "%s",
                held, held, sql);

        records_fill(database, n, text);
}

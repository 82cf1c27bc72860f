/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "basic/cleanup.h"
#include "store/store-types.h"

/* The tables of the file, all SQL, and the changes that one thread records and another one writes.
 *
 * No release has written a file yet: until 0.1.0 is tagged the tables change in place, and stay version 1.
 * From then on a change adds its columns here, for new files, and a step to store_schema, which gives them
 * to files of the version before. */

/* Each column once: its position in a row, its name, its type. The first column of a table is not in its
 * list. store-rows.c says what a column holds: by a row in a table of fields, if it is a member as it is. */
#define VOLUME_COLUMNS(X)                                                    \
        X(VOLUME_SOURCE, "source", "TEXT NOT NULL")                          \
        X(VOLUME_FS_TYPE, "fs_type", "TEXT NOT NULL")                        \
        X(VOLUME_DRIVER, "driver", "TEXT")                                   \
        X(VOLUME_VOLUME_TYPE, "volume_type", "TEXT NOT NULL")                \
        X(VOLUME_ACCESS_MODE, "access_mode", "TEXT NOT NULL")                \
        X(VOLUME_STRATEGY, "strategy", "TEXT NOT NULL")                      \
        X(VOLUME_CONTEXT, "context", "TEXT NOT NULL")                        \
        X(VOLUME_LABEL_STATE, "label_state", "TEXT NOT NULL")                \
        X(VOLUME_TAINTED, "tainted", "INTEGER NOT NULL")                     \
        X(VOLUME_LAST_VERIFIED, "last_verified_usec", "INTEGER NOT NULL")    \
        X(VOLUME_INODES_USED, "inodes_used", "INTEGER NOT NULL")             \
        X(VOLUME_LABEL_CONTEXT, "label_context", "TEXT NOT NULL")            \
        X(VOLUME_OWNERSHIP_STATE, "ownership_state", "TEXT NOT NULL")        \
        X(VOLUME_GID, "gid", "INTEGER NOT NULL")                             \
        X(VOLUME_MOUNT_OPTIONS, "mount_options", "TEXT NOT NULL")            \
        X(VOLUME_MOUNTED_HERE, "mounted_here", "INTEGER NOT NULL")           \
        X(VOLUME_MOUNTED_THIS_BOOT, "mounted_this_boot", "INTEGER NOT NULL") \
        X(VOLUME_FINGERPRINT, "fingerprint", "TEXT NOT NULL")

#define HOLDER_COLUMNS(X)                                              \
        X(HOLDER_NAME, "name", "TEXT NOT NULL")                        \
        X(HOLDER_TARGET, "target", "TEXT PRIMARY KEY")                 \
        X(HOLDER_STATE, "state", "TEXT NOT NULL")                      \
        X(HOLDER_STRATEGY, "strategy", "TEXT NOT NULL")                \
        X(HOLDER_REASON, "reason", "TEXT NOT NULL")                    \
        X(HOLDER_READ_ONLY, "read_only", "INTEGER NOT NULL")           \
        X(HOLDER_ADOPTED, "adopted", "INTEGER NOT NULL")               \
        X(HOLDER_SINCE, "since_usec", "INTEGER NOT NULL")              \
        X(HOLDER_MOUNT_ID, "mount_id", "INTEGER NOT NULL")             \
        X(HOLDER_SPEC, "spec", "TEXT NOT NULL")                        \
        X(HOLDER_RELABELED_HERE, "relabeled_here", "INTEGER NOT NULL") \
        X(HOLDER_FS_GROUP, "fs_group", "INTEGER NOT NULL")             \
        X(HOLDER_DISK_GID, "disk_gid", "INTEGER NOT NULL")             \
        X(HOLDER_CONTEXT, "context", "TEXT NOT NULL")                  \
        X(HOLDER_DEVICE, "device", "TEXT NOT NULL")                    \
        X(HOLDER_SUPERBLOCK, "superblock", "TEXT NOT NULL")

#define COLUMN_POSITION(position, name, type) position,
enum { VOLUME_ID, VOLUME_COLUMNS(COLUMN_POSITION) };
enum { HOLDER_VOLUME, HOLDER_COLUMNS(COLUMN_POSITION) };
enum { META_KEY, META_VALUE };

/* At least as many as any statement has parameters. */
enum { COLUMNS_MAX = 32 };
#define COLUMN_COUNT(position, name, type) +1
static_assert(1 VOLUME_COLUMNS(COLUMN_COUNT) <= COLUMNS_MAX && 1 HOLDER_COLUMNS(COLUMN_COUNT) <= COLUMNS_MAX,
              "too many columns");

/* A statement that puts a row has its columns as parameters; all others have the key of the rows they are
 * about. */
typedef enum Statement {
        BEGIN,
        COMMIT,
        ROLLBACK,
        GET_VOLUMES,
        PUT_VOLUME,
        DELETE_VOLUME,
        GET_HOLDERS,
        PUT_HOLDER,
        DELETE_HOLDER,
        GET_META,
        PUT_META,
        STATEMENTS,
} Statement;

/* Returns 1 if there is another row, 0 if not, or a negative errno. _cleanup_statement_ ends it. */
int statement_step(sqlite3_stmt *st) _warn_unused_;
/* Runs a statement and ends it; a row is of no interest. Returns 0 or a negative errno. */
int statement_execute(sqlite3_stmt *statement);

static inline void statement_resetp(sqlite3_stmt **st) {
        if (!*st)
                return;
        (void) sqlite3_reset(*st);
        (void) sqlite3_clear_bindings(*st);
}
#define _cleanup_statement_ _cleanup_(statement_resetp)

/* A result code of SQLite as 0 or a negative errno: the one that the kernel gave, if it was that. */
int schema_errno(sqlite3 *db, int rc);
int schema_execute(sqlite3 *db, const char *sql) _warn_unused_;

/* The version of the tables, 0 for a file that is empty. Returns 0; -EPROTONOSUPPORT for a version newer
 * than the schema; -EUCLEAN if it is not a store; or another negative errno. */
int schema_get_version(const Schema *s, sqlite3 *db, int *ret) _warn_unused_;
/* Whether a file of that version, which is not empty, has to be migrated. */
bool schema_is_newer(const Schema *s, int version);
/* Makes the tables of an empty file, or migrates those of an older version: all of it, or nothing once the
 * file is closed. Returns 0 or a negative errno. */
int schema_update(const Schema *s, sqlite3 *db, int version) _warn_unused_;
int schema_prepare_statement(sqlite3 *db, Statement id, sqlite3_stmt **ret) _warn_unused_;

/* A statement that changes something, with the values of its parameters. */
typedef struct Change Change;

/* In the order in which they were made. */
typedef struct Changes {
        Change *first, *last;
        bool incomplete; /* there was no memory for one of them */
} Changes;

/* Appends a change to the row with the key, its first column, whose other parameters are NULL. Returns NULL
 * without memory, which is remembered. */
Change *changes_append(Changes *all, Statement statement, const char *key);
void changes_done(Changes *all);

/* Set the parameter that belongs to a column; the text is copied, and may be NULL. */
void change_set_text(Change *c, int column, const char *text);
void change_set_number(Change *c, int column, uint64_t number);

/* Executes them in their order with the prepared statements, one of which is each change's. Returns 0;
 * -ENOMEM if one of them is incomplete; or another negative errno. What has been executed before a failure
 * stays, in the open transaction. */
int changes_execute(const Changes *all, sqlite3_stmt *const statements[STATEMENTS]) _warn_unused_;

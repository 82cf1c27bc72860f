/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sqlite3.h>

#include "basic/cleanup.h"
#include "store/store-types.h"

/* The tables of the file, all SQL, and the changes that one thread records and another one writes.
 *
 * No release has written a file yet: until 0.1.0 is tagged the tables change in place, as version 1. Later a
 * change adds columns here, for new files, and a step to store_schema, which adds the columns to files of the
 * previous version. */

/* Each column once: its position in a row, its name, its type. The list omits the first column of the table.
 * store-rows.c defines the contents of a column: in a table of fields, if the column is a plain member. */
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
        X(VOLUME_FINGERPRINT, "fingerprint", "TEXT NOT NULL")                \
        X(VOLUME_MOUNT_TYPE, "mount_type", "TEXT NOT NULL")                  \
        X(VOLUME_IDENTITY, "identity", "TEXT NOT NULL")                      \
        X(VOLUME_LINK, "link", "TEXT NOT NULL")                              \
        X(VOLUME_MOUNTED_ELSEWHERE, "mounted_elsewhere", "INTEGER NOT NULL") \
        X(VOLUME_LAST_USED, "last_used_usec", "INTEGER NOT NULL")            \
        X(VOLUME_INTRODUCER, "introducer", "INTEGER NOT NULL")               \
        X(VOLUME_EPHEMERAL, "ephemeral", "INTEGER NOT NULL")

#define HOLDER_COLUMNS(X)                                                    \
        X(HOLDER_NAME, "name", "TEXT NOT NULL")                              \
        X(HOLDER_TARGET, "target", "TEXT PRIMARY KEY")                       \
        X(HOLDER_STATE, "state", "TEXT NOT NULL")                            \
        X(HOLDER_STRATEGY, "strategy", "TEXT NOT NULL")                      \
        X(HOLDER_REASON, "reason", "TEXT NOT NULL")                          \
        X(HOLDER_READ_ONLY, "read_only", "INTEGER NOT NULL")                 \
        X(HOLDER_ADOPTED, "adopted", "INTEGER NOT NULL")                     \
        X(HOLDER_SINCE, "since_usec", "INTEGER NOT NULL")                    \
        X(HOLDER_MOUNT_ID, "mount_id", "INTEGER NOT NULL")                   \
        X(HOLDER_SPEC, "spec", "TEXT NOT NULL")                              \
        X(HOLDER_RELABELED_HERE, "relabeled_here", "INTEGER NOT NULL")       \
        X(HOLDER_FS_GROUP, "fs_group", "INTEGER NOT NULL")                   \
        X(HOLDER_DISK_GID, "disk_gid", "INTEGER NOT NULL")                   \
        X(HOLDER_CONTEXT, "context", "TEXT NOT NULL")                        \
        X(HOLDER_DEVICE, "device", "TEXT NOT NULL")                          \
        X(HOLDER_RELEASE_ON_UMOUNT, "release_on_umount", "INTEGER NOT NULL") \
        X(HOLDER_SUPERBLOCK, "superblock", "TEXT NOT NULL")                  \
        X(HOLDER_OWNER, "owner", "INTEGER NOT NULL")

#define COLUMN_POSITION(position, name, type) position,
enum { VOLUME_ID, VOLUME_COLUMNS(COLUMN_POSITION) };
enum { HOLDER_VOLUME, HOLDER_COLUMNS(COLUMN_POSITION) };
enum { META_KEY, META_VALUE };

/* At least the number of parameters of any statement. */
enum { COLUMNS_MAX = 32 };
#define COLUMN_COUNT(position, name, type) +1
static_assert(1 VOLUME_COLUMNS(COLUMN_COUNT) <= COLUMNS_MAX && 1 HOLDER_COLUMNS(COLUMN_COUNT) <= COLUMNS_MAX,
              "too many columns");

/* A statement that puts a row has the columns as parameters. All others have the key of their rows. */
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

/* Returns 1 if there is another row, 0 if not, or a negative errno. _cleanup_statement_ resets the
 * statement. */
int statement_step(sqlite3_stmt *st) _warn_unused_;
/* Runs a statement and resets it, ignoring rows. Returns 0 or a negative errno. */
int statement_execute(sqlite3_stmt *statement);

void statement_resetp(sqlite3_stmt **st);
#define _cleanup_statement_ _cleanup_(statement_resetp)

/* Converts a result code of SQLite to 0 or a negative errno; if a system call has failed, its errno. */
int schema_errno(sqlite3 *db, int rc);
int schema_execute(sqlite3 *db, const char *sql) _warn_unused_;

/* The version of the tables, 0 for an empty file. Returns 0; -EPROTONOSUPPORT for a version newer than the
 * schema; -EUCLEAN if the file is no store; or another negative errno. */
int schema_get_version(const Schema *s, sqlite3 *db, int *ret) _warn_unused_;
/* Whether the file has an older version than the schema, and is not empty. */
bool schema_is_newer(const Schema *s, int version);
/* Creates the tables of an empty file, or migrates those of an older version. After an error, closing the
 * file undoes all of it. Returns 0 or a negative errno. */
int schema_update(const Schema *s, sqlite3 *db, int version) _warn_unused_;
int schema_prepare_statement(sqlite3 *db, Statement id, sqlite3_stmt **ret) _warn_unused_;

/* A statement that changes something, with the values of its parameters. */
typedef struct Change Change;

/* Changes in the order in which they were made. */
typedef struct Changes {
        Change *first, *last;
        bool incomplete; /* there was no memory for a change */
} Changes;

/* Appends a change of the row with this key (its first column); the other parameters are NULL. Returns NULL
 * if out of memory; changes_execute() then fails. */
Change *changes_append(Changes *all, Statement statement, const char *key);
void changes_done(Changes *all);

/* Set the parameter for a column. The text is copied, and may be NULL. */
void change_set_text(Change *c, int column, const char *text);
void change_set_number(Change *c, int column, uint64_t number);

/* Executes the changes in their order, with the prepared statements. Returns 0; -ENOMEM if a change is
 * incomplete; or another negative errno. Changes executed before an error stay in the open transaction. */
int changes_execute(const Changes *all, sqlite3_stmt *const statements[STATEMENTS]) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sqlite3.h>

#include "basic/cleanup.h"

/* The tables of the file, and all SQL. */

/* Each column once: its position in a row, its name, its type. The first column of a table is not in its lists. To
 * add columns, append a list for a new version, with a migration in store-schema.c, and say in store-rows.c what they
 * hold: a row in a table of fields, if it is a member as it is. */
#define VOLUME_COLUMNS_1(X)                                               \
        X(VOLUME_SOURCE, "source", "TEXT NOT NULL")                       \
        X(VOLUME_FS_TYPE, "fs_type", "TEXT NOT NULL")                     \
        X(VOLUME_DRIVER, "driver", "TEXT")                                \
        X(VOLUME_VOLUME_TYPE, "volume_type", "TEXT NOT NULL")             \
        X(VOLUME_ACCESS_MODE, "access_mode", "TEXT NOT NULL")             \
        X(VOLUME_STRATEGY, "strategy", "TEXT NOT NULL")                   \
        X(VOLUME_CONTEXT, "context", "TEXT NOT NULL")                     \
        X(VOLUME_LABEL_STATE, "label_state", "TEXT NOT NULL")             \
        X(VOLUME_TAINTED, "tainted", "INTEGER NOT NULL")                  \
        X(VOLUME_LAST_VERIFIED, "last_verified_usec", "INTEGER NOT NULL") \
        X(VOLUME_INODES_USED, "inodes_used", "INTEGER NOT NULL")
#define VOLUME_COLUMNS_2(X)                                                             \
        X(VOLUME_LABEL_CONTEXT, "label_context", "TEXT NOT NULL DEFAULT ''")            \
        X(VOLUME_OWNERSHIP_STATE, "ownership_state", "TEXT NOT NULL DEFAULT 'unknown'") \
        X(VOLUME_GID, "gid", "INTEGER NOT NULL DEFAULT 0")                              \
        X(VOLUME_MOUNT_OPTIONS, "mount_options", "TEXT NOT NULL DEFAULT ''")            \
        X(VOLUME_MOUNTED_HERE, "mounted_here", "INTEGER NOT NULL DEFAULT 0")
#define VOLUME_COLUMNS_5(X) X(VOLUME_MOUNTED_THIS_BOOT, "mounted_this_boot", "INTEGER NOT NULL DEFAULT 0")
#define VOLUME_COLUMNS_6(X) X(VOLUME_FINGERPRINT, "fingerprint", "TEXT NOT NULL DEFAULT ''")
#define VOLUME_COLUMNS(X)   VOLUME_COLUMNS_1(X) VOLUME_COLUMNS_2(X) VOLUME_COLUMNS_5(X) VOLUME_COLUMNS_6(X)

#define HOLDER_COLUMNS_1(X)                                  \
        X(HOLDER_NAME, "name", "TEXT NOT NULL")              \
        X(HOLDER_TARGET, "target", "TEXT PRIMARY KEY")       \
        X(HOLDER_STATE, "state", "TEXT NOT NULL")            \
        X(HOLDER_STRATEGY, "strategy", "TEXT NOT NULL")      \
        X(HOLDER_REASON, "reason", "TEXT NOT NULL")          \
        X(HOLDER_READ_ONLY, "read_only", "INTEGER NOT NULL") \
        X(HOLDER_ADOPTED, "adopted", "INTEGER NOT NULL")     \
        X(HOLDER_SINCE, "since_usec", "INTEGER NOT NULL")    \
        X(HOLDER_MOUNT_ID, "mount_id", "INTEGER NOT NULL")   \
        X(HOLDER_SPEC, "spec", "TEXT NOT NULL")
#define HOLDER_COLUMNS_2(X) X(HOLDER_RELABELED_HERE, "relabeled_here", "INTEGER NOT NULL DEFAULT 0")
/* 4294967295 is GID_NONE. */
#define HOLDER_COLUMNS_3(X)                                                   \
        X(HOLDER_FS_GROUP, "fs_group", "INTEGER NOT NULL DEFAULT 4294967295") \
        X(HOLDER_DISK_GID, "disk_gid", "INTEGER NOT NULL DEFAULT 4294967295")
#define HOLDER_COLUMNS_4(X)                                      \
        X(HOLDER_CONTEXT, "context", "TEXT NOT NULL DEFAULT ''") \
        X(HOLDER_DEVICE, "device", "TEXT NOT NULL DEFAULT ''")
#define HOLDER_COLUMNS(X) HOLDER_COLUMNS_1(X) HOLDER_COLUMNS_2(X) HOLDER_COLUMNS_3(X) HOLDER_COLUMNS_4(X)

#define HISTORY_COLUMNS(X)                                 \
        X(HISTORY_TIME, "time_usec", "INTEGER NOT NULL")   \
        X(HISTORY_OPERATION, "operation", "TEXT NOT NULL") \
        X(HISTORY_RESULT, "result", "TEXT NOT NULL")       \
        X(HISTORY_REASON, "reason", "TEXT NOT NULL")       \
        X(HISTORY_TARGET, "target", "TEXT NOT NULL")       \
        X(HISTORY_HOLDER, "holder", "TEXT NOT NULL")       \
        X(HISTORY_CONTEXT, "context", "TEXT NOT NULL")     \
        X(HISTORY_CALLER, "caller", "TEXT NOT NULL")       \
        X(HISTORY_TEXT, "text", "TEXT NOT NULL")           \
        X(HISTORY_DURATION, "duration_usec", "INTEGER NOT NULL")

#define COLUMN_POSITION(position, name, type) position,
enum { VOLUME_ID, VOLUME_COLUMNS(COLUMN_POSITION) };
enum { HOLDER_VOLUME, HOLDER_COLUMNS(COLUMN_POSITION) };
enum { HISTORY_VOLUME, HISTORY_COLUMNS(COLUMN_POSITION) };
enum { META_KEY, META_VALUE };

/* A statement that puts or adds a row has its columns as parameters; all others have the key of the rows they are
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
        GET_HISTORY,
        ADD_HISTORY,
        TRIM_HISTORY,
        GET_META,
        PUT_META,
        STATEMENTS,
} Statement;

/* A result code of SQLite as 0 or a negative errno. */
int schema_errno(int rc);
int schema_execute(sqlite3 *db, const char *sql) _warn_unused_;

/* Makes the tables of a new file, migrates those of an older one. Returns 0; -EPROTONOSUPPORT for a newer version;
 * -EUCLEAN if it is not a store; or another negative errno. */
int schema_prepare(sqlite3 *db) _warn_unused_;
int schema_prepare_statement(sqlite3 *db, Statement id, sqlite3_stmt **ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/store-schema.h"

/* The file, used by one thread at a time. All functions here may block as long as the disk does.
 *
 * PATH.new exists while a new file is being written. PATH.next is the complete new file, on disk, until it
 * has replaced PATH. PATH.next exists only if it is to be used: at every instant one of PATH and PATH.next is
 * complete. */
typedef struct StoreFile {
        const Schema *schema;
        char *path;
        char *kept;  /* the name that keeps the present file when it is replaced; NULL: not kept */
        sqlite3 *db; /* a database in memory if the file can't be written */
        sqlite3_stmt *statements[STATEMENTS];
} StoreFile;

/* Opens or creates the file. Migrates a file of an older version, and keeps a copy as PATH.version-N. A file
 * that can't be written is read into memory (*ret_error: the error, a negative errno); a damaged file
 * (-EUCLEAN) is not read. Returns 0; -EPROTONOSUPPORT if a newer version has written the file; -EBUSY if
 * another process uses it; or another negative errno if it can't be read. */
int store_file_open(StoreFile *f, int *ret_error) _warn_unused_;
void store_file_done(StoreFile *f);

/* Writes one transaction, which is on disk when the function returns. Returns 0 or a negative errno. After an
 * error only store_file_write_anew() helps: nobody knows what a failed fsync() has left on disk. */
int store_file_commit(StoreFile *f, const Changes *changes) _warn_unused_;
/* Replaces the file with a new one: everything, then the changes. Returns 0 or a negative errno. */
int store_file_write_anew(StoreFile *f, const Changes *everything, const Changes *changes) _warn_unused_;

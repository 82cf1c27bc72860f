/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/store-schema.h"

/* The file, used by one thread at a time: everything here may block for as long as the disk does.
 *
 * Besides PATH there is PATH.new while a new file is being written, and PATH.next from when it is complete
 * and on disk until it has replaced PATH. PATH.next is there only when it is to be used: at every instant
 * one of both is whole. */
typedef struct StoreFile {
        const Schema *schema;
        char *path;
        char *kept; /* the name that the file now there gets, instead of being removed, when it is replaced; or NULL */
        sqlite3 *db; /* in memory if the file can't be written */
        sqlite3_stmt *statements[STATEMENTS];
} StoreFile;

/* Opens the file, or makes it; one of an older version is migrated, and a copy kept as PATH.version-N. A
 * file that can't be written (*ret_error says why, a negative errno) is read into memory, one that is
 * damaged (-EUCLEAN) not even that. Returns 0; -EPROTONOSUPPORT if a newer version has written it; -EBUSY
 * if another process has it; or another negative errno if it can't be read. */
int store_file_open(StoreFile *f, int *ret_error) _warn_unused_;
void store_file_done(StoreFile *f);

/* One transaction, which is on disk when this returns. Returns 0 or a negative errno; then all that can be
 * done is store_file_write_anew(), because what an fsync that failed has left on disk is unknown. */
int store_file_commit(StoreFile *f, const Changes *changes) _warn_unused_;
/* Writes a new file that replaces the old one: everything, then the changes. Returns 0 or a negative errno.
 */
int store_file_write_anew(StoreFile *f, const Changes *everything, const Changes *changes) _warn_unused_;

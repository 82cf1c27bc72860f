/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume-record.h"

/* The record that a volume carries (model/volume-record.h), in the xattr VOLUME_RECORD_XATTR of its root. fd is the
 * root's, open for reading (fgetxattr(2) doesn't take O_PATH); CAP_SYS_ADMIN is needed, as without it nobody has such
 * an xattr (xattr(7), trusted). What is changed is on disk, fsync(2), before a function returns. */

/* Reads it. *ret_text, the caller's to free, is "" unless it is present, and also if it is too long, is not UTF-8 or
 * has a NUL in it: then it makes no sense anyway. Returns 0 or a negative errno. */
int record_xattr_read(int fd, RecordFound *ret_found, char **ret_text) _warn_unused_;

/* Applies what a mount does to what is known. A record that makes no sense is replaced by one that knows nothing. If
 * it can't be written it is removed, which says nothing either; a read-only file system, one that keeps no such
 * xattrs, and a record that claims nothing anyway are left as they are. Returns 0, a negative errno, or MOUNT_FAILED
 * if a record stays behind that says more than will be true. */
int record_xattr_mark(int fd, RecordEffect effect, Failure *f) _warn_unused_;

/* A walk that is under way. */
typedef struct RecordBegun {
        RecordFound found;   /* PRESENT: the record below is there */
        VolumeRecord record; /* partial */
} RecordBegun;

void record_begun_done(RecordBegun *b);

/* Before the first file is touched: partial, volume_record_begin(). The generation is one more than the given one or
 * the record's own, whichever is higher. What the record says of what is not worked on stays, if it is of that
 * generation. Returns as record_xattr_mark(), but ENTRIES_FAILED. */
int record_xattr_begin(int fd, const RecordWork *work, uint64_t generation, RecordBegun *ret,
                       Failure *f) _warn_unused_;

/* When all is on disk: complete, volume_record_finish(), but for what others may have done meanwhile and may do; it
 * is written once, so that it never says more than is true. Nothing is written if somebody else has changed the
 * record meanwhile. */
int record_xattr_finish(int fd, const RecordBegun *begun, const RecordWork *work, RecordEffect effect,
                        Failure *f) _warn_unused_;

/* Whether the effect has to be written to a volume that carries this: the rule of record_xattr_mark(). */
bool record_effect_is_written(RecordFound found, RecordEffect effect) _pure_;

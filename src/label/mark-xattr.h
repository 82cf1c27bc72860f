/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/mark.h"

/* The mark that a volume carries (model/mark.h), in the xattr MARK_XATTR of its root. fd is the root's, open
 * for reading (fgetxattr(2) doesn't take O_PATH); CAP_SYS_ADMIN is needed, as without it nobody has such an
 * xattr (xattr(7), trusted). *ret, the caller's to release, is the mark as it is when a function returns.
 *
 * On the word of a mark later mounts skip the walk over all files, here and on other nodes. So no crash may
 * leave a mark on disk that claims more than is true of the files on disk:
 *
 *   - A mark that claims less is on disk, fsync(2), before the deed: mark_xattr_apply() before a mount
 *     becomes visible, mark_xattr_begin() before the first file is touched.
 *   - A mark that claims more is written last: the walk ends with syncfs(2), then comes mark_xattr_finish().
 *
 * If the worker is killed, or the machine loses power, the volume has
 *
 *   before mark_xattr_begin() returns   the old mark or "partial"; no file has been touched
 *   during the walk                     "partial": the next mount walks again, and writes what is not right
 *   during mark_xattr_finish()          "partial" or "complete": both are true
 *   after mark_xattr_apply()            a mark that claims too little if no mount became visible: a walk
 *                                       too many
 *
 * The mark alone proves nothing: since it was written others may have mounted the file system for writing, or
 * copied the tree. files_judge_mark() (plan/files.h) decides by the mark's inode and its fingerprint whether
 * the mark is believed (MarkProof.belief). A mark that is not believed claims nothing. */

/* Reads it. What makes no sense, is too long or of another version is MARK_INVALID. Returns 0 or a negative
 * errno. */
int mark_xattr_read(int fd, Mark *ret) _warn_unused_;

/* Makes it claim less, and notes the fingerprint of a mark that is believed, which is not synced: lost, it
 * costs a walk. A mark that makes no sense is replaced by one that claims nothing. If it can't be written it
 * is removed, which claims nothing either; a read-only file system, one that keeps no such xattrs, and a mark
 * that claims nothing anyway are left as they are. Returns 0, a negative errno, or MOUNT_FAILED if a mark
 * stays behind that claims more than will be true. */
int mark_xattr_apply(int fd, MarkChange change, const MarkProof *proof, Mark *ret, Failure *f) _warn_unused_;

/* Before the first file is touched: partial, mark_begin(). What the mark says of what is not worked on stays
 * if it is believed, and is unknown otherwise. *ret is what was to be written; its found says what is there.
 * Returns as mark_xattr_apply(), but ENTRIES_FAILED. */
int mark_xattr_begin(int fd, const MarkWork *work, const MarkProof *proof, Mark *ret, Failure *f) _warn_unused_;

/* When all is on disk: complete, mark_finish(), but for what others may have done meanwhile and may do,
 * change; it is written once, so that it never claims more than is true. Nothing is written if the mark was
 * changed by somebody else since it was begun. Returns as mark_xattr_begin(). */
int mark_xattr_finish(int fd, const Mark *begun, const MarkWork *work, MarkChange change, Mark *ret,
                      Failure *f) _warn_unused_;

/* Whether the change has to be written to a volume where this was found: the rule of mark_xattr_apply(). */
bool mark_change_is_written(MarkFound found, MarkChange change) _pure_;

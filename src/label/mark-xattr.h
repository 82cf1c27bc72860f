/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/mark.h"

/* The mark of a volume (model/mark.h) is the xattr MARK_XATTR of the volume's root. fd is the root, open for
 * reading (fgetxattr(2) doesn't take O_PATH). The functions need CAP_SYS_ADMIN, as all access to trusted
 * xattrs does (xattr(7)). *ret, which the caller releases, is the mark when the function returns.
 *
 * Later mounts trust the mark and skip the walk over all files, here and on other nodes. So no crash may
 * leave a mark on disk that claims more than is true of the files on disk:
 *
 *   - A mark that claims less is on disk, fsync(2), before the change: mark_xattr_apply() before a mount
 *     becomes visible, mark_xattr_begin() before the first file is changed.
 *   - A mark that claims more is written last: the walk ends with syncfs(2), then comes mark_xattr_finish().
 *
 * If the worker is killed, or the machine loses power, the volume has
 *
 *   before mark_xattr_begin() returns   the old mark or "partial"; no file has been changed
 *   during the walk                     "partial": the next mount walks again, and changes only wrong files
 *   during mark_xattr_finish()          "partial" or "complete": both are true
 *   after mark_xattr_apply()            a mark that claims too little if no mount became visible: one
 *                                       unnecessary walk
 *
 * The mark alone proves nothing: since the mark was written, another program may have mounted the file system
 * for writing, or copied the tree. files_judge_mark() (plan/plan-files.h) decides by the mark's identity,
 * inode and fingerprint whether to trust the mark (MarkProof.trust). A mark that is not trusted claims
 * nothing. */

/* Reads the mark. A mark that is malformed, too long or of another version is MARK_INVALID. Returns 0 or a
 * negative errno. */
int mark_xattr_read(int fd, Mark *ret) _warn_unused_;

/* Makes the mark claim less, and writes the new fingerprint into a trusted mark. A fingerprint alone is not
 * synced: losing the fingerprint costs a walk. A mark that claims nothing replaces an invalid one. A mark
 * that can't be written is removed, which claims nothing either. The mark stays if the file system is
 * read-only, keeps no such xattrs, or the mark claims nothing anyway. Returns 0, a negative errno, or
 * MOUNT_FAILED if a mark stays that claims more than will be true. */
int mark_xattr_apply(int fd, MarkChange change, const MarkProof *proof, Mark *ret, Failure *f) _warn_unused_;

/* Writes "partial" into the mark (mark_begin()), before the first file is changed. A trusted mark keeps its
 * other claims; otherwise they become unknown. *ret is the mark that was to be written; ret->found tells
 * whether the volume has it. Returns as mark_xattr_apply(), but ENTRIES_FAILED. */
int mark_xattr_begin(int fd, const MarkWork *work, const MarkProof *proof, Mark *ret, Failure *f) _warn_unused_;

/* Writes "complete" into the mark (mark_finish()), after all changes are on disk. The same write applies
 * change, the effect of other mounts meanwhile and later, so the mark never claims more than is true. Writes
 * nothing if another program has changed the mark since mark_xattr_begin(). Returns as mark_xattr_begin(). */
int mark_xattr_finish(int fd, const Mark *begun, const MarkWork *work, MarkChange change, Mark *ret,
                      Failure *f) _warn_unused_;

/* Whether mark_xattr_apply() writes the change to a volume with this mark. */
bool mark_change_is_written(MarkFound found, MarkChange change) _pure_;

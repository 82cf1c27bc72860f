/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/files-walk.h"
#include "wire/messages.h"
#include "worker/subject.h"

/* Whether files_change() may have to do anything, for which it needs a subject; otherwise that may be
 * empty. */
static inline bool files_may_change(const FilesWanted *w) {
        return !isempty(w->context) || w->ownership == OWNERSHIP_WALK || w->ownership == OWNERSHIP_MAP;
}

/* Decides what the files of a volume need, does it, and notes it in the result: idmap the mount, or walk
 * over all files. result->outcome and result->mark are what was seen of the root; they are brought up to
 * date. Entries that failed are no error, see files_failed(). If others rely on the group that a walk would
 * take from them, selvold is asked for a plan once more, which may name others who do. Returns 0, a
 * negative errno, or a failure kind. */
int files_change(Child *c, const char *volume, PlanQuestion *question, PlanAnswer *answer, Subject *s,
                 OperationResult *result, Failure *f) _warn_unused_;

/* Whether a walk left entries that could not be changed. */
static inline bool files_failed(const OperationResult *result) {
        return result->walked && result->walk.counts.failed > 0;
}

/* Has the mark claim less, and tells selvold if that changed it; if it is believed (o->proof), notes the
 * fingerprint of now. Through a mount that was made for this and is not published, also one that is
 * read-only: others of the file system may not be. Returns 0, a negative errno, or MOUNT_FAILED, also if
 * the mark still claims more than the change leaves. */
int files_mark_staged(Child *c, const Subject *s, const MountOutcome *o, MarkChange change, Mark *mark,
                      Failure *f) _warn_unused_;

/* The same through a mount that is there for everybody, also one that is read-only: others of the file
 * system may not be. Returns as files_mark_staged(), and as subject_copy(), subject_check() and
 * foreign_check(). */
int files_mark_live(Child *c, const Target *target, const MountOutcome *o, MarkChange change, Mark *mark,
                    Failure *f) _warn_unused_;

/* Compares all files, of a mode FILES_VERIFY, and tells selvold how far that is. Returns 0, also if entries
 * failed; a negative errno, of it -ECANCELED if selvold has hung up; or a failure kind. */
int files_verify(Child *c, FilesSpec *spec, WalkResult *ret, Failure *f) _warn_unused_;

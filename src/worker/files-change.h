/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/files-walk.h"
#include "wire/messages.h"
#include "worker/private-mount.h"

/* Whether files_change() may change files or the mount, and so needs a private mount; otherwise the private
 * mount may be empty. */
bool files_may_change(const FilesWanted *w) _pure_;

/* Decides whether the files of a volume need a walk or an idmapped mount, does that, and updates the result;
 * result->outcome and result->mark describe the root before and after. Entries that failed are no error, see
 * files_failed(). If a walk would take a group from others, selvold is asked for a plan again; the answer may
 * name more reliances. Returns 0, a negative errno, or a failure kind. */
int files_change(Child *c, const char *volume, PlanQuestion *question, PlanAnswer *answer, PrivateMount *s,
                 OperationResult *result, Failure *f) _warn_unused_;

/* Whether a walk left entries that could not be changed. */
bool files_failed(const OperationResult *result) _pure_;

/* Makes the mark claim less; updates the fingerprint of a trusted mark
 * (o->proof). Works through a staged mount, which may be read-only, because other mounts of the file system
 * may be writable. Returns 0, a negative errno, or MOUNT_FAILED, also if the mark still claims more than the
 * change leaves. */
int files_mark_staged(const PrivateMount *s, const MountOutcome *o, MarkChange change, Mark *mark,
                      Failure *f) _warn_unused_;

/* The same through a visible mount. Returns as files_mark_staged(), private_mount_copy(),
 * private_mount_check() and foreign_check(). */
int files_mark_live(Child *c, const Target *target, const MountOutcome *o, MarkChange change, Mark *mark,
                    Failure *f) _warn_unused_;

/* Compares all files (spec->mode is FILES_VERIFY) and sends progress to selvold. Returns 0, also if entries
 * failed; a negative errno, -ECANCELED if selvold has hung up; or a failure kind. */
int files_verify(Child *c, FilesSpec *spec, WalkResult *ret, Failure *f) _warn_unused_;

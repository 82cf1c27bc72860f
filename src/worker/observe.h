/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"
#include "mount/target.h"
#include "wire/messages.h"

/* All that there is to see, read and not judged. All return 0 or a negative errno. */

/* Reads what a source tells; if it may be mounted somewhere, observe_source_mounts() looks where. */
int observe_source(const Source *s, Observed *ret) _warn_unused_;
int observe_source_mounts(const Source *s, Observed *o) _warn_unused_;

/* Reads what the superblock of a mount at an open target tells, and that mount itself. */
int observe_mounted(const Target *t, Observed *ret, MountOutcome *ret_outcome) _warn_unused_;

/* The mount at an open target, with what it shows of its root, and the mark of the volume. */
int observe_mount(const Target *t, MountOutcome *ret, Mark *ret_mark) _warn_unused_;

/* Reads what a mount shows of its root: label, group and mode, into an outcome, and the mark. root is open
 * for reading. */
int observe_root(int root, MountOutcome *o, Mark *mark) _warn_unused_;

/* Checks that the root has the context that the mount is to have; "" is none. Whatever the mount table
 * says, this is what a container will see. Returns 0, -ENOMEM or LABEL_MISMATCH. */
int observe_check_label(const MountOutcome *o, const char *context, Failure *f) _warn_unused_;

/* Whether the mark of a volume is believed: what there is to judge it by is gathered here, files_judge_mark()
 * judges. What comes of it is outcome.proof of the result, whose outcome and mark say what was seen of the
 * root. */

/* Judges the mark of a staged or shared mount; before is source_read_fingerprint()'s answer right before. */
void judge_staged(const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                  const Fingerprint *before, OperationResult *result);

/* Judges the mark of the mount at root, which is open for reading. adopted: others have mounted it. */
void judge_mounted(int root, const PlanAnswer *answer, bool adopted, OperationResult *result);

/* For the record: what an operation has found, or made, right stays so while the volume is mounted, and, when
 * nothing of the operation is mounted any more, as long as the fingerprint is the one of now. unmounted: the
 * source then; NULL: the volume stays mounted. Nothing is kept of a file system that somebody else has
 * mounted, or that keeps it in the mark. */
void judge_keep(const Source *unmounted, OperationResult *result);

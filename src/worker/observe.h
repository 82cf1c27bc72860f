/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"
#include "mount/target.h"
#include "wire/messages.h"

/* Functions that read facts and judge nothing. All return 0 or a negative errno. */

/* Reads facts of a source. If the source may be mounted somewhere, observe_source_mounts() finds its
 * mounts. */
int observe_source(const Source *s, Observed *ret) _warn_unused_;
int observe_source_mounts(const Source *s, Observed *o) _warn_unused_;

/* Mounts that the kernel keeps alike (peers_find()) are one if one of them has the id (0: none), or was noted
 * by the worker: drops the others. A mount of the host's never hides behind one that is not selvol's. */
int observe_drop_peers(uint64_t id, MountFact *mounts, size_t *n) _warn_unused_;

/* Reads facts of the mount at an open target and of the mount's superblock. */
int observe_mounted(const Target *t, Observed *ret, MountOutcome *ret_outcome) _warn_unused_;

/* Reads the mount at an open target, its root, and the mark of the volume. */
int observe_mount(const Target *t, MountOutcome *ret, Mark *ret_mark) _warn_unused_;

/* Reads label, group and mode of the root, as the mount shows them, and the mark. root is open for
 * reading. */
int observe_root(int root, MountOutcome *o, Mark *mark) _warn_unused_;

/* Checks that the root has the context of the mount ("": none). A container sees the root's label, whatever
 * the mount table says. Returns 0, -ENOMEM or LABEL_MISMATCH. */
int observe_check_label(const MountOutcome *o, const char *context, Failure *f) _warn_unused_;

/* judge_staged() and judge_mounted() collect evidence on the mark, let files_judge_mark() decide whether to
 * trust the mark, and set outcome.proof of the result. outcome and mark of the result describe the root. */

/* Judges the mark of a staged or shared mount. before: the fingerprint read just before staging. */
void judge_staged(const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                  const Fingerprint *before, OperationResult *result);

/* Judges the mark of the mount at root, which is open for reading. adopted: the mount is foreign. */
void judge_mounted(int root, const PlanAnswer *answer, bool adopted, OperationResult *result);

/* Sets the fingerprint that selvold records. The files that the operation found or made right stay right
 * while the volume is mounted; after the operation's last mount is gone, as long as the fingerprint is the
 * same. unmounted: the source, if the volume is not mounted; NULL: the volume stays mounted. No fingerprint
 * is recorded if the mark is not trusted, or keeps the fingerprint itself. */
void judge_keep(const Source *unmounted, OperationResult *result);

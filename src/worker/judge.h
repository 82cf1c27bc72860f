/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"
#include "wire/messages.h"

/* Whether the mark of a volume is believed: what there is to judge it by is gathered here, files_judge_mark() judges. What
 * comes of it is outcome.proof of the result, whose outcome and mark say what was seen of the root. */

/* Of what was staged, or shared; before is what source_read_fingerprint() said right before. */
void judge_staged(const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                  const Fingerprint *before, OperationResult *result);

/* Of what is mounted at root, open for reading. adopted: by others. */
void judge_mounted(int root, const PlanAnswer *answer, bool adopted, OperationResult *result);

/* For the record: what an operation that leaves the volume mounted has found, or made, right stays so. */
void judge_keep_mounted(OperationResult *result);

/* For the record, when nothing of the operation is mounted any more: likewise, as long as the fingerprint is the one of
 * now. Nothing is kept of a file system that somebody else has mounted, or that keeps it in the mark. */
void judge_keep(const Source *source, OperationResult *result);

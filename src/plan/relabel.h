/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume-record.h"

/* Whether the files of a volume have to be relabelled, and how. The words are part of the API. */
typedef enum RelabelReason {
        RELABEL_REASON_COMPLETE,      /* skip: complete, this context, not tainted, and the root agrees */
        RELABEL_REASON_FORCED,        /* the caller wants all files to be looked at */
        RELABEL_REASON_UNKNOWN,       /* nothing is known of the labels */
        RELABEL_REASON_PARTIAL,       /* a relabel was interrupted, or failed */
        RELABEL_REASON_TAINTED,       /* files may have been made that have no label on disk */
        RELABEL_REASON_OTHER_CONTEXT, /* all files have another context */
        RELABEL_REASON_ROOT_DIFFERS,  /* the record says complete, but the root's label is another one */
        RELABEL_REASONS,
} RelabelReason;
DECLARE_STRING_TABLE(relabel_reason, RelabelReason);

typedef struct RelabelDecision {
        RelabelReason reason;
        bool walk;
        bool blind; /* all files are known to have another label: nothing is gained by looking before writing */
} RelabelDecision;

/* Decides from what can be relied on (volume_record_reconcile()) and the root's present label ("" or NULL: none);
 * both contexts are canonical. The first reason that applies: forced, partial, unknown, tainted, other context, root
 * differs, complete. Unknown or lost state is never a reason to skip; a walk is blind only if the record is complete
 * for another context, not tainted, and the root has that other context; never when forced. Pure. */
RelabelDecision relabel_decide(const VolumeRecord *known, const char *root_context, const char *wanted, bool force);

/* The sentence that goes with a reason. */
const char *relabel_reason_text(RelabelReason reason);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/relabel.h"

static const char *const relabel_reason_table[RELABEL_REASONS] = {
        [RELABEL_REASON_COMPLETE] = "complete",         [RELABEL_REASON_FORCED] = "forced",
        [RELABEL_REASON_UNKNOWN] = "unknown",           [RELABEL_REASON_PARTIAL] = "partial",
        [RELABEL_REASON_TAINTED] = "tainted",           [RELABEL_REASON_OTHER_CONTEXT] = "other-context",
        [RELABEL_REASON_ROOT_DIFFERS] = "root-differs",
};
DEFINE_STRING_TABLE(relabel_reason, RelabelReason);

static const char *const reason_text[RELABEL_REASONS] = {
        [RELABEL_REASON_COMPLETE] =
                "All files have the context already: the record says so, and the root's label agrees.",
        [RELABEL_REASON_FORCED] = "All files are looked at, as asked for.",
        [RELABEL_REASON_UNKNOWN] = "Nothing is known of the labels: all files are looked at.",
        [RELABEL_REASON_PARTIAL] = "An earlier relabel did not come to its end: all files are looked at.",
        [RELABEL_REASON_TAINTED] = "Files may have no label on disk: all are looked at.",
        [RELABEL_REASON_OTHER_CONTEXT] = "The files have another context.",
        [RELABEL_REASON_ROOT_DIFFERS] = "The root has another label than the record says: all files are looked at.",
};

const char *relabel_reason_text(RelabelReason reason) {
        return reason_text[reason];
}

static RelabelReason find_reason(const VolumeRecord *known, const char *root_context, const char *wanted,
                                 bool force) {
        if (force)
                return RELABEL_REASON_FORCED;
        if (known->label_state == STATE_PARTIAL)
                return RELABEL_REASON_PARTIAL;
        if (known->label_state != STATE_COMPLETE || isempty(known->context) || isempty(wanted))
                return RELABEL_REASON_UNKNOWN;
        if (known->tainted)
                return RELABEL_REASON_TAINTED;
        if (!streq(known->context, wanted))
                return RELABEL_REASON_OTHER_CONTEXT;
        return streq(strempty(root_context), wanted) ? RELABEL_REASON_COMPLETE : RELABEL_REASON_ROOT_DIFFERS;
}

RelabelDecision relabel_decide(const VolumeRecord *known, const char *root_context, const char *wanted, bool force) {
        RelabelReason reason = find_reason(known, root_context, wanted, force);

        return (RelabelDecision){
                .reason = reason,
                .walk = reason != RELABEL_REASON_COMPLETE,
                .blind = reason == RELABEL_REASON_OTHER_CONTEXT && streq(strempty(root_context), known->context),
        };
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/volume-record.h"

static const char *const label_state_table[LABEL_STATES] = {
        [LABEL_UNKNOWN] = "unknown",
        [LABEL_PARTIAL] = "partial",
        [LABEL_COMPLETE] = "complete",
};
DEFINE_STRING_TABLE(label_state, LabelState);

void volume_record_done(VolumeRecord *r) {
        free(r->context);
        *r = (VolumeRecord){ 0 };
}

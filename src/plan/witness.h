/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

typedef struct WitnessInput {
        const Settings *settings;
        const Others *others;
        const char *driver, *volume_type; /* driver may be NULL */
        bool shared;                      /* the mount of a holder of the volume is worked through or shared */
        bool adopted;                     /* somebody else has made the mount, and may have made others */
} WitnessInput;

/* What selvold knows of who had, and has, the volume. Mounts of parts of it beneath the target roots are kubelet's, for
 * subPath, and nobody else's. Pure. */
Witness plan_witness(const WitnessInput *in) _pure_;

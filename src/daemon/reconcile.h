/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Brings the record in line with the kernel, which is the truth: every holder is confirmed, an interrupted mount or
 * unmount is finished or rolled back, a holder whose mount is gone is released. Targets that a job is at work on are
 * left to it. */
void reconcile(Manager *m, const MountFact *facts, size_t n_facts);
/* The same for one holder and what is mounted at its target (NULL: nothing). May free the holder. */
void reconcile_holder(Manager *m, Volume *v, Holder *h, const MountFact *fact);

/* After a reboot nobody holds anything; labels and taints stay. */
void reconcile_reboot(Manager *m);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/job.h"

/* The trace that a job leaves: an entry in the volume's history, in the commit that the answer waits for, and once
 * that is durable, or couldn't be, one journal record and the metrics. */
void record_history(Job *job);
void record_job(Job *job);

/* The same for what happens to a holder without a job: its mount went away, or a restart compared it with the kernel.
 */
void record_holder_lost(Manager *m, Volume *v, const Holder *h);
/* What a volume carries is not what is recorded. */
void record_verdict(Manager *m, const Volume *v, RecordVerdict verdict, const char *text);
/* Files differ in what the effect takes back, which the record says is right. */
void record_promise_broken(Manager *m, const Volume *v, RecordEffect effect, const char *why);
/* The volume itself could not be told. v may be NULL: it has been forgotten. */
void record_not_marked(Manager *m, const Volume *v, const char *why);
void record_forgotten(Manager *m, const Volume *v, const char *caller);
void record_reconciled(Manager *m, Volume *v, const Holder *h, const char *outcome);

/* "kubernetes.io/csi/DRIVER", or "kubernetes.io/TYPE", as kubelet names plugins in metrics. Owned by the caller. */
char *volume_plugin_name(const char *volume_type, const char *driver);

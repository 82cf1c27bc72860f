/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/context.h"
#include "core/worker-protocol.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/notify.h"
#include "daemon/worker-client.h"

/* AdoptVolume: observe the superblock → inspect the mount → plan → record → conclude. Nothing is changed on the
 * system, so there is no intent. */

static int check_root(Job *job) {
        const char *wanted = job->plan.context, *actual = job->outcome.root_context;

        if (job->plan.strategy != STRATEGY_CONTEXT_MOUNT || streq(wanted, actual))
                return 0;
        return failure_set(&job->failure, FAILURE_LABEL_MISMATCH,
                           "%s: the mount says %s, but its root is labelled %s.", job->request.volume, wanted,
                           isempty(actual) ? "not at all" : actual);
}

/* What is there decides, so a holder of before is recorded anew; but not if it holds the volume for another context.
 */
static int replace_holder(Job *job) {
        Volume *v = volumes_find(&job->manager->volumes, job->request.volume);
        Holder *old = v ? volume_find_holder(v, job->request.target) : NULL, *h;

        if (old && old->state == HOLDER_MOUNTED && old->mount_id != job->outcome.fact.mount_id) {
                manager_release_holder(job->manager, v, old);
                old = NULL;
        }
        if (old && old->strategy == STRATEGY_RELABEL && job->plan.strategy == STRATEGY_RELABEL &&
            contexts_conflict(v->context, job->plan.context))
                return failure_set(&job->failure, FAILURE_INCOMPATIBLE,
                                   "%s is held at the target already, for context %s: unmount it first.", v->id,
                                   isempty(v->context) ? "of the runtime's choice" : v->context);
        if (old)
                volume_remove_holder(v, old);

        h = job_record_holder(job, HOLDER_MOUNTED, true);
        if (h)
                job_record_outcome(job, h);
        return 0;
}

static void inspected(Job *job, sd_bus_message *reply) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        if (!reply) {
                job_conclude(job);
                return;
        }
        r = worker_read_node(reply, &node);
        if (r >= 0)
                r = worker_read_outcome(reply, &job->outcome);
        if (r >= 0)
                r = free_and_strdup(&job->request.source, job->outcome.fact.source);
        if (r >= 0)
                r = free_and_strdup(&job->observed.fs_type, job->outcome.fact.fs_type);
        if (r < 0) {
                job_fail(job, r);
                job_conclude(job);
                return;
        }

        if (!job_make_plan(job, job->outcome.fact.seclabel, &job->outcome.fact)) {
                if (job->plan.n_conflicts > 0)
                        notify_context_conflict(job->manager, job->request.volume, &job->plan);
        } else {
                r = check_root(job);
                if (r == 0)
                        r = replace_holder(job);
                if (r < 0)
                        job_fail(job, r);
        }
        job_conclude(job);
}

static void observed(Job *job, sd_bus_message *reply) {
        if (!job_take_observed(job, reply)) {
                job_conclude(job);
                return;
        }
        job_call_worker(job, inspected, WORKER_INSPECT, WORKER_INSPECT_IN, job->request.target);
}

void job_adopt_begin(Job *job) {
        Holder *h;
        int r;

        r = job_check_target(job, &h);
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                job_conclude(job);
                return;
        }

        job_call_worker(job, observed, WORKER_OBSERVE, WORKER_OBSERVE_IN, "", "", job->request.target);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "job/job-record.h"
#include "model/context.h"
#include "plan/plan-source.h"
#include "state/reconcile.h"
#include "wire/message-ids.h"
#include "wire/protocol.h"

/* AdoptVolume: another program has mounted the volume. */

static int check_adopt(Job *job) {
        int r;

        r = job_check_target(job);
        return r != 0 ? r : job_check_limits(job);
}

static int append_adopt_call(const Job *job, sd_bus_message *call) {
        AdoptCall c = { .origin = job_origin(job), .target = job->request.target };
        const Volume *own = job_volume(job);

        if (own) {
                c.file_system = own->identity;
                c.link = own->link;
        }

        return adopt_call_append(call, &c);
}

/* The existing mount decides: an earlier holder is recorded again, unless it holds the volume for another
 * context. */
static int check_holder(Job *job, const MountFact *fact) {
        Volume *v = job_volume(job);
        Holder *old = job_find_holder(job);

        if (old && old->state == HOLDER_MOUNTED && old->mount_id != fact->mount_id) {
                holder_lose(job->jobs->state, v, old, NULL);
                return 0;
        }
        if (!old || old->state != HOLDER_MOUNTED)
                return 0;
        if (holder_is_mapped(old))
                return failure_set(&job->failure, FAILURE_INCOMPATIBLE,
                                   "Volume %s is mounted at the target by selvol itself, with group %" PRIu32
                                   " shown in the place of %" PRIu32 ": there is nothing to adopt.",
                                   v->id, old->fs_group, old->disk_gid);
        if (old->strategy == STRATEGY_RELABEL && job->plan.strategy == STRATEGY_RELABEL &&
            contexts_conflict(strempty(old->context), job->plan.context))
                return failure_set(&job->failure, FAILURE_INCOMPATIBLE,
                                   "Volume %s is held at the target already, for context %s: unmount it first.",
                                   v->id, isempty(old->context) ? "of the runtime's choice" : old->context);
        return 0;
}

static int decide_adopt(Job *job, const PlanQuestion *q, PlanAnswer *ret) {
        const MountFact *fact = &q->outcome.fact;
        const Volume *v = job_volume(job);
        bool known;
        int r;

        if (!q->mounted)
                return -EBADMSG;
        /* For an image, the mount table names the loop device. */
        known = v && plan_is_held_source(v, &q->observed, fact->source);
        r = free_and_strdup(&job->request.source, known ? v->source : fact->source);
        if (r < 0)
                return r;
        r = free_and_strdup(&job->observed.fs_type, fact->fs_type);
        if (r < 0)
                return r;
        r = free_and_strdup(&job->observed.device, fact->device);
        if (r < 0)
                return r;
        r = job_make_plan(job, q);
        if (r != 0)
                return r;
        r = check_holder(job, fact);
        if (r != 0)
                return r;
        r = job_fill_answer(job, ret);
        if (r < 0)
                return r;
        /* Adopt mounts nothing, so it shares nothing. An existing holder stays until the outcome is known. */
        ret->share_id = 0;
        r = free_and_strdup(&ret->share_target, "");
        if (r < 0)
                return r;
        return job_find_holder(job) ? 0 : job_add_intent(job, true);
}

static int take_adopt_reply(Job *job, sd_bus_message *reply) {
        int r;

        r = job_take_result(job, reply);
        if (r != 0)
                return r;
        /* Records an existing holder again. */
        r = job_add_intent(job, true);
        if (r != 0)
                return r;
        return job_record_outcome(job);
}

const OperationType adopt_operation = {
        .name = "adopt",
        .verb = "adopt",
        .done_message = MESSAGE_ADOPTED,
        .storage_operation = "volume_adopt",
        .changes = true,
        .introduces = true,
        .check = check_adopt,
        .method = WORKER_ADOPT,
        .append = append_adopt_call,
        .plan = decide_adopt,
        .take = take_adopt_reply,
        .revert = job_drop_intent,
};

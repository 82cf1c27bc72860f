/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "job/job-record.h"
#include "plan/plan-change.h"
#include "state/commit.h"
#include "wire/protocol.h"

/* Relabel and ApplyOwnership. */

static int make_change_plan(Job *job, const Volume *v) {
        const State *s = job->jobs->state;
        const ChangeInput in = {
                .node = s->node_known ? &s->node : NULL,
                .settings = &s->settings,
                .volumes = &s->volumes,
                .volume = v,
                .context = job->request.context,
                .observed = job->observed.fs_type ? &job->observed : NULL,
        };
        int r;

        plan_done(&job->plan);
        if (job->operation == OPERATION_RELABEL)
                r = plan_relabel(&in, &job->plan, &job->failure);
        else
                r = plan_ownership(&in, job->request.fs_group, job->request.read_only, &job->plan, &job->failure);
        if (r != 0)
                return r;
        return job_keep_share(job);
}

/* Refuses an impossible change before a child is started. */
static int check_change(Job *job) {
        const Volume *v = job_volume(job);
        Request *q = &job->request;
        int r;

        if (!v)
                return failure_set(&job->failure, FAILURE_NO_SUCH_VOLUME, "Volume %s is not known.", q->volume);
        /* For the journal, for the metrics, and for staging a volume without holders. */
        q->access_mode = v->access_mode;
        r = free_and_strdup(&q->source, v->source);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->fs_type, v->mount_type);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->volume_type, v->volume_type);
        if (r < 0)
                return r;
        r = free_and_strdup(&q->driver, v->driver);
        if (r < 0)
                return r;
        observed_done(&job->observed);
        return make_change_plan(job, v);
}

static int append_change_call(const Job *job, sd_bus_message *call) {
        const Volume *v = job_volume(job);
        ChangeCall c = {
                .origin = job_origin(job),
                .target = job->share_target,
                .source = job->request.source,
                .fs_type = job->request.fs_type,
        };

        if (v) {
                c.file_system = v->identity;
                c.link = v->link;
        }

        return change_call_append(call, &c);
}

/* The same file system may also be mounted as another volume, or without selvol. */
static int decide_change(Job *job, const PlanQuestion *q, PlanAnswer *ret) {
        Volume *v = job_volume(job);
        int r;

        if (!v)
                return -EBADMSG;
        r = make_change_plan(job, v);
        if (r != 0)
                return r;
        if (job->observed.device_read_only)
                return failure_set(&job->failure, FAILURE_NOT_SUPPORTED,
                                   "Volume %s can't be changed: its file system is read-only.", v->id);
        r = job_fill_answer(job, ret);
        if (r < 0)
                return r;
        ret->seclabel = -1;
        return 0;
}

static int take_change_reply(Job *job, sd_bus_message *reply) {
        Volume *v = job_volume(job);
        int r;

        r = job_take_result(job, reply);
        if (r != 0)
                return r;
        if (!v)
                return 0;
        v->fingerprint = job->result.fingerprint;
        if (!job->result.walked) {
                commit_volume(job->jobs->state, v);
                return 0;
        }
        v->inodes_used = job->result.walk.counts.done;
        if (job->result.files.relabel == RELABEL_WALK && v->mark.label_state == FILES_COMPLETE)
                v->last_verified_usec = now_realtime_usec();
        commit_volume(job->jobs->state, v);
        return 0;
}

const OperationType relabel_operation = {
        .name = "relabel",
        .verb = "relabel",
        .storage_operation = "volume_relabel",
        .changes = true,
        .answered_early = true,
        .check = check_change,
        .method = WORKER_CHANGE,
        .append = append_change_call,
        .plan = decide_change,
        .take = take_change_reply,
};

const OperationType ownership_operation = {
        .name = "ownership",
        .verb = "change the group of",
        .changes = true,
        .answered_early = true,
        .check = check_change,
        .method = WORKER_CHANGE,
        .append = append_change_call,
        .plan = decide_change,
        .take = take_change_reply,
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "job/holder.h"
#include "job/operation.h"
#include "job/plan-answer.h"
#include "job/progress.h"
#include "plan/files.h"
#include "plan/plan-group.h"
#include "plan/witness.h"

int job_keep_share(Job *job) {
        const Holder *share = job->plan.share;

        job->share_id = share ? share->mount_id : 0;
        return free_and_strdup(&job->share_target, share ? share->target : NULL);
}

int job_make_plan(Job *job, const PlanQuestion *q) {
        const State *s = job->jobs->state;
        const PlanInput in = {
                .node = &s->node,
                .settings = &s->settings,
                .request = &job->request,
                .volumes = &s->volumes,
                .observed = &job->observed,
                .seclabel = q->seclabel,
                .mounted = q->mounted ? &q->outcome.fact : NULL,
                .claimed = operation_type(job->operation)->changes,
        };
        int r;

        plan_done(&job->plan);
        r = plan_make(&in, &job->plan, &job->failure);
        if (r != 0)
                return r;
        return job_keep_share(job);
}

/* What a mount that is shared shows in the place of the group; what is adopted is nobody's clone. */
static gid_t swapped_gid(const Job *job) {
        const Holder *share = job->plan.share;

        return share && holder_is_mapped(share) && job->operation != OPERATION_ADOPT ? share->disk_gid : GID_NONE;
}

FilesWanted job_files_wanted(const Job *job) {
        const Settings *settings = &job->jobs->state->settings;
        const Request *q = &job->request;
        const Plan *p = &job->plan;
        bool given = q->fs_group_change_policy >= 0;

        return (FilesWanted){
                .context = p->relabel_here ? p->context : NULL,
                .gid = p->fs_group,
                .readers = p->readers,
                .ownership = p->ownership,
                .ownership_reason = p->ownership_reason,
                .force = q->walk.force,
                .gate = settings->gate_skip_fs_group,
                .policy = given                                   ? (FSGroupChangePolicy) q->fs_group_change_policy
                          : job->operation == OPERATION_OWNERSHIP ? FS_GROUP_CHANGE_ON_ROOT_MISMATCH
                                                                  : settings->default_fs_group_change_policy,
                .policy_given = given,
                .user_namespace = q->user_namespace,
                .on_disk = job->operation == OPERATION_OWNERSHIP,
                .mounted = job->operation == OPERATION_ADOPT,
                .swapped_gid = swapped_gid(job),
        };
}

static Witness find_witness(const Job *job) {
        const State *s = job->jobs->state;
        const Others others = {
                .volumes = &s->volumes,
                .own = job_volume(job),
                .observed = &job->observed,
                .target = strempty(job->request.target),
        };
        const WitnessInput in = {
                .settings = &s->settings,
                .others = &others,
                .driver = job->request.driver,
                .volume_type = job->request.volume_type,
                .shared = job->share_target && job->operation != OPERATION_ADOPT,
                .adopted = job->operation == OPERATION_ADOPT,
        };

        return plan_witness(&in);
}

static int fill_files(const Job *job, PlanAnswer *a) {
        const char *context;

        a->files = job_files_wanted(job);
        context = a->files.context;
        a->files.context = NULL;
        if (!context)
                return 0;
        a->files.context = strdup(context);
        return a->files.context ? 0 : -ENOMEM;
}

int job_fill_answer(const Job *job, PlanAnswer *ret) {
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
        const State *s = job->jobs->state;
        const Plan *p = &job->plan;
        bool with_context = p->strategy == STRATEGY_CONTEXT_MOUNT;
        int r;

        a.read_only = p->read_only;
        a.share_id = job->share_id;
        a.witness = find_witness(job);
        /* Whoever else can write may do anything to files, whatever becomes of them here. */
        a.change = a.witness.beside ? mark_change_max(p->change, MARK_RESET_ALL) : p->change;
        a.entries_per_sec = job->request.walk.entries_per_sec;
        /* Only where labels are relabeled, or not, does it matter whether the file system keeps any. */
        a.seclabel = p->strategy == STRATEGY_RELABEL                                   ? 1
                     : p->strategy == STRATEGY_NONE && p->reason == REASON_NO_SECLABEL ? 0
                                                                                       : -1;
        a.context = strdup(with_context ? p->context : "");
        a.share_target = strdup(strempty(job->share_target));
        if (!a.context || !a.share_target)
                return -ENOMEM;
        r = strv_copy(p->mount_options, &a.mount_options);
        if (r < 0)
                return r;
        r = fill_files(job, &a);
        if (r < 0)
                return r;
        if (p->ownership == OWNERSHIP_WALK || p->ownership == OWNERSHIP_MAP) {
                r = plan_find_reliances(&s->volumes, job->request.volume, job->request.target, &job->observed,
                                        &a.reliances, &a.n_reliances);
                if (r < 0)
                        return r;
        }
        *ret = a;
        a = PLAN_ANSWER_INIT;
        return 0;
}

int job_check_reliances(Job *job, const FilesDecision *files, const char *root, const Reliance *list, size_t n) {
        const Request *q = &job->request;
        int r;

        r = files_check_reliances(files, q->volume, root, list, n, &job->failure);
        if (r != FAILURE_GROUP_CONFLICT)
                return r;
        return plan_find_group_conflicts(&job->jobs->state->volumes, q->volume, q->target, &job->observed,
                                         files->disk_gid, &job->plan) < 0
                       ? -ENOMEM
                       : r;
}

static int entries_failed(Job *job) {
        const WalkResult *w = &job->result.walk;
        _cleanup_free_ char *failures = walk_describe_failures(w);

        if (!failures)
                return -ENOMEM;
        return failure_set(
                &job->failure, FAILURE_ENTRIES_FAILED,
                "%llu of %llu entries could not be changed: %s. Remove the cause and try again: only what is missing is done.",
                (unsigned long long) w->counts.failed, (unsigned long long) w->counts.done, failures);
}

/* Entries that were left alone, or missed as they moved, may have any label and group. */
static bool mark_is_possible(const OperationResult *o) {
        const Mark *m = &o->mark;

        if (!o->walked || walk_is_complete(&o->walk.counts))
                return true;
        return !(o->files.relabel == RELABEL_WALK && m->label_state == FILES_COMPLETE) &&
               !(o->files.ownership == OWNERSHIP_WALK && m->ownership_state == FILES_COMPLETE);
}

static bool result_is_possible(const Job *job) {
        const OperationResult *o = &job->result;
        const MountIdentity *told = &job->identity;
        const MountFact *fact = &o->outcome.fact;

        if (o->files.gid != GID_NONE && o->files.gid != job->plan.fs_group)
                return false;
        if (told->id != 0 && o->walk.counts.failed == 0 &&
            (told->id != fact->mount_id || !streq(strempty(told->device), fact->device)))
                return false;
        return mark_is_possible(o);
}

static int take_mark(Job *job) {
        Mark mark;
        int r;

        r = mark_copy(&job->result.mark, &mark);
        if (r < 0)
                return r;
        job_record_mark(job, &mark);
        return 0;
}

int job_take_result(Job *job, sd_bus_message *reply) {
        int r;

        operation_result_done(&job->result);
        r = operation_result_read(reply, &job->result);
        if (r < 0)
                return r;
        if (job->result.repeated)
                return 0;
        if (job->result.walked) {
                r = progress_end(&job->progress, &job->result.walk.counts);
                if (r < 0)
                        return r;
        }
        if (!result_is_possible(job))
                return -EBADMSG;
        r = take_mark(job);
        if (r < 0)
                return r;
        return job->result.walk.counts.failed > 0 ? entries_failed(job) : 0;
}

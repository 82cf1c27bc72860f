/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "job/job-record.h"
#include "plan/plan-files.h"
#include "plan/plan.h"
#include "plan/plan-group.h"
#include "state/commit.h"
#include "state/reconcile.h"
#include "wire/message-ids.h"
#include "wire/protocol.h"

/* MountVolume, and PlanVolume: a mount that ends when the child has checked the plan, too. */

/* expected: the mount that decide_mount() would drop from the record; the child looks for it first. */
static int append_mount_call(const Job *job, sd_bus_message *call) {
        Volume *v;
        const Holder *h = job_find_at_target(job, &v);
        bool expected = h && (h->state != HOLDER_MOUNTING || v != job_volume(job));
        const Volume *own = job_volume(job);
        MountCall c = {
                .origin = job_origin(job),
                .source = job->request.source,
                .fs_type = job->request.fs_type,
                .target = job->request.target,
                .expected = { .id = expected ? h->mount_id : 0, .device = expected ? h->device : NULL },
                .replace = job->request.replace,
                .only_plan = job->operation == OPERATION_PLAN,
        };

        if (own) {
                c.file_system = own->identity;
                c.link = own->link;
        }
        return mount_call_append(call, &c);
}

/* If *ret gets PLAN_LOOK, there is no plan yet. */
static int make_mount_plan(Job *job, const PlanQuestion *q, PlanAnswer *ret) {
        int r;

        r = job_make_plan(job, q);
        if (r < 0 || !job->observed.mounts_unknown)
                return r;
        if (r == 0 && !plan_needs_mounts(&job->plan, &job->jobs->state->volumes, job->request.volume))
                return 0;
        failure_done(&job->failure);
        plan_done(&job->plan);
        ret->step = PLAN_LOOK;
        return 0;
}

static int decide_mount(Job *job, const PlanQuestion *q, PlanAnswer *ret) {
        Volume *v;
        Holder *h = job_find_at_target(job, &v);
        int r;

        /* The child found no mount at the target: a holder there is outdated, unless it is this job's own
         * intent. */
        if (h && (h->state != HOLDER_MOUNTING || v != job_volume(job)))
                reconcile_holder(job->jobs->state, v, h, NULL);
        r = make_mount_plan(job, q, ret);
        if (r != 0 || ret->step == PLAN_LOOK)
                return r;
        r = job_fill_answer(job, ret);
        if (r < 0)
                return r;
        return job_add_intent(job, false);
}

/* Predicts the decision from the record's copy of the mark. Assumes that the root agrees with the mark, and
 * that no other program used the volume unseen: selvol finds both only when the volume is mounted. */
static void predict_files(Job *job) {
        const FilesWanted wanted = job_files_wanted(job);
        const MarkHistory history = job_mark_history(job);
        const Mark unknown = { .found = MARK_ABSENT };
        const Volume *v = job->plan.renewed ? NULL : job_volume(job);
        const FilesSeen seen = {
                .mark = v ? &v->mark : &unknown,
                .trust = !history.elsewhere ? MARK_TRUSTED
                         : history.trusted  ? MARK_TRUSTED_BY_SETTING
                                            : MARK_STALE,
                .root_context = v ? v->mark.context : NULL,
                .root_gid = v ? v->mark.gid : 0,
                .root_mode = S_IFDIR | S_ISGID | 0777,
        };

        job->result.files = files_decide(&wanted, &seen);
        if (job->plan.strategy != STRATEGY_RELABEL && job->result.files.ownership != OWNERSHIP_WALK)
                job->plan.entries = job->plan.usec = 0;
}

static int plan_only(Job *job, const PlanQuestion *q, PlanAnswer *ret) {
        Reliance *list = NULL;
        size_t n = 0;
        int r;

        r = make_mount_plan(job, q, ret);
        if (r != 0 || ret->step == PLAN_LOOK)
                return r;
        predict_files(job);
        /* The predicted walk might take the files' group from another holder. */
        r = job_check_reliances(job, &job->result.files, NULL, &list, &n);
        reliances_free(list, n);
        return r == 0 ? job_fill_answer(job, ret) : r;
}

/* The child found the recorded mount at the target. That is the result only for an equal request. A plan has
 * no claims, so the record may have changed meanwhile. */
static int check_repeated(Job *job) {
        const bool claimed = operation_type(job->operation)->changes;
        Holder *h = job_find_holder(job);
        _cleanup_free_ char *spec = NULL;
        int r;

        r = job_check_target(job);
        if (r != 0)
                return r;
        if (!h || h->state == HOLDER_MOUNTING || (h->state == HOLDER_UNMOUNTING && !claimed) ||
            h->mount_id != job->result.outcome.fact.mount_id)
                return claimed ? -EBADMSG
                               : failure_set(&job->failure, FAILURE_BUSY,
                                             "Volume %s is being mounted or unmounted at the target: try again.",
                                             job->request.volume);
        if (claimed && h->release_on_umount != job->request.release_on_umount) {
                h->release_on_umount = job->request.release_on_umount;
                commit_holder(job->jobs->state, job_volume(job), h);
        }
        /* An unmount has failed, and the watch has not looked since. */
        if (h->state == HOLDER_UNMOUNTING) {
                h->state = HOLDER_MOUNTED;
                event_emit(job->jobs->state, volume_changed, job_volume(job));
        }
        spec = request_spec(&job->request);
        if (!spec)
                return -ENOMEM;
        if (!streq(h->spec, spec))
                return failure_set(
                        &job->failure, FAILURE_INCOMPATIBLE,
                        "Volume %s is mounted at the target already, for %s%s%s, but other options were asked for: unmount it first, or repeat the same request.",
                        job->request.volume, h->name, isempty(h->context) ? "" : " with context ",
                        strempty(h->context));
        return 0;
}

/* Makes the earlier result again, from the record. */
static int plan_from_record(Job *job) {
        const Holder *h = job_find_holder(job);
        const Volume *v = job_volume(job);
        Plan *p = &job->plan;
        int r;

        r = check_repeated(job);
        if (r != 0)
                return r;
        plan_done(p);
        *p = (Plan){
                .strategy = h->strategy,
                .reason = h->reason,
                .runtime_flag = runtime_flag(h->strategy, h->relabeled_here),
                .read_only = h->read_only,
                .relabel_here = h->relabeled_here,
                .fs_group = h->fs_group,
                .context = strdup(h->strategy == STRATEGY_NONE ? "" : strempty(h->context)),
        };
        p->text = plan_describe(p, job->request.relabel_by);
        if (!p->context || !p->text)
                return -ENOMEM;
        job->result.files.gid = h->fs_group;
        job->result.files.disk_gid = h->disk_gid;
        return plan_mount_options(&job->jobs->state->settings, v->mount_type, h->strategy, job->request.mount_options,
                                  &p->mount_options, &job->failure);
}

static int take_mount_reply(Job *job, sd_bus_message *reply) {
        int r;

        r = job_take_result(job, reply);
        if (r != 0)
                return r;
        return job->result.repeated ? plan_from_record(job) : job_record_outcome(job);
}

static int take_plan_reply(Job *job, sd_bus_message *reply) {
        OperationResult result;
        int r;

        r = operation_result_read(reply, &result);
        if (r < 0)
                return r;
        if (!result.repeated) {
                operation_result_done(&result);
                return job->plan.text ? 0 : -EBADMSG;
        }
        operation_result_done(&job->result);
        job->result = result;
        return plan_from_record(job);
}

const OperationType mount_operation = {
        .name = "mount",
        .verb = "mount",
        .done_message = MESSAGE_MOUNTED,
        .storage_operation = "volume_mount",
        .changes = true,
        .introduces = true,
        .check = job_check_limits,
        .method = WORKER_MOUNT,
        .append = append_mount_call,
        .plan = decide_mount,
        .ready = job_record_ready,
        .take = take_mount_reply,
        .revert = job_drop_intent,
};

const OperationType plan_operation = {
        .name = "plan",
        .verb = "plan a mount of",
        .introduces = true,
        .check = job_check_limits,
        .method = WORKER_MOUNT,
        .append = append_mount_call,
        .plan = plan_only,
        .take = take_plan_reply,
};

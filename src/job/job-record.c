/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/time-util.h"
#include "job/job-log.h"
#include "job/job-record.h"
#include "job/forget.h"
#include "job/introduce.h"
#include "model/limits.h"
#include "plan/plan-files.h"
#include "plan/plan-group.h"
#include "state/commit.h"
#include "state/reconcile.h"
#include "state/watch.h"

/* The holder. */

Holder *job_find_holder(const Job *job) {
        const Volume *v = job_volume(job);

        return v ? volume_find_holder(v, job->request.target) : NULL;
}

Holder *job_find_at_target(const Job *job, Volume **ret) {
        return volumes_find_target(&job->jobs->state->volumes, job->request.target, ret);
}

int job_check_limits(Job *job) {
        const Holder *h = job_find_holder(job);
        const Volume *v = job_volume(job);
        /* The request adds about this to the records; the plan and the mount add a little more. A holder has
         * the request twice, the second time as its spec. */
        const size_t bytes = 2 * request_count_bytes(&job->request), before = h ? holder_count_bytes(h) : 0;
        const Growth growth = { .volumes = !v, .holders = !h, .bytes = bytes > before ? bytes - before : 0 };
        int r;

        if (v && !h && volume_count_holders(v) >= HOLDERS_MAX)
                return failure_set(&job->failure, FAILURE_LIMIT_REACHED,
                                   "Volume %s has %i holders, and can't have more: unmount one.", v->id, HOLDERS_MAX);
        /* The record may have gone since the call. */
        if (!v && !job->caller.trusted) {
                r = introduce_check(INTRODUCE_PASSWD, job->caller.uid, job->request.volume, &job->failure);
                if (r != 0)
                        return r;
        }
        return forget_check_room(job->jobs, &job->caller, &growth, &job->failure);
}

int job_check_target(Job *job) {
        Volume *other = NULL;
        const Holder *h = job_find_at_target(job, &other);

        if (!h || other == job_volume(job))
                return 0;
        return failure_set(&job->failure, FAILURE_INVALID_TARGET,
                           "The target is in use by volume %s, held by %s: unmount it first, or use another target.",
                           other->id, h->name);
}

/* Records the source, the type and the options that a later mount of the same files needs, also those that it
 * has kept of the mount that it replaces. Those of a shared mount don't change. */
static int fill_volume(const Job *job, Volume *v) {
        const char *type = job->observed.fs_type ? job->observed.fs_type : job->request.fs_type;
        const Request *q = &job->request;
        const Plan *p = &job->plan;
        int r;

        r = free_and_strdup(&v->source, strempty(q->source));
        if (r < 0)
                return r;
        /* The mount table's word is known with the outcome. */
        r = free_and_strdup(&v->fs_type, job->result.outcome.fact.fs_type ?: strempty(type));
        if (r < 0)
                return r;
        r = free_and_strdup(&v->driver, q->driver);
        if (r < 0)
                return r;
        r = free_and_strdup(&v->volume_type, q->volume_type);
        if (r < 0)
                return r;
        v->access_mode = q->access_mode;
        v->ephemeral = q->ephemeral;
        if (!v->holders || !v->holders->next || p->strategy >= v->strategy) {
                r = free_and_strdup(&v->context, strempty(p->context));
                if (r < 0)
                        return r;
                v->strategy = p->strategy;
        }
        if (job->operation == OPERATION_MOUNT && (job->share_target || (v->holders && v->holders->next)))
                return 0;
        strv_free(v->mount_options);
        v->mount_options = NULL;
        v->mounted_here = job->operation == OPERATION_MOUNT;
        r = free_and_strdup(&v->mount_type, strempty(type));
        if (r < 0)
                return r;
        r = strv_copy(q->mount_options, &v->mount_options);
        return r < 0 ? r : mount_options_keep(&v->mount_options, p->kept_options);
}

/* *v: the volume that has a record, or NULL; then it gets a record. */
static int add_holder_of(Job *job, Volume **v, Holder *h) {
        Growth growth = { .holders = 1, .bytes = holder_count_bytes(h) };
        _cleanup_(volume_freep) Volume *new = NULL;
        State *s = job->jobs->state;
        int r;

        if (!*v) {
                new = volume_new(job->request.volume);
                if (!new)
                        return -ENOMEM;
                new->introducer = job->caller.uid;
                r = fill_volume(job, new);
                if (r < 0)
                        return r;
                growth.volumes = 1;
                growth.bytes += volume_count_bytes(new);
        }
        r = forget_make_room(job->jobs, &job->caller, &growth, job->request.volume, &job->failure);
        if (r != 0)
                return r;
        if (new) {
                r = volumes_add(&s->volumes, new);
                if (r < 0)
                        return r;
                *v = TAKE_PTR(new);
                job->volume_is_new = true;
                event_emit(s, volume_added, *v);
        }
        r = volume_add_holder(*v, h);
        if (r < 0 && !(*v)->holders && job->volume_is_new) {
                job->volume_is_new = false;
                commit_removal(s, *v);
        }
        return r;
}

/* The mount stays, whatever the result of a second adopt is. */
static int replace_holder(Volume *v, Holder *old, Holder *h, bool adopted) {
        int r;

        h->owner = old->owner;
        if (adopted && old->state == HOLDER_MOUNTED) {
                h->state = HOLDER_MOUNTED;
                h->mount_id = old->mount_id;
        }
        r = volume_add_holder(v, h);
        if (r >= 0)
                volume_remove_holder(v, old);
        return r;
}

int job_add_intent(Job *job, bool adopted) {
        _cleanup_(holder_freep) Holder *h = calloc(1, sizeof(*h));
        Holder *old = job_find_holder(job);
        Volume *v = job_volume(job);
        const Plan *p = &job->plan;
        int r;

        if (!h)
                return -ENOMEM;
        *h = (Holder){
                .name = strdup(job->request.holder),
                .target = strdup(job->request.target),
                .spec = request_spec(&job->request),
                .state = HOLDER_MOUNTING,
                .strategy = p->strategy,
                .reason = p->reason,
                .read_only = p->read_only,
                .relabeled_here = p->relabel_here,
                .fs_group = p->fs_group,
                .disk_gid = p->fs_group,
                .adopted = adopted,
                .release_on_umount = job->request.release_on_umount,
                .since_usec = now_realtime_usec(),
                .owner = job->caller.uid,
                .context = strdup(strempty(p->context)),
                .device = strdup(strempty(job->observed.device)),
                .superblock = strdup(strempty(job->observed.superblock)),
        };
        if (!h->name || !h->target || !h->spec || !h->context || !h->device || !h->superblock)
                return -ENOMEM;
        r = old ? replace_holder(v, old, h, adopted) : add_holder_of(job, &v, h);
        if (r != 0)
                return r;
        TAKE_PTR(h);
        job->intent_recorded = true;
        event_emit(job->jobs->state, volume_changed, v);
        return 0;
}

static int fill_holder(const Job *job, Holder *h, const char *device, uint64_t mount_id, gid_t gid, gid_t disk_gid) {
        const Plan *p = &job->plan;
        int r;

        h->strategy = p->strategy;
        h->reason = p->reason;
        h->read_only = p->read_only;
        h->relabeled_here = p->relabel_here;
        h->fs_group = gid;
        h->disk_gid = disk_gid;
        h->mount_id = mount_id;
        r = free_and_strdup(&h->context, strempty(p->context));
        return r < 0 ? r : free_and_strdup(&h->device, device);
}

/* Records which file system the volume is. The plan has not seen the subvolume of a btrfs. */
static int record_file_system(Job *job, Volume *v, const Identity *identity) {
        bool held = job->operation == OPERATION_ADOPT || v->holders->next;

        if (identity_differs(&v->identity, identity) && !held)
                job->plan.renewed = true;
        if (identity_differs(&v->identity, identity) && job->plan.renewed) {
                job_log_renewed(job, v, identity);
                v->mounted_this_boot = false;
                v->mounted_elsewhere = false;
                v->last_verified_usec = 0;
        }
        /* The own link of a mounted btrfs is not known. */
        if (identity_equal(&v->identity, identity) && isempty(job->observed.link))
                return 0;
        v->identity = *identity;
        return free_and_strdup(&v->link, strempty(job->observed.link));
}

int job_record_ready(Job *job, const ReadyQuestion *question) {
        Volume *v = job_volume(job);
        Holder *h = job_find_holder(job);
        int r;

        if (!h || question->identity.id == 0 || isempty(question->identity.device) ||
            (question->gid == GID_NONE) != (question->disk_gid == GID_NONE) ||
            (question->gid != GID_NONE && question->gid != job->plan.fs_group))
                return -EBADMSG;
        r = fill_holder(job, h, question->identity.device, question->identity.id, question->gid, question->disk_gid);
        if (r < 0)
                return r;
        r = record_file_system(job, v, &question->file_system);
        if (r < 0)
                return r;
        v->fingerprint = question->fingerprint;
        commit_holder(job->jobs->state, v, h);
        return 0;
}

int job_record_outcome(Job *job) {
        const OperationResult *result = &job->result;
        State *s = job->jobs->state;
        Volume *v = job_volume(job);
        Holder *h = job_find_holder(job);
        int r;

        if (!h)
                return -EBADMSG;
        r = fill_holder(job, h, result->outcome.fact.device, result->outcome.fact.mount_id, result->files.gid,
                        result->files.disk_gid);
        if (r < 0)
                return r;
        r = fill_volume(job, v);
        if (r < 0)
                return r;
        r = record_file_system(job, v, &result->outcome.identity);
        if (r < 0)
                return r;
        /* The holder stays an intent until nothing can fail any more. */
        h->state = HOLDER_MOUNTED;
        v->mounted_this_boot = v->mounted_this_boot || job->operation == OPERATION_MOUNT;
        v->inodes_used = result->walked ? result->walk.counts.done : result->outcome.inodes_used;
        v->fingerprint = result->fingerprint;
        if (h->strategy == STRATEGY_CONTEXT_MOUNT || h->relabeled_here)
                v->last_verified_usec = now_realtime_usec();
        commit_holder(s, v, h);
        watch_expect(s, &result->outcome.fact);
        return 0;
}

void job_record_mark(Job *job, Mark *mark) {
        Volume *v = job_volume(job);
        bool tainted, news;

        if (!v) {
                mark_done(mark);
                return;
        }
        tainted = v->mark.tainted;
        mark_done(&v->mark);
        v->mark = TAKE_STRUCT(*mark);
        v->mark.tainted = v->mark.tainted || (tainted && v->mounted_elsewhere);
        /* Logs only changes that this job made: a mark that was tainted elsewhere, or is gone, tells nothing
         * about this job. */
        if (v->mark.tainted)
                news = job->plan.text && job->plan.strategy == STRATEGY_CONTEXT_MOUNT && !job->plan.read_only;
        else
                news = v->mark.label_state == FILES_COMPLETE &&
                       job_operation_result(job)->files.relabel == RELABEL_WALK && job->progress.started_usec > 0;
        if (v->mark.tainted != tainted && news)
                job_log_taint(v, v->mark.tainted ? job->plan.context : v->mark.context);
        v->last_used_usec = now_realtime_usec();
        commit_volume(job->jobs->state, v);
}

void job_begin_walk(Job *job) {
        Volume *v = job_volume(job);
        const Holder *h;

        if (!v)
                return;
        v->mounted_elsewhere = false;
        LL_FOREACH (v->holders, h)
                v->mounted_elsewhere = v->mounted_elsewhere || h->beside;
}

void job_drop_intent(Job *job) {
        State *s = job->jobs->state;
        Volume *v = job_volume(job);
        Holder *h = job_find_holder(job);

        if (!job->intent_recorded || !h || h->state != HOLDER_MOUNTING)
                return;
        job->intent_recorded = false;
        holder_drop_intent(s, v, h);
        /* After a walk the record must keep that some files have changed. */
        if (!job->volume_is_new || v->holders || job->progress.started_usec > 0)
                return;
        job->volume_is_new = false;
        commit_removal(s, v);
}

/* Plan and result. */

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

FilesWanted job_files_wanted(const Job *job) {
        const Settings *settings = &job->jobs->state->settings;
        const Request *q = &job->request;
        const Plan *p = &job->plan;
        bool given = q->fs_group_change_policy >= 0;
        /* A shared mount that is idmapped shows its own group in place of the group on disk; an adopted mount
         * is not a clone. */
        bool swapped = p->share && holder_is_mapped(p->share) && job->operation != OPERATION_ADOPT;

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
                .swapped_gid = swapped ? p->share->disk_gid : GID_NONE,
        };
}

MarkHistory job_mark_history(const Job *job) {
        const State *s = job->jobs->state;
        const Others others = {
                .volumes = &s->volumes,
                .own = job_volume(job),
                .observed = &job->observed,
                .target = strempty(job->request.target),
        };
        const MarkHistoryInput in = {
                .settings = &s->settings,
                .others = &others,
                .driver = job->request.driver,
                .volume_type = job->request.volume_type,
                .shared = job->share_target && job->operation != OPERATION_ADOPT,
                .adopted = job->operation == OPERATION_ADOPT,
        };

        return plan_mark_history(&in);
}

int job_fill_answer(const Job *job, PlanAnswer *ret) {
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
        const FilesWanted files = job_files_wanted(job);
        const State *s = job->jobs->state;
        const Plan *p = &job->plan;
        bool with_context = p->strategy == STRATEGY_CONTEXT_MOUNT;
        int r;

        a.read_only = p->read_only;
        a.share_id = job->share_id;
        a.history = job_mark_history(job);
        /* Other programs that can write may change files, whatever this job does to them. */
        a.change = a.history.beside ? mark_change_max(p->change, MARK_RESET_ALL) : p->change;
        a.entries_per_sec = job->request.walk.entries_per_sec;
        /* Whether the file system keeps labels matters only for a relabel, and where the plan says that it
         * keeps none. */
        a.seclabel = p->strategy == STRATEGY_RELABEL                                   ? 1
                     : p->strategy == STRATEGY_NONE && p->reason == REASON_NO_SECLABEL ? 0
                                                                                       : -1;
        a.context = strdup(with_context ? p->context : "");
        a.share_target = strdup(strempty(job->share_target));
        a.files = files;
        a.files.context = files.context ? strdup(files.context) : NULL;
        if (!a.context || !a.share_target || (files.context && !a.files.context))
                return -ENOMEM;
        r = strv_copy(p->mount_options, &a.mount_options);
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

int job_check_reliances(Job *job, const FilesDecision *files, const char *root, Reliance **ret, size_t *ret_n) {
        const Volumes *volumes = &job->jobs->state->volumes;
        const Request *q = &job->request;
        int r;

        r = plan_find_reliances(volumes, q->volume, q->target, &job->observed, ret, ret_n);
        if (r < 0)
                return r;
        r = files_check_reliances(files, q->volume, root, *ret, *ret_n, &job->failure);
        if (r == FAILURE_GROUP_CONFLICT &&
            plan_find_group_conflicts(volumes, q->volume, q->target, &job->observed, files->disk_gid, &job->plan) < 0)
                return -ENOMEM;
        return r;
}

static bool outcome_is_possible(const Job *job) {
        const OperationResult *o = &job->result;
        const MountIdentity *told = &job->identity;
        const MountFact *fact = &o->outcome.fact;

        if (o->files.gid != GID_NONE && o->files.gid != job->plan.fs_group)
                return false;
        if (told->id != 0 && o->walk.counts.failed == 0 &&
            (told->id != fact->mount_id || !streq(strempty(told->device), fact->device)))
                return false;
        if (!o->walked || walk_is_complete(&o->walk.counts))
                return true;
        /* Skipped entries, and entries missed because they moved, may have any label and group. */
        return !(o->files.relabel == RELABEL_WALK && o->mark.label_state == FILES_COMPLETE) &&
               !(o->files.ownership == OWNERSHIP_WALK && o->mark.ownership_state == FILES_COMPLETE);
}

int job_take_result(Job *job, sd_bus_message *reply) {
        const WalkCounts *counts = &job->result.walk.counts;
        _cleanup_free_ char *failures = NULL;
        OperationResult result;
        Mark mark;
        int r;

        r = operation_result_read(reply, &result);
        if (r < 0)
                return r;
        operation_result_done(&job->result);
        job->result = result;
        if (job->result.repeated)
                return 0;
        if (job->result.walked) {
                r = progress_end(&job->progress, counts);
                if (r < 0)
                        return r;
        }
        if (!outcome_is_possible(job))
                return -EBADMSG;
        r = mark_copy(&job->result.mark, &mark);
        if (r < 0)
                return r;
        job_record_mark(job, &mark);
        if (counts->failed == 0)
                return 0;
        failures = walk_describe_failures(&job->result.walk);
        if (!failures)
                return -ENOMEM;
        return failure_set(
                &job->failure, FAILURE_ENTRIES_FAILED,
                "%llu of %llu entries could not be changed: %s. Remove the cause and try again: only what is missing is done.",
                (unsigned long long) counts->failed, (unsigned long long) counts->done, failures);
}

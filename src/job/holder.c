/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "model/limits.h"
#include "job/holder.h"
#include "job/job-log.h"
#include "state/commit.h"
#include "state/holders.h"
#include "state/watch.h"

Holder *job_find_holder(const Job *job) {
        const Volume *v = job_volume(job);

        return v ? volume_find_holder(v, job->request.target) : NULL;
}

Holder *job_find_at_target(const Job *job, Volume **ret) {
        return volumes_find_target(&job->jobs->state->volumes, job->request.target, ret);
}

int job_check_limits(Job *job) {
        const Volumes *all = &job->jobs->state->volumes;
        const Volume *v = job_volume(job);

        if (v && !job_find_holder(job) && volume_count_holders(v) >= HOLDERS_MAX)
                return failure_set(&job->failure, FAILURE_LIMIT_REACHED,
                                   "Volume %s has %i holders, and can't have more: unmount one.", v->id, HOLDERS_MAX);
        if (!v && volumes_count(all) >= VOLUMES_MAX)
                return failure_set(
                        &job->failure, FAILURE_LIMIT_REACHED,
                        "There are %i volumes, and can't be more: forget unused ones with 'selvolctl forget'.",
                        VOLUMES_MAX);
        return 0;
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

static Holder *holder_new(const Job *job, bool adopted) {
        _cleanup_(holder_freep) Holder *h = calloc(1, sizeof(*h));
        const Plan *p = &job->plan;

        if (!h)
                return NULL;
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
                .since_usec = now_realtime_usec(),
                .context = strdup(strempty(p->context)),
                .device = strdup(strempty(job->observed.device)),
                .superblock = strdup(strempty(job->observed.superblock)),
        };
        return h->name && h->target && h->spec && h->context && h->device && h->superblock ? TAKE_PTR(h) : NULL;
}

/* What it would have to be mounted from, and with, to be the same files again. What is shared stays what it is. */
static int fill_volume(const Job *job, Volume *v) {
        const Request *q = &job->request;
        const Plan *p = &job->plan;
        int r;

        r = free_and_strdup(&v->source, strempty(q->source));
        if (r < 0)
                return r;
        r = free_and_strdup(&v->fs_type, strempty(job->observed.fs_type ? job->observed.fs_type : q->fs_type));
        if (r < 0)
                return r;
        r = free_and_strdup(&v->driver, q->driver);
        if (r < 0)
                return r;
        r = free_and_strdup(&v->volume_type, q->volume_type);
        if (r < 0)
                return r;
        v->access_mode = q->access_mode;
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
        return strv_copy(q->mount_options, &v->mount_options);
}

static Volume *add_volume(Job *job) {
        State *s = job->jobs->state;
        _cleanup_(volume_freep) Volume *v = volume_new(job->request.volume);

        if (!v || fill_volume(job, v) < 0)
                return NULL;
        if (volumes_add(&s->volumes, v) < 0)
                return NULL;
        job->volume_is_new = true;
        event_emit(s, volume_added, v);
        return TAKE_PTR(v);
}

int job_record_intent(Job *job, bool adopted) {
        _cleanup_(holder_freep) Holder *h = holder_new(job, adopted);
        Holder *old;
        Volume *v;
        int r;

        if (!h)
                return -ENOMEM;
        v = job_volume(job);
        if (!v)
                v = add_volume(job);
        if (!v)
                return -ENOMEM;
        old = volume_find_holder(v, h->target);
        /* What is adopted again stays mounted whatever becomes of this. */
        if (adopted && old && old->state == HOLDER_MOUNTED) {
                h->state = HOLDER_MOUNTED;
                h->mount_id = old->mount_id;
        }
        r = volume_add_holder(v, h);
        if (r < 0) {
                if (!v->holders && job->volume_is_new) {
                        job->volume_is_new = false;
                        commit_removal(job->jobs->state, v);
                }
                return r;
        }
        TAKE_PTR(h);
        if (old)
                volume_remove_holder(v, old);
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

int job_record_ready(Job *job, const ReadyNote *note) {
        Holder *h = job_find_holder(job);
        int r;

        if (!h || note->identity.id == 0 || isempty(note->identity.device) ||
            (note->gid == GID_NONE) != (note->disk_gid == GID_NONE) ||
            (note->gid != GID_NONE && note->gid != job->plan.fs_group))
                return -EBADMSG;
        r = fill_holder(job, h, note->identity.device, note->identity.id, note->gid, note->disk_gid);
        if (r < 0)
                return r;
        job_volume(job)->fingerprint = note->fingerprint;
        commit_holder(job->jobs->state, job_volume(job), h);
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
        /* An intent until nothing can fail any more. */
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

/* Only what this job does: a mark that was tainted elsewhere, or that is gone, says nothing of what happened here. */
static bool taint_is_news(const Job *job, const Mark *mark) {
        if (mark->tainted)
                return job->plan.text && job->plan.strategy == STRATEGY_CONTEXT_MOUNT && !job->plan.read_only;
        return mark->label_state == FILES_COMPLETE && job->result.files.relabel == RELABEL_WALK &&
               job->progress.started_usec > 0;
}

void job_record_mark(Job *job, Mark *mark) {
        Volume *v = job_volume(job);
        bool tainted;

        if (!v) {
                mark_done(mark);
                return;
        }
        tainted = v->mark.tainted;
        mark_done(&v->mark);
        v->mark = TAKE_STRUCT(*mark);
        if (v->mark.tainted != tainted && taint_is_news(job, &v->mark))
                job_log_taint(v);
        commit_volume(job->jobs->state, v);
}

void job_revert_intent(Job *job) {
        State *s = job->jobs->state;
        Volume *v = job_volume(job);
        _cleanup_(holder_freep) Holder *gone = NULL;
        Holder *h = job_find_holder(job);

        if (!job->intent_recorded || !h || h->state != HOLDER_MOUNTING)
                return;
        job->intent_recorded = false;
        /* After a walk it is known that some files are not what they were. */
        if (job->volume_is_new && !h->next && v->holders == h && job->progress.started_usec == 0) {
                job->volume_is_new = false;
                commit_removal(s, v);
                return;
        }
        gone = commit_release(s, v, h);
        if (s->mount_gone)
                s->mount_gone(s->userdata, gone->target);
}

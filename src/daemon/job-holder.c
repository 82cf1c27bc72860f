/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/notify.h"
#include "daemon/watch.h"
#include "daemon/worker-client.h"

/* What mount and adopt share: how they look at the volume, write a holder into its record, and take it back if
 * nothing came of it. */

int job_check_target(Job *job, Holder **ret) {
        const Manager *m = job->manager;
        Volume *v = volumes_find(&m->volumes, job->request.volume), *other = NULL;
        Holder *h = volumes_find_target(&m->volumes, job->request.target, &other);

        if (h && other != v)
                return failure_set(&job->failure, FAILURE_INVALID_TARGET,
                                   "The target is held as volume %s: unmount that first, or use another target.",
                                   other->id);
        if (!h && v && volume_count_holders(v) >= HOLDERS_MAX)
                return failure_set(&job->failure, FAILURE_LIMIT_REACHED, "%s has %i holders.", v->id, HOLDERS_MAX);
        if (!v && volumes_count(&m->volumes) >= VOLUMES_MAX)
                return failure_set(&job->failure, FAILURE_LIMIT_REACHED,
                                   "%i volumes are known: have those that are gone forgotten.", VOLUMES_MAX);
        *ret = h;
        return 0;
}

bool job_take_observed(Job *job, sd_bus_message *reply) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        if (!reply)
                return false;
        r = worker_read_observed(reply, &node, &job->observed);
        if (r >= 0)
                r = manager_take_node(job->manager, &node);
        if (r < 0)
                job_fail(job, r);
        return r >= 0;
}

int job_keep_share(Job *job) {
        const Holder *share = job->plan.share;

        job->plan.share = NULL;
        job->share_mount_id = share ? share->mount_id : 0;
        /* What is adopted is nobody's clone. */
        job->share_disk_gid =
                share && holder_is_mapped(share) && job->operation != OPERATION_ADOPT ? share->disk_gid : GID_NONE;
        return free_and_strdup(&job->share_target, share ? share->target : NULL);
}

bool job_make_plan(Job *job, int seclabel, const MountFact *mounted) {
        Manager *m = job->manager;
        const PlanInput in = {
                .node = &m->node,
                .settings = &m->settings,
                .request = &job->request,
                .volumes = &m->volumes,
                .observed = &job->observed,
                .seclabel = seclabel,
                .mounted = mounted,
        };
        int r;

        plan_done(&job->plan);
        r = plan_make(&in, &job->plan, &job->failure);
        /* What is staged is a clone of what it is a clone of. */
        if (r == 0 && job->staged && seclabel >= 0)
                job->plan.share = NULL;
        else if (r == 0)
                r = job_keep_share(job);
        if (!job_gives_group(job))
                job->walk.ownership = (OwnershipDecision){ job->plan.ownership, job->plan.ownership_reason };
        if (r < 0)
                job_fail(job, r);
        return r == 0;
}

int job_append_mount(Job *job, sd_bus_message *call) {
        const Plan *p = &job->plan;
        bool with_context = p->strategy == STRATEGY_CONTEXT_MOUNT;
        int r;

        r = sd_bus_message_append(call, "sss", job->request.source, job->observed.fs_type, job->request.target);
        if (r >= 0)
                r = sd_bus_message_append_strv(call, p->mount_options);
        if (r >= 0)
                r = sd_bus_message_append(call, "sbst", with_context ? p->context : "", p->read_only,
                                          strempty(job->share_target), job->share_mount_id);
        return r;
}

/* The strings move into the saved copy and back; the record gets new ones. */
static int save_volume(Job *job, Volume *v) {
        SavedVolume *s = &job->saved;
        VolumeRecord record;

        if (volume_record_copy(&v->record, &record) < 0)
                return -ENOMEM;
        *s = (SavedVolume){
                .existed = true,
                .strategy = v->strategy,
                .source = TAKE_PTR(v->source),
                .fs_type = TAKE_PTR(v->fs_type),
                .mount_options = TAKE_PTR(v->mount_options),
                .mounted_here = v->mounted_here,
                .driver = TAKE_PTR(v->driver),
                .volume_type = TAKE_PTR(v->volume_type),
                .context = TAKE_PTR(v->context),
                .access_mode = v->access_mode,
                .record = record,
        };
        return 0;
}

/* What the job has learnt of the labels stays known, and so does what may have been done to them: what has to be
 * settled may have been seen, and written to, before it was taken away. */
static bool record_stays(const Job *job) {
        return job->looked || job->settling;
}

static void restore_volume(Job *job, Volume *v) {
        SavedVolume *s = &job->saved;
        char **record[] = { &v->source, &v->fs_type, &v->driver, &v->volume_type, &v->context },
             **saved[] = { &s->source, &s->fs_type, &s->driver, &s->volume_type, &s->context };

        for (size_t i = 0; i < ELEMENTSOF(record); i++) {
                free(*record[i]);
                *record[i] = TAKE_PTR(*saved[i]);
        }
        if (!record_stays(job)) {
                volume_record_done(&v->record);
                v->record = s->record;
                s->record = (VolumeRecord){ 0 };
        }
        strv_free(v->mount_options);
        v->mount_options = TAKE_PTR(s->mount_options);
        v->mounted_here = s->mounted_here;
        v->strategy = s->strategy;
        v->access_mode = s->access_mode;
}

/* Another source may be another disk: what was known of its labels is not known of this one, unless the volume itself
 * says so. A taint is not forgotten. */
static void forget_labels(Volume *v) {
        bool tainted = v->record.tainted;

        volume_record_done(&v->record);
        v->record.tainted = tainted;
}

/* What it would have to be mounted from, and with, to be the same files again. A clone is of what is there. */
static int fill_mount(Job *job, Volume *v) {
        bool here = job->operation == OPERATION_MOUNT, cloned = here && job->saved.existed && job->share_target;
        int r;

        r = strv_copy(cloned ? job->saved.mount_options : job->request.mount_options, &v->mount_options);
        v->mounted_here = r >= 0 && (cloned ? job->saved.mounted_here : here);
        return r;
}

static int fill_volume(Job *job, Volume *v) {
        const Request *q = &job->request;
        const Plan *p = &job->plan;
        bool stronger = !v->holders || p->strategy >= v->strategy;
        int r;

        if (job->saved.existed && !streq_ptr(job->saved.source, q->source))
                forget_labels(v);

        r = free_and_strdup(&v->source, strempty(q->source));
        if (r >= 0)
                r = free_and_strdup(&v->fs_type,
                                    strempty(job->observed.fs_type ? job->observed.fs_type : q->fs_type));
        if (r >= 0)
                r = free_and_strdup(&v->driver, q->driver);
        if (r >= 0)
                r = free_and_strdup(&v->volume_type, q->volume_type);
        if (r >= 0)
                r = free_and_strdup(&v->context, stronger ? p->context : strempty(job->saved.context));
        if (r >= 0)
                r = fill_mount(job, v);
        if (r < 0)
                return r;

        v->access_mode = q->access_mode;
        v->strategy = stronger ? p->strategy : v->strategy;
        /* What is staged, or there already, is looked at first; the effect comes after that. */
        if (!job->staged && job->operation != OPERATION_ADOPT)
                (void) volume_record_apply(&v->record, p->effect);
        return 0;
}

static Holder *new_holder(Job *job, HolderState state, bool adopted) {
        _cleanup_(holder_freep) Holder *h = calloc(1, sizeof(*h));

        if (!h)
                return NULL;
        *h = (Holder){
                .name = strdup(job->request.holder),
                .target = strdup(job->request.target),
                .spec = request_spec(&job->request),
                .state = state,
                .strategy = job->plan.strategy,
                .reason = job->plan.reason,
                .read_only = job->plan.read_only,
                .relabelled_here = job->plan.relabel_here,
                .fs_group = job->plan.fs_group,
                .disk_gid = job->plan.fs_group,
                .adopted = adopted,
                .since_usec = now_realtime_usec(),
        };
        return h->name && h->target && h->spec ? TAKE_PTR(h) : NULL;
}

Holder *job_record_holder(Job *job, HolderState state, bool adopted) {
        Manager *m = job->manager;
        Volume *v = volumes_find(&m->volumes, job->request.volume);
        Holder *h = new_holder(job, state, adopted);
        int r = h ? 0 : -ENOMEM;

        if (r == 0 && v)
                r = save_volume(job, v);
        else if (r == 0) {
                v = volume_new(job->request.volume);
                if (v)
                        volumes_add(&m->volumes, v);
        }
        if (r < 0 || !v || fill_volume(job, v) < 0) {
                holder_free(h);
                job_fail(job, -ENOMEM);
                if (r == 0 && v)
                        job_revert_holder(job);
                return NULL;
        }

        volume_add_holder(v, h);
        if (!job->saved.existed)
                notify_volume_added(m, v);
        commit_volume(m, v);
        return h;
}

void job_revert_holder(Job *job) {
        Manager *m = job->manager;
        Volume *v = volumes_find(&m->volumes, job->request.volume);
        Holder *h = v ? volume_find_holder(v, job->request.target) : NULL;

        if (!v)
                return;
        if (h)
                volume_remove_holder(v, h);
        /* After a walk it is known that some files are not what they were, and a mount that was to be adopted stays
         * and does to them what it does. */
        if (!job->saved.existed && !job->walk.labels && !job->walk.groups &&
            (job->operation != OPERATION_ADOPT || job->plan.effect == EFFECT_KEEP)) {
                commit_removal(m, v);
                return;
        }
        if (job->saved.existed)
                restore_volume(job, v);
        commit_volume(m, v);
}

gid_t job_disk_gid(const Job *job) {
        bool known = job->walk.ownership.action == OWNERSHIP_MAP || job->walk.groups;

        if (job->share_disk_gid != GID_NONE)
                return job->share_disk_gid;
        return known ? job->walk.disk_gid : job->plan.fs_group;
}

void job_note_group(const Job *job, Holder *h) {
        h->fs_group = job->plan.fs_group;
        h->disk_gid = job_disk_gid(job);
}

void job_record_outcome(Job *job, Holder *h) {
        Volume *v = volumes_find(&job->manager->volumes, job->request.volume);

        h->state = HOLDER_MOUNTED;
        h->strategy = job->plan.strategy;
        h->reason = job->plan.reason;
        h->relabelled_here = job->plan.relabel_here;
        job_note_group(job, h);
        h->mount_id = job->outcome.fact.mount_id;
        v->inodes_used = job->outcome.inodes_used;
        if (job->plan.strategy == STRATEGY_CONTEXT_MOUNT || job->plan.relabel_here)
                v->last_verified_usec = now_realtime_usec();
        if (!v->holders->next) {
                /* The only holder: what the mount turned out to be is what the volume is. */
                v->strategy = job->plan.strategy;
                if (free_and_strdup(&v->context, job->plan.context) < 0)
                        forget_labels(v);
        }
        commit_volume(job->manager, v);
        watch_expect(job->manager, &job->outcome.fact);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
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

static void save_volume(Job *job, Volume *v) {
        SavedVolume *s = &job->saved;

        /* The strings move into the saved copy and back; the record gets new ones. */
        *s = (SavedVolume){
                .existed = true,
                .tainted = v->record.tainted,
                .strategy = v->strategy,
                .source = TAKE_PTR(v->source),
                .fs_type = TAKE_PTR(v->fs_type),
                .driver = TAKE_PTR(v->driver),
                .volume_type = TAKE_PTR(v->volume_type),
                .context = TAKE_PTR(v->context),
                .access_mode = v->access_mode,
        };
}

static void restore_volume(Job *job, Volume *v) {
        SavedVolume *s = &job->saved;
        char **record[] = { &v->source, &v->fs_type, &v->driver, &v->volume_type, &v->context },
             **saved[] = { &s->source, &s->fs_type, &s->driver, &s->volume_type, &s->context };

        for (size_t i = 0; i < ELEMENTSOF(record); i++) {
                free(*record[i]);
                *record[i] = TAKE_PTR(*saved[i]);
        }
        /* What has to be settled may have been seen, and written to, before it was taken away. */
        v->record.tainted = s->tainted || (job->settling && job->plan.effect == EFFECT_TAINT);
        v->strategy = s->strategy;
        v->access_mode = s->access_mode;
}

static int fill_volume(Job *job, Volume *v) {
        const Request *q = &job->request;
        const Plan *p = &job->plan;
        bool stronger = !v->holders || p->strategy >= v->strategy;
        int r;

        /* Another source is another disk: what was known of its labels is not known of this one. */
        if (job->saved.existed && !streq_ptr(job->saved.source, q->source))
                v->record.label_state = LABEL_UNKNOWN;

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
        if (r < 0)
                return r;

        v->access_mode = q->access_mode;
        v->strategy = stronger ? p->strategy : v->strategy;
        v->record.tainted = v->record.tainted || p->effect == EFFECT_TAINT;
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
                .adopted = adopted,
                .since_usec = now_realtime_usec(),
        };
        return h->name && h->target && h->spec ? TAKE_PTR(h) : NULL;
}

Holder *job_record_holder(Job *job, HolderState state, bool adopted) {
        Manager *m = job->manager;
        Volume *v = volumes_find(&m->volumes, job->request.volume);
        Holder *h = new_holder(job, state, adopted);

        if (h && v)
                save_volume(job, v);
        else if (h) {
                v = volume_new(job->request.volume);
                if (v)
                        volumes_add(&m->volumes, v);
        }
        if (!h || !v || fill_volume(job, v) < 0) {
                holder_free(h);
                job_fail(job, -ENOMEM);
                if (v)
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
        if (!job->saved.existed) {
                commit_removal(m, v);
                return;
        }
        restore_volume(job, v);
        commit_volume(m, v);
}

void job_record_outcome(Job *job, Holder *h) {
        Volume *v = volumes_find(&job->manager->volumes, job->request.volume);

        h->state = HOLDER_MOUNTED;
        h->strategy = job->plan.strategy;
        h->reason = job->plan.reason;
        h->relabelled_here = job->plan.relabel_here;
        h->mount_id = job->outcome.fact.mount_id;
        v->inodes_used = job->outcome.inodes_used;
        if (job->plan.strategy == STRATEGY_CONTEXT_MOUNT)
                v->last_verified_usec = now_realtime_usec();
        if (!v->holders->next) {
                /* The only holder: what the mount turned out to be is what the volume is. */
                v->strategy = job->plan.strategy;
                if (free_and_strdup(&v->context, job->plan.context) < 0)
                        v->record.label_state = LABEL_UNKNOWN;
        }
        commit_volume(job->manager, v);
        watch_expect(job->manager, &job->outcome.fact);
}

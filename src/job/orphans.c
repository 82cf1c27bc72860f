/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "job/job-queue.h"
#include "job/orphans.h"

static Orphan *orphan_free(Orphan *o) {
        if (o) {
                claims_leave(&o->jobs->state->claims, &o->claims);
                free(o->operation);
                free(o->volume);
                free(o->target);
                free(o->source);
                free(o);
        }
        return NULL;
}
DEFINE_CLEANUP_FUNC(Orphan *, orphan_free);

static int add_orphan(Jobs *jobs, const OrphanInfo *info, Orphan **ret) {
        _cleanup_(orphan_freep) Orphan *o = calloc(1, sizeof(*o));
        const char *volume = info->volume;
        Volume *v;
        int r;

        if (!o)
                return -ENOMEM;
        if (isempty(volume) && volumes_find_target(&jobs->state->volumes, info->target, &v))
                volume = v->id;
        o->jobs = jobs;
        o->pid = info->pid;
        o->operation = strdup(info->operation);
        o->volume = strdup(volume);
        o->target = strdup(info->target);
        o->source = strdup(info->source);
        if (!o->operation || !o->volume || !o->target || !o->source)
                return -ENOMEM;
        if (!streq(o->operation, WORKER_MOUNT_PLAN) && !streq(o->operation, WORKER_VERIFY)) {
                r = queue_enter(jobs->state, &o->claims, o->volume, o->target);
                if (r < 0)
                        return r;
        }
        log_notice(
                "%s: worker process %i, from before selvold was restarted, still runs (%s%s%s); what it uses stays busy.",
                o->volume, (int) o->pid, o->operation, isempty(o->target) ? "" : " at ", o->target);
        DL_APPEND(jobs->orphans, o);
        *ret = TAKE_PTR(o);
        return 0;
}

/* The earlier selvold was asked to unmount what the record has as mounted: it is no loss if it goes. */
static void expect_unmount(const Orphan *o) {
        State *s = o->jobs->state;
        Volume *v;
        Holder *h = volumes_find_target(&s->volumes, o->target, &v);

        if (!orphan_unmounts(o) || !h || h->state != HOLDER_MOUNTED)
                return;
        h->state = HOLDER_UNMOUNTING;
        event_emit(s, volume_changed, v);
}

int orphans_take(Jobs *jobs, const OrphanInfo *list, size_t n) {
        Orphan *o, *next;
        int r;

        DL_FOREACH (jobs->orphans, o)
                o->listed = false;
        for (size_t i = 0; i < n; i++) {
                DL_SEARCH_SCALAR(jobs->orphans, o, pid, list[i].pid);
                if (!o) {
                        r = add_orphan(jobs, &list[i], &o);
                        if (r < 0)
                                return r;
                }
                o->listed = true;
                /* An earlier job keeps its claims until it ends. */
                if (claims_take(&o->claims))
                        expect_unmount(o);
        }
        DL_FOREACH_SAFE (jobs->orphans, o, next) {
                if (o->listed)
                        continue;
                log_info("%s: process %i, of a selvold that has ended, has gone.", o->volume, (int) o->pid);
                DL_DELETE(jobs->orphans, o);
                orphan_free(o);
                queue_advance(jobs);
        }
        return 0;
}

bool orphans_fail_busy(Job *job) {
        const Claimant *blocker = claims_find_blocker(&job->claims);
        const Orphan *front;
        const char *of;

        DL_FOREACH (job->jobs->orphans, front)
                if (&front->claims == blocker)
                        break;
        if (!front)
                return false;
        /* The text has named the volume itself. */
        of = streq_ptr(front->volume, job->request.volume) ? ""
             : isempty(front->volume)                      ? front->target
                                                           : front->volume;
        job_fail(
                job,
                failure_set(
                        &job->failure, FAILURE_BUSY,
                        "Volume %s is busy: %s%s%s by process %i of the worker, from before selvold was restarted, can't be ended, as its file system or server does not answer. Try again when it does.",
                        job->request.volume, front->operation, isempty(of) ? "" : " of ", of, (int) front->pid));
        return true;
}

void orphans_free(Jobs *jobs) {
        Orphan *o, *next;

        DL_FOREACH_SAFE (jobs->orphans, o, next)
                orphan_free(o);
        jobs->orphans = NULL;
}

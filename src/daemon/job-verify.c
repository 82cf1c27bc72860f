/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "core/context.h"
#include "core/worker-protocol.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/worker-client.h"

/* VerifyLabel: inspect the label → conclude. The request's volume is an id, or a path beneath the roots. */

static void verified(Job *job, sd_bus_message *reply) {
        Volume *v = volumes_find(&job->manager->volumes, job->request.volume);
        const char *actual;
        int matches, r;

        if (!reply) {
                job_conclude(job);
                return;
        }
        r = sd_bus_message_read(reply, WORKER_VERIFY_OUT, &matches, &actual);
        if (r > 0)
                r = free_and_strdup(&job->actual, actual);
        else if (r == 0)
                r = -EBADMSG;
        if (r < 0)
                job_fail(job, r);
        else {
                job->matches = matches;
                if (matches && v && streq(v->context, job->expected)) {
                        v->last_verified_usec = now_realtime_usec();
                        commit_volume(job->manager, v);
                }
        }
        job_conclude(job);
}

static const Holder *find_mounted(const Volume *v) {
        const Holder *h;

        LL_FOREACH (v->holders, h)
                if (h->state == HOLDER_MOUNTED)
                        return h;
        return NULL;
}

/* Fills the target and, where the caller left it to us, the context that is expected. */
static int resolve(Job *job) {
        const Manager *m = job->manager;
        Request *q = &job->request;
        Volume *v = NULL;
        const Holder *h;
        int r;

        if (q->volume[0] == '/') {
                h = volumes_find_target(&m->volumes, q->volume, &v);
                r = free_and_strdup(&q->target, q->volume);
        } else {
                v = volumes_find(&m->volumes, q->volume);
                if (!v)
                        return failure_set(&job->failure, FAILURE_NO_SUCH_VOLUME, "Volume %s is not known.",
                                           q->volume);
                h = find_mounted(v);
                if (!h)
                        return failure_set(&job->failure, FAILURE_NO_SUCH_VOLUME,
                                           "Volume %s is not mounted: there is no label to look at.", q->volume);
                r = free_and_strdup(&q->target, h->target);
        }
        if (r < 0)
                return r;

        if (isempty(job->expected) && (!h || isempty(v->context)))
                return failure_set(&job->failure, FAILURE_INVALID_CONTEXT,
                                   "No context is recorded for it: pass the one that is expected.");
        if (isempty(job->expected))
                return free_and_strdup(&job->expected, v->context);
        return 0;
}

void job_verify_begin(Job *job) {
        int r;

        r = resolve(job);
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                job_conclude(job);
                return;
        }
        job_call_worker(job, verified, WORKER_VERIFY, WORKER_VERIFY_IN, job->request.target, job->expected);
}

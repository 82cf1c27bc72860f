/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/path-util.h"
#include "wire/protocol.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/watch.h"
#include "daemon/worker-client.h"

/* UnmountVolume: record intent → (cancel who looks at the files) → unmount → release the holder → conclude. */

static Holder *find_holder(Job *job, Volume **ret_volume) {
        Volume *v = volumes_find(&job->manager->volumes, job->request.volume);

        *ret_volume = v;
        return v ? volume_find_holder(v, job->request.target) : NULL;
}

static void set_state(Job *job, HolderState state) {
        Volume *v;
        Holder *h = find_holder(job, &v);

        if (h) {
                h->state = state;
                commit_volume(job->manager, v);
        }
}

static void unmounted(Job *job, sd_bus_message *reply) {
        Manager *m = job->manager;
        Volume *v;
        Holder *h;
        int there, r;

        if (!reply) {
                bool lost = job->acting;

                set_state(job, HOLDER_MOUNTED);
                job_conclude(job);
                /* Without the worker's word only the mount table knows. */
                if (lost)
                        watch_recheck(m);
                return;
        }
        r = sd_bus_message_read(reply, WORKER_UNMOUNT_OUT, &there);
        if (r <= 0) {
                set_state(job, HOLDER_MOUNTED);
                job_fail(job, r < 0 ? r : -EBADMSG);
                job_conclude(job);
                watch_recheck(m);
                return;
        }

        job->unmounted = there;
        h = find_holder(job, &v);
        if (h)
                manager_drop_holder(m, v, h);
        job_conclude(job);
}

static bool is_verify_at(const Job *job, const char *target) {
        const char *path = job->request.target;

        return job->operation == OPERATION_VERIFY && job->verify.depth != VERIFY_ROOT && path &&
               (streq(path, target) || path_is_beneath(path, target));
}

bool job_unmount_must_wait(const Job *job) {
        const Job *other;

        DL_FOREACH (job->manager->jobs, other)
                if (is_verify_at(other, job->request.target))
                        return true;
        return false;
}

void job_unmount_resume(Job *job) {
        Volume *v;
        Holder *h = find_holder(job, &v);

        job->waiting = false;
        if (job->failure.kind != FAILURE_NONE || !h) {
                set_state(job, HOLDER_MOUNTED);
                job_conclude(job);
                return;
        }
        job->acting = true;
        job_call_worker(job, unmounted, WORKER_UNMOUNT, WORKER_UNMOUNT_IN, job->request.target, h->mount_id);
}

/* A look at many files holds the mount; it must not keep a pod from its end. */
static void act(Job *job) {
        Job *other;

        if (job->failure.kind == FAILURE_NONE)
                DL_FOREACH (job->manager->jobs, other) {
                        if (!is_verify_at(other, job->request.target))
                                continue;
                        job->waiting = true;
                        job_cancel(other);
                }
        if (!job->waiting)
                job_unmount_resume(job);
}

void job_unmount_begin(Job *job) {
        Volume *v, *other = NULL;
        Holder *h = find_holder(job, &v);
        int r;

        if (h && h->state != HOLDER_MOUNTED) {
                /* An intent of before a restart, with the worker out of reach since. */
                if (failure_set(
                            &job->failure, FAILURE_BUSY,
                            "%s was being mounted when selvold ended, and the mount table has not been seen since: call again when the worker runs.",
                            job->request.volume) < 0)
                        job_fail(job, -ENOMEM);
                job_conclude(job);
                return;
        }
        if (h) {
                r = free_and_strdup(&job->holder, h->name);
                if (r >= 0)
                        r = free_and_strdup(&job->plan.context, v->context);
                if (r < 0) {
                        job_fail(job, r);
                        job_conclude(job);
                        return;
                }
                set_state(job, HOLDER_UNMOUNTING);
                job_then(job, act);
                return;
        }

        /* Absent is success, but another volume's mount is not absent. */
        if (volumes_find_target(&job->manager->volumes, job->request.target, &other) &&
            failure_set(&job->failure, FAILURE_INVALID_TARGET, "The target is held as volume %s, not as %s.",
                        other->id, job->request.volume) < 0)
                job_fail(job, -ENOMEM);
        job_conclude(job);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "job/job-record.h"
#include "state/commit.h"
#include "state/reconcile.h"
#include "state/watch.h"
#include "wire/message-ids.h"
#include "wire/protocol.h"

/* UnmountVolume. */

/* In memory only: a later selvold sees in the mount table whether the volume was unmounted. */
static void set_holder_state(Job *job, HolderState state) {
        Holder *h = job_find_holder(job);

        if (!h)
                return;
        h->state = state;
        event_emit(job->jobs->state, volume_changed, job_volume(job));
}

static int check_unmount(Job *job) {
        const State *s = job->jobs->state;
        Holder *h = job_find_holder(job);
        const Unrecorded *lost;
        Volume *other = NULL;

        if (h && h->state == HOLDER_MOUNTING) {
                watch_recheck(job->jobs->state);
                return failure_set(
                        &job->failure, FAILURE_BUSY,
                        "Volume %s was being mounted when selvold ended, and the mount table has not been read since: try again when selvol-worker runs.",
                        job->request.volume);
        }
        if (h) {
                set_holder_state(job, HOLDER_UNMOUNTING);
                return free_and_strdup(&job->plan.context, strempty(h->context));
        }
        /* Without a record the worker checks that there is no mount: an absent mount is success, another
         * volume's mount is an error. */
        if (job_find_at_target(job, &other))
                return failure_set(&job->failure, FAILURE_INVALID_TARGET,
                                   "The target is in use by volume %s, not by %s: name that one, or none.", other->id,
                                   job->request.volume);
        lost = unrecorded_find(s, job->request.target);
        if (lost && !streq(lost->volume, job->request.volume))
                return failure_set(&job->failure, FAILURE_INVALID_TARGET,
                                   "The mount at the target is of volume %s, not %s: name that one, or none.",
                                   lost->volume, job->request.volume);
        return 0;
}

static int append_unmount_call(const Job *job, sd_bus_message *call) {
        const Unrecorded *lost = unrecorded_find(job->jobs->state, job->request.target);
        const Holder *h = job_find_holder(job);
        const Volume *v = job_volume(job);
        /* At the last unmount the worker reads the fingerprint from the source: the next mount trusts the
         * mark if nobody used the volume in between. */
        bool last = h && !v->holders->next && !volumes_find_sharer(&job->jobs->state->volumes, v, h),
             keep = last && streq(v->fingerprint.text, FINGERPRINT_MOUNTED);
        const UnmountCall c = {
                .origin = job_origin(job),
                .target = job->request.target,
                /* The worker's notes have the identity of a mount whose record was lost. */
                .identity = h      ? (MountIdentity){ h->mount_id, h->device }
                            : lost ? (MountIdentity){ lost->mount_id, lost->device }
                                   : (MountIdentity){ 0 },
                /* Network file systems and tmpfs have no superblock by name. */
                .last = last && !isempty(h->superblock) && !h->beside && !h->also_at,
                .source = keep ? v->source : NULL,
                .fs_type = keep ? v->mount_type : NULL,
        };

        return unmount_call_append(call, &c);
}

static int take_unmount_reply(Job *job, sd_bus_message *reply) {
        State *s = job->jobs->state;
        Holder *h = job_find_holder(job);
        Volume *v = job_volume(job);
        const Unrecorded *lost;
        UnmountResult result;
        int r;

        r = unmount_result_read(reply, &result);
        if (r < 0)
                return r;
        job->unmount.unmounted = result.unmounted;
        lost = unrecorded_find(s, job->request.target);
        if (lost)
                unrecorded_drop(s, lost->mount_id);
        if (h) {
                /* The journal names the holder after it is gone. Out of memory here costs only what is told:
                 * the mount is gone. */
                if (free_and_strdup(&job->request.holder, h->name) < 0 ||
                    free_and_strdup(&job->unmount.still_open, result.still_open ? h->device : NULL) < 0)
                        log_debug("%s: out of memory for what the unmount tells of the holder.", v->id);
                if (!v->holders->next)
                        v->fingerprint = result.fingerprint;
                holder_drop(s, v, h);
        }
        return 0;
}

/* Without a result from the worker, only the mount table shows whether the mount is there. */
static void revert_unmount(Job *job) {
        const Holder *h = job_find_holder(job);

        /* The state may be another job's, while this one waits. */
        if (!h || h->state != HOLDER_UNMOUNTING)
                return;
        /* A lost child may have unmounted it: if the watch finds so, that is no loss. */
        if (job->failure.kind == FAILURE_WORKER_FAILED || job->failure.kind == FAILURE_TIMED_OUT ||
            job->failure.kind == FAILURE_CANCELED)
                watch_recheck(job->jobs->state);
        else
                set_holder_state(job, HOLDER_MOUNTED);
}

const OperationType unmount_operation = {
        .name = "unmount",
        .verb = "unmount",
        .done_message = MESSAGE_UNMOUNTED,
        .storage_operation = "volume_unmount",
        .changes = true,
        .check = check_unmount,
        .method = WORKER_UNMOUNT,
        .append = append_unmount_call,
        .take = take_unmount_reply,
        .revert = revert_unmount,
};

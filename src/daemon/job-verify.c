/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <utlist.h>

#include "basic/time-util.h"
#include "model/context.h"
#include "wire/protocol.h"
#include "daemon/commit.h"
#include "daemon/job-object.h"
#include "daemon/record.h"

/* VerifyLabel: look at the label, or at many → (mark the volume) → conclude. The request's volume is an id, or a path
 * beneath the roots. */

static const char *const verify_depth_table[VERIFY_DEPTHS] = {
        [VERIFY_ROOT] = "root",
        [VERIFY_FULL] = "full",
};
DEFINE_STRING_TABLE(verify_depth, VerifyDepth);

/* The volume that is looked at, or part of it, and the holder through whose mount; either may be NULL. */
typedef struct Above {
        Volume *volume;
        const Holder *holder;
} Above;

static Above find_above(const Job *job) {
        Above above = { 0 };

        above.holder = volumes_find_above(&job->manager->volumes, job->request.target, &above.volume);
        return above;
}

/* It may have gone since, or is somebody else's; what the volume says is older than what is known here then. */
static void marked(Job *job, sd_bus_message *reply) {
        if (!reply) {
                record_not_marked(job->manager, find_above(job).volume, strempty(job->failure.message));
                /* What was found is an answer all the same. */
                if (!job->stopped)
                        failure_done(&job->failure);
        }
        job_conclude(job);
}

static void mark(Job *job) {
        Above above = find_above(job);
        const Holder *h = above.holder;

        if (h && h->state == HOLDER_MOUNTED && job->failure.kind == FAILURE_NONE)
                job_call_worker(job, marked, WORKER_MARK, WORKER_MARK_IN, h->target, h->mount_id,
                                record_effect_to_string(job->verify_effect));
        else {
                record_not_marked(job->manager, above.volume,
                                  job->failure.kind != FAILURE_NONE ? strempty(job->failure.message)
                                                                    : "it is not mounted any more");
                job_conclude(job);
        }
}

/* A wrong root is seen at the next mount, whatever the record says. And a context covers the labels on disk. */
static bool breaks_label_promise(const Job *job, const Above *above) {
        const VolumeRecord *record = &above->volume->record;
        bool only_root = job->verify.depth == VERIFY_ROOT &&
                         (!above->holder || streq(above->holder->target, job->request.target));

        return job->walk.result.counts.mismatched > 0 && !only_root &&
               above->volume->strategy != STRATEGY_CONTEXT_MOUNT && record->label_state == STATE_COMPLETE &&
               streq_ptr(record->context, job->expected);
}

static gid_t recorded_group(const Above *above) {
        /* An option of the file system gives all files a group, and modes that are nobody's business. */
        if (!above->volume || above->volume->record.ownership_state == STATE_UNKNOWN)
                return GID_NONE;
        return above->holder && above->holder->fs_group != GID_NONE ? above->holder->fs_group
                                                                    : above->volume->record.gid;
}

static bool breaks_group_promise(const Job *job, const Above *above) {
        return job->walk.result.counts.misowned > 0 && above->volume->record.ownership_state == STATE_COMPLETE &&
               job->expected_gid == recorded_group(above);
}

/* The record promised that all files are right, and a walk would have been skipped on its word, here, and wherever
 * the volume goes. */
static bool break_promise(Job *job) {
        Above above = find_above(job);
        bool labels, groups;

        if (!above.volume)
                return false;
        labels = breaks_label_promise(job, &above);
        groups = breaks_group_promise(job, &above);
        if (!labels && !groups)
                return false;
        job->verify_effect = !groups ? EFFECT_FORGET : !labels ? EFFECT_DISOWN : EFFECT_DISTRUST;
        record_promise_broken(job->manager, above.volume, job->verify_effect, "seen by a look at the files");
        (void) volume_record_apply(&above.volume->record, job->verify_effect);
        commit_volume(job->manager, above.volume);
        return true;
}

static char *describe_labels(const Job *job) {
        const WalkResult *w = &job->walk.result;
        unsigned long long done = w->counts.done, mismatched = w->counts.mismatched, failed = w->counts.failed;

        if (job->verify.depth == VERIFY_ROOT)
                return strdup(w->matches ? "The label is as expected." : "The label is not the one expected.");
        if (failed > 0)
                return strdup_printf(
                        "%llu entries were looked at: %llu have another label, and %llu could not be looked at.",
                        done, mismatched, failed);
        if (!w->matches)
                return strdup_printf("%llu of %llu entries that were looked at have another label.", mismatched,
                                     done);
        return strdup_printf("All %llu entries have the label.", done);
}

static char *describe(const Job *job) {
        unsigned long long misowned = job->walk.result.counts.misowned;
        _cleanup_free_ char *labels = describe_labels(job);

        if (!labels || job->expected_gid == GID_NONE)
                return TAKE_PTR(labels);
        return misowned > 0
                       ? strdup_printf("%s %llu have another group than %" PRIu32 ", or a mode that keeps it out.",
                                       labels, misowned, job->expected_gid)
                       : strdup_printf("%s They have group %" PRIu32 ", and a mode that lets it in.", labels,
                                       job->expected_gid);
}

/* What the worker says has to fit together: a match is a match of everything. */
static int take_result(Job *job, sd_bus_message *reply) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        r = worker_read_verified(reply, &result);
        if (r < 0)
                return r;
        if (result.counts.changed > 0 || result.counts.skipped > 0 || result.counts.unsettled > 0 ||
            (result.matches && (result.counts.mismatched > 0 || result.counts.failed > 0)) ||
            (result.counts.misowned > 0 && job->expected_gid == GID_NONE) ||
            (result.matches && !streq(result.actual, job->expected)))
                return -EBADMSG;
        return walk_take_result(&job->walk, &result);
}

static void verified(Job *job, sd_bus_message *reply) {
        Volume *v = job_volume(job);
        const WalkResult *w = &job->walk.result;
        int r;

        if (!reply) {
                job_conclude(job);
                return;
        }
        if (job->walk.started_usec > 0)
                job->walk.duration_usec = now_monotonic_usec() - job->walk.started_usec;
        r = take_result(job, reply);
        if (r >= 0) {
                job->walk.text = describe(job);
                if (!job->walk.text)
                        r = -ENOMEM;
        }
        if (r < 0)
                job_fail(job, r);
        else if (w->matches && v && streq(v->context, job->expected)) {
                v->last_verified_usec = now_realtime_usec();
                commit_volume(job->manager, v);
        }
        if (r >= 0 && break_promise(job))
                job_then(job, mark);
        else
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
                h = volumes_find_above(&m->volumes, q->volume, &v);
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

        /* An unmount may be waiting for those that look at it already. */
        if (h && h->state != HOLDER_MOUNTED)
                return failure_set(&job->failure, FAILURE_BUSY,
                                   "%s: it is being mounted or unmounted; call again later.", q->target);
        if (isempty(q->context) && (!h || isempty(v->context)))
                return failure_set(&job->failure, FAILURE_INVALID_CONTEXT,
                                   "No context is recorded for it: pass the one that is expected.");
        if (v && job->verify.depth == VERIFY_FULL)
                job->walk.total = v->inodes_used;
        if (job->verify.depth != VERIFY_ROOT)
                job->expected_gid = q->fs_group != GID_NONE ? q->fs_group : recorded_group(&(Above){ v, h });
        return free_and_strdup(&job->expected, isempty(q->context) ? v->context : q->context);
}

static int look(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const VerifyOptions *v = &job->verify;
        int r;

        r = job_new_worker_call(job, WORKER_VERIFY, &call);
        if (r >= 0)
                r = sd_bus_message_append(call, WORKER_VERIFY_IN, job->request.target, job->expected,
                                          verify_depth_to_string(v->depth), job->request.walk.entries_per_sec,
                                          job->expected_gid);
        if (r < 0)
                return r;
        if (v->depth == VERIFY_ROOT)
                job_send_worker_call(job, verified, call);
        else {
                job_object_announce(job->object);
                job_send_walk_call(job, verified, call);
        }
        return 0;
}

void job_verify_begin(Job *job) {
        int r;

        r = resolve(job);
        if (r == 0)
                r = look(job);
        if (r == 0)
                return;
        if (r < 0)
                job_fail(job, r);
        job_conclude(job);
}

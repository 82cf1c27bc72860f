/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include <utlist.h>

#include "basic/time-util.h"
#include "job/job-log.h"
#include "state/commit.h"
#include "wire/protocol.h"

/* VerifyLabel. The request's volume is an id, or as its target a path beneath TargetRoots=. */

/* Finds the volume and the holder to verify; a path may be in no volume: both are NULL then. Fills the
 * request's target. */
static int find_verified(Job *job, Volume **ret_volume, const Holder **ret_holder) {
        const Volumes *all = &job->jobs->state->volumes;
        Request *q = &job->request;
        Volume *v = NULL;
        const Holder *h;

        if (job_is_of_path(job)) {
                h = volumes_find_above(all, q->volume, &v);
                *ret_volume = v;
                *ret_holder = h;
                return 0;
        }
        v = volumes_find(all, q->volume);
        if (!v)
                return failure_set(&job->failure, FAILURE_NO_SUCH_VOLUME, "Volume %s is not known.", q->volume);
        LL_FOREACH (v->holders, h)
                if (h->state == HOLDER_MOUNTED)
                        break;
        if (!h)
                return failure_set(&job->failure, FAILURE_NO_SUCH_VOLUME,
                                   "Volume %s is not mounted, so there is no label to verify: mount it first.",
                                   q->volume);
        *ret_volume = v;
        *ret_holder = h;
        return free_and_strdup(&q->target, h->target);
}

/* If a mount option gives all files a group, the file system decides about modes, so there is nothing to
 * compare. */
static gid_t recorded_group(const Volume *v, const Holder *h) {
        if (!v || v->mark.ownership_state == FILES_UNKNOWN)
                return GID_NONE;
        return h && h->fs_group != GID_NONE ? h->fs_group : v->mark.gid;
}

static int check_verify(Job *job) {
        const Request *q = &job->request;
        VerifyCall *c = &job->verify.call;
        const Holder *h = NULL;
        Volume *v = NULL;
        int r;

        r = find_verified(job, &v, &h);
        if (r != 0)
                return r;
        if (h && h->state != HOLDER_MOUNTED)
                return failure_set(&job->failure, FAILURE_BUSY,
                                   "The volume at %s is being mounted or unmounted: try again.", q->target);
        verify_call_done(c);
        c->depth = job->depth;
        c->gid = job->depth == VERIFY_ROOT ? GID_NONE : q->fs_group != GID_NONE ? q->fs_group : recorded_group(v, h);
        c->entries_per_sec = q->walk.entries_per_sec;
        c->mount.id = h ? h->mount_id : 0;
        c->path = strdup(q->target);
        c->expected = strdup(!isempty(q->context) ? q->context : h ? strempty(v->context) : "");
        c->mount_target = strdup(h ? h->target : "");
        c->mount.device = strdup(h ? strempty(h->device) : "");
        if (!c->path || !c->expected || !c->mount_target || !c->mount.device)
                return -ENOMEM;
        if (isempty(c->expected) && c->gid == GID_NONE)
                return failure_set(
                        &job->failure, FAILURE_INVALID_CONTEXT,
                        "No context is recorded: pass the one that is expected (selvolctl verify VOLUME CONTEXT), or compare the group only, with \"FSGroup\" and \"Depth\"=full.");
        if (v && job->depth == VERIFY_FULL)
                job->progress.total = v->inodes_used;
        return 0;
}

static int append_verify_call(const Job *job, sd_bus_message *call) {
        VerifyCall c = job->verify.call;

        c.origin = job_origin(job);
        return verify_call_append(call, &c);
}

static char *describe_labels(const Job *job) {
        const WalkCounts *n = &job->verify.result.walk.counts;
        unsigned long long done = n->done, mismatched = n->mismatched, failed = n->failed;

        if (isempty(job->verify.call.expected))
                return strdup_printf("%llu entries were compared.", done);
        if (job->depth == VERIFY_ROOT)
                return strdup(job->verify.result.matches ? "The label is as expected."
                                                         : "The label is not the one expected.");
        if (failed > 0)
                return strdup_printf(
                        "%llu entries were compared: %llu have another label, and %llu could not be read.", done,
                        mismatched, failed);
        if (mismatched > 0)
                return strdup_printf("%llu of %llu entries have another label.", mismatched, done);
        return strdup_printf("All %llu entries have the label.", done);
}

static char *describe_verify(const Job *job) {
        unsigned long long misowned = job->verify.result.walk.counts.misowned;
        const char *not_reset = strempty(job->verify.result.not_reset);
        _cleanup_free_ char *labels = describe_labels(job), *files = NULL;
        gid_t gid = job->verify.call.gid;

        if (!labels)
                return NULL;
        if (gid == GID_NONE)
                files = TAKE_PTR(labels);
        else if (misowned > 0)
                files = strdup_printf("%s %llu have another group than %" PRIu32 ", or a mode that denies it access.",
                                      labels, misowned, gid);
        else
                files = strdup_printf("%s They have group %" PRIu32 ", and a mode that gives it access.", labels,
                                      gid);
        if (!files || isempty(not_reset))
                return TAKE_PTR(files);
        return strdup_printf("%s The mark on the volume says otherwise, and could not be reset: %s.", files,
                             not_reset);
}

/* The parts of the result have to agree: "matches" means that all files match. */
static bool verify_is_possible(const Job *job) {
        const VerifyResult *v = &job->verify.result;
        const WalkCounts *n = &v->walk.counts;

        if (n->changed > 0 || n->skipped > 0 || (n->misowned > 0 && job->verify.call.gid == GID_NONE))
                return false;
        if (!v->matches)
                return true;
        return n->mismatched == 0 && n->failed == 0 &&
               (isempty(job->verify.call.expected) || streq(v->actual, job->verify.call.expected));
}

/* Whether the result is about this mount: the mount may be gone, and the kernel reuses mount ids. */
static bool is_about(const Job *job, const Volume *v, const Holder *h) {
        const VerifyCall *c = &job->verify.call;

        return h->mount_id == c->mount.id && streq(strempty(h->device), c->mount.device) &&
               (job_is_of_path(job) || streq(job->request.volume, v->id));
}

static int take_verify_reply(Job *job, sd_bus_message *reply) {
        VerifyResult *result = &job->verify.result;
        State *s = job->jobs->state;
        const Holder *h;
        Volume *v = NULL;
        int r;

        verify_result_done(result);
        r = verify_result_read(reply, result);
        if (r < 0)
                return r;
        r = progress_end(&job->progress, &result->walk.counts);
        if (r < 0)
                return r;
        if (!verify_is_possible(job))
                return -EBADMSG;
        job->verify.text = describe_verify(job);
        if (!job->verify.text)
                return -ENOMEM;

        h = volumes_find_above(&s->volumes, job->request.target, &v);
        if (!h || !is_about(job, v, h))
                return 0;
        /* Also resets the record's copy of the mark; selvold then does not trust the copy, even if the worker
         * could not reset the mark. */
        if (result->reset != MARK_KEEP) {
                job_log_mark_wrong(v, result->reset, result->not_reset);
                (void) mark_apply(&v->mark, result->reset);
                commit_volume(s, v);
        }
        if (!job_is_of_path(job) && result->matches && streq(v->context, job->verify.call.expected)) {
                v->last_verified_usec = now_realtime_usec();
                commit_volume(s, v);
        }
        return 0;
}

const OperationType verify_operation = {
        .name = "verify",
        .verb = "verify",
        .storage_operation = "volume_verify",
        .check = check_verify,
        .method = WORKER_VERIFY,
        .append = append_verify_call,
        .take = take_verify_reply,
};

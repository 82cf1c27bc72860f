/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/time-util.h"
#include "job/job-text.h"
#include "job/operation.h"
#include "model/context.h"

/* What a walk did not touch. */
static char *describe_left_alone(const WalkResult *w) {
        _cleanup_free_ char *skipped = NULL, *modified = NULL, *inside = NULL;
        const WalkCounts *n = &w->counts;

        skipped =
                n->skipped > 0
                        ? strdup_printf(
                                  " %llu hard links may lead out of the volume and were left alone, so the state of the files stays partial.",
                                  (unsigned long long) n->skipped)
                        : strdup("");
        modified =
                n->modified > 0
                        ? strdup_printf(
                                  " %llu directories were modified until the end, and what was moved may have been missed, so the state of the files stays partial.",
                                  (unsigned long long) n->modified)
                        : strdup("");
        inside = w->submounts ? strdup_printf(" Submounts were not entered: %s%s.", w->submounts[0],
                                              w->submounts[1] ? ", and others" : "")
                              : strdup("");
        return skipped && modified && inside ? strdup_printf("%s%s%s", skipped, modified, inside) : NULL;
}

static char *describe_walk(const Job *job, const char *reason) {
        const WalkResult *w = &job_operation_result(job)->walk;
        _cleanup_free_ char *left = NULL;

        if (!job_operation_result(job)->walked)
                return strdup(reason);
        left = describe_left_alone(w);
        return left ? strdup_printf("%llu entries were visited, and %llu were changed. %s%s",
                                    (unsigned long long) w->counts.done, (unsigned long long) w->counts.changed,
                                    reason, left)
                    : NULL;
}

static char *describe_relabel(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;

        return describe_walk(job, relabel_reason_text(d->relabel_reason));
}

static char *describe_group(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;
        const char *reason = ownership_reason_text(d->ownership_reason),
                   *detail = strempty(job_operation_result(job)->detail);
        _cleanup_free_ char *text = NULL;

        text = d->ownership == OWNERSHIP_WALK ? describe_walk(job, reason) : strdup(reason);
        if (!text)
                return NULL;
        return strdup_printf("%s%s%s%s", text, isempty(detail) ? "" : " (", detail, isempty(detail) ? "" : ")");
}

/* Of a message, for what names the volume already. */
static char *omit_volume(const Job *job, const char *message) {
        const char *rest = startswith(message, "Volume ");

        rest = rest ? startswith(rest, strempty(job->request.volume)) : NULL;
        return rest && rest[0] == ' ' ? strdup_printf("It%s", rest) : strdup(message);
}

/* Sentences. */

/* "4.20 s", "2 min 5 s". */
static char *describe_duration(const Job *job) {
        unsigned long long usec = now_monotonic_usec() - job->started_usec, sec = usec / USEC_PER_SEC;

        return sec < 60 ? strdup_printf("%llu.%02llu s", sec, usec % USEC_PER_SEC / 10000)
                        : strdup_printf("%llu min %llu s", sec / 60, sec % 60);
}

/* The level is what the contexts of volumes differ in. */
static char *describe_context(const Job *job) {
        const char *context = job_context(job);
        _cleanup_free_ char *level = NULL;

        if (isempty(context))
                return strdup("");
        level = context_part(context, CONTEXT_LEVEL);
        return level ? strdup_printf(" with %s", isempty(level) ? context : level) : NULL;
}

/* A verification of a path has that in place of a volume. */
static bool names_volume(const Request *q) {
        return !isempty(q->volume) && q->volume[0] != '/';
}

/* "volume pvc-1 at /target for pod-A with s0:c1,c2": whatever the call names of it, in this order. */
static char *describe_subject(const Job *job) {
        const Request *q = &job->request;
        bool held = (job->operation == OPERATION_MOUNT || job->operation == OPERATION_ADOPT) &&
                    !streq(q->holder, q->target),
             named = names_volume(q);
        _cleanup_free_ char *target = string_escape(strempty(q->target), 200), *context = describe_context(job);

        if (!target || !context)
                return NULL;
        return strdup_printf("%s%s%s%s%s%s%s", named ? "volume " : "", named ? q->volume : "",
                             named && !isempty(target) ? " at " : "", target, held ? " for " : "",
                             held ? q->holder : "", context);
}

/* What was asked for; of a group, the one that is wanted. */
static char *describe_request(const Job *job) {
        const char *verb = operation_type(job->operation)->verb;
        _cleanup_free_ char *subject = describe_subject(job);

        if (!subject || job->operation != OPERATION_OWNERSHIP)
                return subject ? strdup_printf("%s %s", verb, subject) : NULL;
        return strdup_printf("%s %s to %" PRIu32, verb, subject, job->request.fs_group);
}

/* That the mount has a context says it all; otherwise there is more to say of the labels. */
static char *describe_mounted(const Job *job, const char *subject, const char *duration) {
        _cleanup_free_ char *share = job->share_target ? string_escape(job->share_target, 200) : strdup("");
        const char *text = job->plan.strategy == STRATEGY_CONTEXT_MOUNT ? "" : strempty(job->plan.text);

        if (!share)
                return NULL;
        return strdup_printf("%s %s%s%s (%s).%s%s", job->operation == OPERATION_ADOPT ? "Adopted" : "Mounted",
                             subject, isempty(share) ? "" : ", sharing the mount at ", share, duration,
                             isempty(text) ? "" : " ", text);
}

static char *describe_done(const Job *job) {
        _cleanup_free_ char *subject = describe_subject(job), *duration = describe_duration(job);

        if (!subject || !duration)
                return NULL;
        switch (job->operation) {
        case OPERATION_MOUNT:
        case OPERATION_ADOPT:
                return describe_mounted(job, subject, duration);
        case OPERATION_UNMOUNT:
                return strdup_printf("%s %s (%s).", job->unmounted ? "Unmounted" : "Nothing was mounted:", subject,
                                     duration);
        default:
                return strdup_printf("Verified %s (%s): %s", subject, duration, strempty(job->verify.text));
        }
}

char *job_sentence(const Job *job) {
        bool canceled = job->failure.kind == FAILURE_CANCELED;
        _cleanup_free_ char *request = NULL, *why = NULL;

        if (!job_has_failed(job))
                return describe_done(job);
        request = describe_request(job);
        why = omit_volume(job, strempty(job->failure.message));
        if (!request || !why)
                return NULL;
        return strdup_printf("%s %s: %s", canceled ? "Canceled the request to" : "Failed to", request, why);
}

char *job_relabel_sentence(const Job *job) {
        bool skipped = job_operation_result(job)->files.relabel == RELABEL_SKIP;
        _cleanup_free_ char *subject = describe_subject(job), *text = describe_relabel(job);

        if (!subject || !text)
                return NULL;
        return strdup_printf("%s %s. %s", skipped ? "No need to relabel" : "Relabeled", subject, text);
}

char *job_ownership_sentence(const Job *job) {
        static const char *const what[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_SKIP] = "No need to change",
                [OWNERSHIP_MAP] = "Mapped",
                [OWNERSHIP_WALK] = "Changed",
        };
        _cleanup_free_ char *subject = describe_subject(job), *text = describe_group(job);

        if (!subject || !text)
                return NULL;
        return strdup_printf("%s the group of %s to %" PRIu32 ". %s",
                             what[job_operation_result(job)->files.ownership], subject, job->request.fs_group, text);
}

char *job_start_sentence(const Job *job) {
        _cleanup_free_ char *request = describe_request(job);
        unsigned long long total = job->progress.total;

        if (!request)
                return NULL;
        return total > 0 ? strdup_printf("Started to %s: about %llu entries (job %" PRIu64 ").", request, total,
                                         job->id)
                         : strdup_printf("Started to %s (job %" PRIu64 ").", request, job->id);
}

char *job_progress_sentence(const Job *job) {
        _cleanup_free_ char *request = describe_request(job), *duration = describe_duration(job);
        const Progress *p = &job->progress;
        unsigned long long done = p->counts.done, total = p->total, rate = p->entries_per_sec;

        if (!request || !duration)
                return NULL;
        if (total == 0 || rate == 0)
                return strdup_printf("Still working to %s: %llu entries after %s.", request, done, duration);
        return strdup_printf("Still working to %s: %llu of about %llu entries after %s, %llu s left.", request, done,
                             total, duration, (total - done) / rate);
}

char *job_wait_sentence(const Job *job, const char *why) {
        _cleanup_free_ char *request = describe_request(job), *text = omit_volume(job, why);

        return request && text ? strdup_printf("Waiting to %s: %s", request, text) : NULL;
}

char *job_front_text(const Job *job, const Job *front, const char *progress) {
        _cleanup_free_ char *volume = NULL;
        const char *operation;

        if (!front)
                return strdup("a process of the worker, from before selvold was restarted, is in front");
        operation = operation_to_string(front->operation);
        if (streq_ptr(front->request.volume, job->request.volume))
                return strdup_printf("its %s (job %" PRIu64 "%s) is in front", operation, front->id, progress);
        volume = string_escape(strempty(front->request.volume), 200);
        return volume ? strdup_printf("%s of %s%s (job %" PRIu64 "%s) is in front", operation,
                                      names_volume(&front->request) ? "volume " : "", volume, front->id, progress)
                      : NULL;
}

char *job_busy_text(const Job *job, const Job *front) {
        const char *volume = job->request.volume;
        _cleanup_free_ char *why = NULL;
        char percent[48] = "";

        if (!front)
                return strdup_printf(
                        "Volume %s has to wait: too many jobs are running, in all, of this caller, or of this source. Try again later.",
                        volume);
        if (front->progress.total > 0 && front->progress.counts.done <= front->progress.total)
                (void) snprintf(percent, sizeof(percent), ", %llu %% done",
                                (unsigned long long) (front->progress.counts.done * 100 / front->progress.total));
        why = job_front_text(job, front, percent);
        return why ? strdup_printf(
                             "Volume %s is busy: %s. Try again later, or end that job with 'selvolctl cancel %llu'.",
                             volume, why, (unsigned long long) front->id)
                   : NULL;
}

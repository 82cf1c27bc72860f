/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "job/job-log.h"
#include "job/job-text.h"
#include "job/operation.h"
#include "wire/message-ids.h"

/* A dry run is no decision, and what was decided before is no new one. */
static bool is_decision(const Job *job) {
        return job->operation != OPERATION_PLAN && (!job_operation_result(job)->repeated || job_has_failed(job));
}

static bool verify_matches(const Job *job) {
        return job->verify.result.matches && job->verify.result.walk.counts.misowned == 0;
}

/* A walk was about to begin, or the mount to be seen: whatever is wrong, it is no call that came to nothing at once. */
static bool has_begun(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;

        return job->progress.started_usec > 0 || job->identity.id != 0 || d->relabel == RELABEL_WALK ||
               d->ownership == OWNERSHIP_WALK;
}

/* Not what the caller has passed, but what the child has found: where else the source is mounted. */
static bool failure_is_of_node(const Job *job) {
        return job->observed.fs_type && job->failure.kind == FAILURE_PATH_NOT_ALLOWED;
}

static bool is_mistake(const Job *job) {
        return failure_is_of_caller(job->failure.kind) && !has_begun(job) && !failure_is_of_node(job);
}

static const char *failure_message(FailureKind kind) {
        switch (kind) {
        case FAILURE_CONTEXT_CONFLICT:
                return MESSAGE_CONFLICT;
        case FAILURE_GROUP_CONFLICT:
                return MESSAGE_GROUP_CONFLICT;
        case FAILURE_WORKER_FAILED:
                return MESSAGE_WORKER_FAILED;
        case FAILURE_MOUNT_FAILED:
        case FAILURE_TIMED_OUT:
        case FAILURE_ENTRIES_FAILED:
        case FAILURE_CANCELED:
                return MESSAGE_FAILED;
        default:
                return MESSAGE_REFUSED;
        }
}

static const char *done_message(const Job *job) {
        if (job->operation == OPERATION_VERIFY && !verify_matches(job))
                return MESSAGE_VERIFY_MISMATCH;
        return job->operation == OPERATION_MOUNT && job->share_target ? MESSAGE_SHARED
                                                                      : operation_type(job->operation)->done_message;
}

typedef struct Numbers {
        char usec[32], id[32], entries[32], changed[32], gid[32];
} Numbers;

static void format_numbers(const Job *job, Numbers *n) {
        const WalkCounts *c = &job->progress.counts;

        (void) snprintf(n->usec, sizeof(n->usec), "%" PRIu64, now_monotonic_usec() - job->started_usec);
        (void) snprintf(n->id, sizeof(n->id), "%" PRIu64, job->id);
        (void) snprintf(n->entries, sizeof(n->entries), "%" PRIu64, c->done);
        (void) snprintf(n->changed, sizeof(n->changed), "%" PRIu64, c->changed);
        (void) snprintf(n->gid, sizeof(n->gid), "%" PRIu32, job->request.fs_group);
}

static void write_record(const Job *job, const char *message, int priority, const char *text) {
        bool planned = job->plan.text, walked = job->progress.started_usec > 0,
             seen = job->operation == OPERATION_VERIFY && !isempty(job->verify.result.actual),
             relabel = job_operation_result(job)->files.relabel != RELABEL_NONE,
             group = job_operation_result(job)->files.ownership_reason != OWNERSHIP_NOT_ASKED;
        const char *done = job_has_outcome(job) ? "done" : NULL;
        const FilesDecision *d = &job_operation_result(job)->files;
        const Request *q = &job->request;
        Numbers n;

        format_numbers(job, &n);
        const LogField fields[] = {
                { "MESSAGE_ID", message },
                { "SELVOL_VOLUME", q->volume },
                { "SELVOL_OPERATION", operation_to_string(job->operation) },
                { "SELVOL_JOB", n.id },
                { "SELVOL_HOLDER", q->holder },
                { "SELVOL_TARGET", q->target },
                { "SELVOL_CONTEXT", seen ? job->verify.result.actual : job_context(job) },
                { "SELVOL_STRATEGY", planned ? strategy_to_string(job->plan.strategy) : NULL },
                { "SELVOL_REASON", planned ? reason_to_string(job->plan.reason) : NULL },
                { "SELVOL_RELABEL_REASON", relabel ? relabel_reason_to_string(d->relabel_reason) : NULL },
                { "SELVOL_FS_GROUP", q->fs_group != GID_NONE ? n.gid : NULL },
                { "SELVOL_OWNERSHIP", group ? ownership_action_to_string(d->ownership) : NULL },
                { "SELVOL_OWNERSHIP_REASON", group ? ownership_reason_to_string(d->ownership_reason) : NULL },
                { "SELVOL_ENTRIES", walked ? n.entries : NULL },
                { "SELVOL_ENTRIES_CHANGED", walked && job->operation != OPERATION_VERIFY ? n.changed : NULL },
                { "SELVOL_RESULT", job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : done },
                { "SELVOL_CALLER", job->caller.text },
                { "SELVOL_DURATION_USEC", n.usec },
        };

        log_fields(priority, fields, ELEMENTSOF(fields), "%s", strempty(text));
}

/* A walk did not get through all files, so that nothing came of the operation. */
static bool walk_has_failed(const Job *job) {
        return job_has_failed(job) &&
               (!job_operation_result(job)->walked || job_operation_result(job)->walk.counts.failed > 0);
}

static void log_relabel(const Job *job) {
        bool skipped = job_operation_result(job)->files.relabel == RELABEL_SKIP;
        _cleanup_free_ char *text = job_relabel_sentence(job);

        write_record(job, skipped ? MESSAGE_RELABEL_SKIPPED : MESSAGE_RELABELED, LOG_INFO, text);
}

static void log_ownership(const Job *job) {
        static const char *const messages[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_SKIP] = MESSAGE_OWNERSHIP_SKIPPED,
                [OWNERSHIP_MAP] = MESSAGE_OWNERSHIP_MAPPED,
                [OWNERSHIP_WALK] = MESSAGE_OWNERSHIP_APPLIED,
        };
        _cleanup_free_ char *text = job_ownership_sentence(job);

        write_record(job, messages[job_operation_result(job)->files.ownership], LOG_INFO, text);
}

static void log_failed(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;
        bool walk = walk_has_failed(job);
        _cleanup_free_ char *text = job_sentence(job);

        write_record(job,
                     walk && d->relabel == RELABEL_WALK       ? MESSAGE_RELABEL_FAILED
                     : walk && d->ownership == OWNERSHIP_WALK ? MESSAGE_OWNERSHIP_FAILED
                                                              : failure_message(job->failure.kind),
                     is_mistake(job) ? LOG_NOTICE : LOG_WARNING, text);
}

/* What became of the files is a record of its own, whatever operation it was for. */
void job_log(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;
        bool failed = job_has_failed(job),
             relabel = d->relabel == RELABEL_SKIP || (d->relabel == RELABEL_WALK && !walk_has_failed(job)),
             group = d->ownership == OWNERSHIP_SKIP || (d->ownership == OWNERSHIP_MAP && !failed) ||
                     (d->ownership == OWNERSHIP_WALK && !walk_has_failed(job));
        _cleanup_free_ char *text = NULL;

        if (!is_decision(job))
                return;
        if (relabel)
                log_relabel(job);
        if (group)
                log_ownership(job);
        if (failed) {
                log_failed(job);
                return;
        }
        if (operation_type(job->operation)->answered_early)
                return;
        text = job_sentence(job);
        write_record(job, done_message(job), LOG_INFO, text);
}

void job_log_started(const Job *job) {
        _cleanup_free_ char *text = job_start_sentence(job);

        write_record(job, MESSAGE_STARTED, LOG_INFO, text);
}

void job_log_progress(const Job *job) {
        _cleanup_free_ char *text = job_progress_sentence(job);

        write_record(job, MESSAGE_PROGRESS, LOG_INFO, text);
}

void job_log_waiting(Job *job, const char *why) {
        _cleanup_free_ char *text = NULL;

        if (job->operation == OPERATION_PLAN || streq_ptr(job->waits_for, why) ||
            free_and_strdup(&job->waits_for, why) < 0)
                return;
        text = job_wait_sentence(job, why);
        write_record(job, MESSAGE_WAITING, LOG_INFO, text);
}

void job_log_taint(const Volume *v) {
        const LogField fields[] = {
                { "MESSAGE_ID", v->mark.tainted ? MESSAGE_TAINTED : MESSAGE_UNTAINTED },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->mark.context },
        };

        log_fields(
                LOG_INFO, fields, ELEMENTSOF(fields),
                v->mark.tainted
                        ? "Volume %s is mounted for writing with a context: files created from now on get no label on disk."
                        : "Volume %s has labels on all its files again.",
                v->id);
}

void job_log_mark_wrong(const Volume *v, MarkChange reset, const char *not_reset) {
        const char *what = reset == MARK_RESET_LABELS      ? "labels"
                           : reset == MARK_RESET_OWNERSHIP ? "groups or modes"
                                                           : "labels, and groups or modes";
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_MARK_WRONG },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->mark.context },
        };

        if (isempty(not_reset)) {
                log_fields(LOG_WARNING, fields, ELEMENTSOF(fields),
                           "The mark on volume %s says that all files are right, but %s differ: it was reset.", v->id,
                           what);
                return;
        }
        log_fields(
                LOG_WARNING, fields, ELEMENTSOF(fields),
                "The mark on volume %s says that all files are right, but %s differ, and it could not be reset (%s). Run 'selvolctl relabel %s --force', or for a group 'selvolctl ownership %s GID --force', before it is used again.",
                v->id, what, not_reset, v->id, v->id);
}

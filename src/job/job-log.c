/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "job/job-log.h"
#include "wire/message-ids.h"

static bool relabel_failed(const Job *job) {
        return job->result.files.relabel == RELABEL_WALK && !job->result.walked;
}

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
        const WalkResult *w = &job->result.walk;
        _cleanup_free_ char *left = NULL;

        if (!job->result.walked)
                return strdup(reason);
        left = describe_left_alone(w);
        return left ? strdup_printf("%llu entries were visited, and %llu were changed. %s%s",
                                    (unsigned long long) w->counts.done, (unsigned long long) w->counts.changed,
                                    reason, left)
                    : NULL;
}

static char *describe_relabel(const Job *job) {
        const FilesDecision *d = &job->result.files;

        return describe_walk(job, relabel_reason_text(d->relabel_reason));
}

static char *describe_ownership(const Job *job) {
        const FilesDecision *d = &job->result.files;
        const char *reason = ownership_reason_text(d->ownership_reason), *detail = strempty(job->result.detail);
        _cleanup_free_ char *text = NULL;

        text = d->ownership == OWNERSHIP_WALK ? describe_walk(job, reason) : strdup(reason);
        if (!text)
                return NULL;
        return strdup_printf("Group %" PRIu32 ": %s%s%s%s", job->request.fs_group, text, isempty(detail) ? "" : " (",
                             detail, isempty(detail) ? "" : ")");
}

static bool asked_for_group(const Job *job) {
        return job->result.files.ownership_reason != OWNERSHIP_NOT_ASKED;
}

/* What became of the files: labels, group, or both. */
static char *describe_files(const Job *job) {
        bool relabel = job->result.files.relabel != RELABEL_NONE, group = asked_for_group(job);
        _cleanup_free_ char *labels = NULL, *owner = NULL;

        labels = relabel ? describe_relabel(job) : strdup("");
        owner = group ? describe_ownership(job) : strdup("");
        return labels && owner ? strdup_printf("%s%s%s", labels, relabel && group ? " " : "", owner) : NULL;
}

static char *describe(const Job *job) {
        _cleanup_free_ char *files = NULL;

        if (job_has_failed(job))
                return strdup(strempty(job->failure.message));
        if (job->operation == OPERATION_VERIFY)
                return strdup(strempty(job->text));
        if (job->operation == OPERATION_UNMOUNT)
                return strdup(job->unmounted ? "Unmounted." : "There was nothing to unmount.");
        files = describe_files(job);
        if (operation_is_answered_early(job->operation) || !files)
                return TAKE_PTR(files);
        return strdup_printf("%s%s%s", strempty(job->plan.text), isempty(files) ? "" : " ", files);
}

/* A dry run is no decision, and what was decided before is no new one. */
static bool is_decision(const Job *job) {
        return job->operation != OPERATION_PLAN && !job->result.repeated;
}

static bool verify_matches(const Job *job) {
        return job->verified.matches && job->verified.walk.counts.misowned == 0;
}

void job_add_history(Job *job) {
        _cleanup_free_ char *text = NULL;
        const Request *q = &job->request;
        bool failed = job_has_failed(job), planned = job->plan.text;

        if (!is_decision(job) || !job_volume(job) ||
            (job->operation == OPERATION_VERIFY && !failed && verify_matches(job)))
                return;
        text = describe(job);
        const HistoryEntry e = {
                .time_usec = now_realtime_usec(),
                .operation = (char *) operation_to_string(job->operation),
                .result = (char *) (failed ? failure_kind_to_string(job->failure.kind) : "done"),
                .reason = (char *) (planned ? reason_to_string(job->plan.reason) : ""),
                .target = q->target,
                .holder = q->holder,
                .context = (char *) job_context(job),
                .caller = job->caller.text,
                .text = text,
                .duration_usec = now_monotonic_usec() - job->started_usec,
        };
        store_add_history(job->jobs->state->store, q->volume, &e);
}

static const char *failure_message(FailureKind kind) {
        switch (kind) {
        case FAILURE_CONTEXT_CONFLICT:
        case FAILURE_GROUP_CONFLICT:
                return MESSAGE_CONFLICT;
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

static const char *job_message(const Job *job) {
        static const char *const done[OPERATIONS] = {
                [OPERATION_MOUNT] = MESSAGE_MOUNTED,
                [OPERATION_ADOPT] = MESSAGE_ADOPTED,
                [OPERATION_UNMOUNT] = MESSAGE_UNMOUNTED,
        };

        if (job_has_failed(job))
                return failure_message(job->failure.kind);
        if (job->operation == OPERATION_VERIFY && !verify_matches(job))
                return MESSAGE_VERIFY_MISMATCH;
        return done[job->operation];
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

static void write_record(const Job *job, const char *message, bool failed, Operation operation, const char *text) {
        bool planned = job->plan.text, walked = job->progress.started_usec > 0,
             relabel = job->result.files.relabel != RELABEL_NONE, group = asked_for_group(job);
        const FilesDecision *d = &job->result.files;
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
                { "SELVOL_CONTEXT", isempty(job->verified.actual) ? job_context(job) : job->verified.actual },
                { "SELVOL_STRATEGY", planned ? strategy_to_string(job->plan.strategy) : NULL },
                { "SELVOL_REASON", planned ? reason_to_string(job->plan.reason) : NULL },
                { "SELVOL_RELABEL_REASON", relabel ? relabel_reason_to_string(d->relabel_reason) : NULL },
                { "SELVOL_FS_GROUP", q->fs_group != GID_NONE ? n.gid : NULL },
                { "SELVOL_OWNERSHIP", group ? ownership_action_to_string(d->ownership) : NULL },
                { "SELVOL_OWNERSHIP_REASON", group ? ownership_reason_to_string(d->ownership_reason) : NULL },
                { "SELVOL_ENTRIES", walked ? n.entries : NULL },
                { "SELVOL_ENTRIES_CHANGED", walked && job->operation != OPERATION_VERIFY ? n.changed : NULL },
                { "SELVOL_RESULT", job_has_failed(job) ? failure_kind_to_string(job->failure.kind) : "done" },
                { "SELVOL_CALLER", job->caller.text },
                { "SELVOL_DURATION_USEC", n.usec },
        };

        log_fields(failed ? LOG_WARNING : LOG_INFO, fields, ELEMENTSOF(fields), "%s: %s: %s", q->volume,
                   operation_to_string(operation), text);
}

static void log_relabel(const Job *job) {
        RelabelAction action = job->result.files.relabel;
        bool failed = action == RELABEL_WALK && (relabel_failed(job) || job_has_failed(job));
        _cleanup_free_ char *text = failed ? strdup(strempty(job->failure.message)) : describe_relabel(job);

        write_record(job,
                     failed                   ? MESSAGE_RELABEL_FAILED
                     : action == RELABEL_SKIP ? MESSAGE_RELABEL_SKIPPED
                                              : MESSAGE_RELABELED,
                     failed, OPERATION_RELABEL, strempty(text));
}

static void log_ownership(const Job *job) {
        OwnershipAction action = job->result.files.ownership;
        bool failed = action == OWNERSHIP_WALK && job_has_failed(job);
        _cleanup_free_ char *text = failed ? strdup(strempty(job->failure.message)) : describe_ownership(job);

        write_record(job,
                     failed                     ? MESSAGE_OWNERSHIP_FAILED
                     : action == OWNERSHIP_SKIP ? MESSAGE_OWNERSHIP_SKIPPED
                     : action == OWNERSHIP_MAP  ? MESSAGE_OWNERSHIP_MAPPED
                                                : MESSAGE_OWNERSHIP_APPLIED,
                     failed, OPERATION_OWNERSHIP, strempty(text));
}

/* What became of the files is a record of its own, whatever operation it was for. */
void job_log(const Job *job) {
        const FilesDecision *d = &job->result.files;
        bool failed = job_has_failed(job), relabel = d->relabel != RELABEL_NONE,
             group = d->ownership == OWNERSHIP_SKIP || (d->ownership == OWNERSHIP_MAP && !failed) ||
                     d->ownership == OWNERSHIP_WALK;
        _cleanup_free_ char *text = NULL;

        if (!is_decision(job))
                return;
        if (relabel)
                log_relabel(job);
        if (group)
                log_ownership(job);
        if ((job->operation == OPERATION_RELABEL && relabel) || (job->operation == OPERATION_OWNERSHIP && group))
                return;
        text = describe(job);
        write_record(job, job_message(job), failed, job->operation, strempty(text));
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
                log_fields(
                        LOG_WARNING, fields, ELEMENTSOF(fields),
                        "%s: The mark on the volume says that all files are right, but %s differ: the mark was reset.",
                        v->id, what);
                return;
        }
        log_fields(
                LOG_WARNING, fields, ELEMENTSOF(fields),
                "%s: The mark on the volume says that all files are right, but %s differ, and the mark could not be reset (%s): relabel the volume, or apply its ownership, with Force before it is used again.",
                v->id, what, not_reset);
}

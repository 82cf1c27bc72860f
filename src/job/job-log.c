/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "job/job-log.h"
#include "model/context.h"
#include "wire/message-ids.h"

/* Sentences. They name volume, target, holder and context, so that readers need no fields. */

static void print_escaped(FILE *f, const char *s) {
        _cleanup_free_ char *escaped = string_escape(strempty(s), 200);

        fputs(strempty(escaped), f);
}

/* The time in the queue, and until a conflict had ended. */
static uint64_t waited_usec(const Job *job) {
        return (job->run_usec > 0 ? job->run_usec : now_monotonic_usec()) - job->started_usec;
}

static uint64_t worked_usec(const Job *job) {
        return job->run_usec > 0 ? now_monotonic_usec() - job->run_usec : 0;
}

/* "4.20 s", "2 min 5 s". */
static void print_duration(FILE *f, unsigned long long usec) {
        unsigned long long sec = usec / USEC_PER_SEC;

        if (sec < 60)
                fprintf(f, "%llu.%02llu s", sec, usec % USEC_PER_SEC / 10000);
        else
                fprintf(f, "%llu min %llu s", sec / 60, sec % 60);
}

/* "volume pvc-1 at /target for pod-A with s0:c1,c2": the parts that the call named, in this order. */
static void print_subject(FILE *f, const Job *job) {
        const bool held = job->operation == OPERATION_MOUNT || job->operation == OPERATION_ADOPT;
        const char *context = job_context(job);
        const Request *q = &job->request;

        if (!isempty(q->volume) && !job_is_of_path(job))
                fprintf(f, "volume %s%s", q->volume, isempty(q->target) ? "" : " at ");
        print_escaped(f, q->target);
        if (held && !streq(q->holder, q->target))
                fprintf(f, " for %s", q->holder);
        /* The contexts of volumes differ in the level. */
        if (!isempty(context)) {
                _cleanup_free_ char *level = context_part(context, CONTEXT_LEVEL);

                fprintf(f, " with %s", isempty(level) ? context : level);
        }
}

static void print_request(FILE *f, const Job *job) {
        fprintf(f, "%s ", operation_type(job->operation)->verb);
        print_subject(f, job);
        if (job->operation == OPERATION_OWNERSHIP)
                fprintf(f, " to %" PRIu32, job->request.fs_group);
}

/* Replaces a "Volume ID" at the beginning by "It": the sentence has named the volume. A record is one
 * line. */
static void print_why(FILE *f, const Job *job, const char *message) {
        _cleanup_free_ char *line = text_join_lines(strdup(message));
        const char *rest = startswith(strempty(line), "Volume ");

        rest = rest ? startswith(rest, strempty(job->request.volume)) : NULL;
        if (rest && rest[0] == ' ')
                fprintf(f, "It%s", rest);
        else
                fputs(strempty(line), f);
}

static void print_walk(FILE *f, const OperationResult *o, const char *reason) {
        const WalkCounts *n = &o->walk.counts;

        if (!o->walked) {
                fputs(reason, f);
                return;
        }
        fprintf(f, "%llu entries were visited, and %llu were changed. %s", (unsigned long long) n->done,
                (unsigned long long) n->changed, reason);
        if (n->skipped > 0)
                fprintf(f,
                        " %llu hard links may lead out of the volume and were left alone, so the state of the files stays partial.",
                        (unsigned long long) n->skipped);
        if (n->modified > 0)
                fprintf(f,
                        " %llu directories were modified until the end, and what was moved may have been missed, so the state of the files stays partial.",
                        (unsigned long long) n->modified);
        if (o->walk.submounts)
                fprintf(f, " Submounts were not entered: %s%s.", o->walk.submounts[0],
                        o->walk.submounts[1] ? ", and others" : "");
}

static void print_relabel(FILE *f, const Job *job) {
        const OperationResult *o = job_operation_result(job);

        fputs(o->files.relabel == RELABEL_SKIP ? "No need to relabel " : "Relabeled ", f);
        print_subject(f, job);
        fputs(". ", f);
        print_walk(f, o, relabel_reason_text(o->files.relabel_reason));
}

static void print_ownership(FILE *f, const Job *job) {
        static const char *const done[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_SKIP] = "No need to change",
                [OWNERSHIP_MAP] = "Mapped",
                [OWNERSHIP_WALK] = "Changed",
        };
        const OperationResult *o = job_operation_result(job);
        const char *reason = ownership_reason_text(o->files.ownership_reason);

        fprintf(f, "%s the group of ", done[o->files.ownership]);
        print_subject(f, job);
        fprintf(f, " to %" PRIu32 ". ", job->request.fs_group);
        if (o->files.ownership == OWNERSHIP_WALK)
                print_walk(f, o, reason);
        else
                fputs(reason, f);
        if (!isempty(o->detail))
                fprintf(f, " (%s)", o->detail);
}

/* The device that is still in use after an unmount; NULL: none. */
static const char *unmounted_but_open(const Job *job) {
        return job->operation == OPERATION_UNMOUNT ? job->unmount.still_open : NULL;
}

static void print_done(FILE *f, const Job *job) {
        enum { TOLD_WAIT_USEC = 100000 };
        const bool mounted = job->operation == OPERATION_MOUNT || job->operation == OPERATION_ADOPT;
        const char *still_open = unmounted_but_open(job);
        const Volume *sharer = mounted ? job_find_sharer(job) : NULL;

        fputs(job->operation == OPERATION_MOUNT    ? "Mounted "
              : job->operation == OPERATION_ADOPT  ? "Adopted "
              : job->operation == OPERATION_VERIFY ? "Verified "
              : job->unmount.unmounted             ? "Unmounted "
                                                   : "Nothing was mounted: ",
              f);
        print_subject(f, job);
        if (mounted && !isempty(job->share_target)) {
                fputs(", sharing the mount at ", f);
                print_escaped(f, job->share_target);
        }
        if (job->replaced)
                fputs(", in place of another program's mount", f);
        if (sharer)
                fprintf(f, ", also held as volume %s", sharer->id);
        fputs(" (", f);
        print_duration(f, worked_usec(job));
        if (waited_usec(job) >= TOLD_WAIT_USEC) {
                fputs(", after a wait of ", f);
                print_duration(f, waited_usec(job));
        }
        fputs(job->operation == OPERATION_VERIFY ? "): " : ").", f);
        if (job->operation == OPERATION_VERIFY)
                fputs(strempty(job->verify.text), f);
        else if (still_open)
                fprintf(f,
                        " Its device %s is still in use, most likely in another mount namespace: 'selvolctl doctor', run by root, names the process.",
                        still_open);
        /* For a context mount the context says it all; otherwise the plan's text adds the reason. */
        else if (mounted && job->plan.strategy != STRATEGY_CONTEXT_MOUNT && !isempty(job->plan.text))
                fprintf(f, " %s", job->plan.text);
}

static void print_failed(FILE *f, const Job *job) {
        fputs(job->failure.kind == FAILURE_CANCELED ? "Canceled the request to " : "Failed to ", f);
        print_request(f, job);
        fputs(": ", f);
        print_why(f, job, strempty(job->failure.message));
}

static void print_started(FILE *f, const Job *job) {
        fputs("Started to ", f);
        print_request(f, job);
        if (job->progress.total > 0)
                fprintf(f, ": about %llu entries", (unsigned long long) job->progress.total);
        fprintf(f, " (job %" PRIu64 ").", job->id);
}

static void print_progress(FILE *f, const Job *job) {
        unsigned long long done = job->progress.counts.done, total = job->progress.total,
                           rate = job->progress.entries_per_sec;

        fputs("Still working to ", f);
        print_request(f, job);
        fprintf(f, ": %llu", done);
        if (total > 0 && rate > 0)
                fprintf(f, " of about %llu", total);
        fputs(" entries after ", f);
        print_duration(f, worked_usec(job));
        if (total > 0 && rate > 0)
                fprintf(f, ", %llu s left", (total - done) / rate);
        fputs(".", f);
}

static void print_why_waiting(FILE *f, const Job *job) {
        fputs("Waiting to ", f);
        print_request(f, job);
        fputs(": ", f);
        print_why(f, job, job->waits_for);
}

/* Entries of the journal. */

static bool is_mistake(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;
        /* A walk was about to begin, or the mount to be published: this is more than a call with a
         * mistake. */
        bool begun = job->progress.started_usec > 0 || job->identity.id != 0 || d->relabel == RELABEL_WALK ||
                     d->ownership == OWNERSHIP_WALK;
        /* The child found another mount of the source at a path that the caller did not pass. */
        bool of_node = job->observed.fs_type && job->failure.kind == FAILURE_PATH_NOT_ALLOWED;

        return failure_is_of_caller(job->failure.kind) && !begun && !of_node;
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
                return MESSAGE_FAILED;
        case FAILURE_CANCELED:
                return MESSAGE_CANCELED;
        default:
                return MESSAGE_REFUSED;
        }
}

static void write_record(const Job *job, const char *message, int priority, void (*print)(FILE *f, const Job *job)) {
        bool planned = job->plan.text, walked = job->progress.started_usec > 0,
             seen = job->operation == OPERATION_VERIFY && !isempty(job->verify.result.actual),
             relabel = job_operation_result(job)->files.relabel != RELABEL_NONE,
             group = job_operation_result(job)->files.ownership_reason != OWNERSHIP_NOT_ASKED;
        /* A job that waits for a conflict has a failure, but no outcome. */
        const char *result = !job_has_outcome(job) ? NULL
                             : job_has_failed(job) ? failure_kind_to_string(job->failure.kind)
                                                   : "done";
        const FilesDecision *d = &job_operation_result(job)->files;
        const Request *q = &job->request;
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *f = open_memstream(&text, &size);
        struct {
                char usec[32], waited[32], id[32], entries[32], changed[32], gid[32];
        } n;

        if (f) {
                print(f, job);
                (void) fclose(f);
        }
        (void) snprintf(n.usec, sizeof(n.usec), "%" PRIu64, worked_usec(job));
        (void) snprintf(n.waited, sizeof(n.waited), "%" PRIu64, waited_usec(job));
        (void) snprintf(n.id, sizeof(n.id), "%" PRIu64, job->id);
        (void) snprintf(n.entries, sizeof(n.entries), "%" PRIu64, job->progress.counts.done);
        (void) snprintf(n.changed, sizeof(n.changed), "%" PRIu64, job->progress.counts.changed);
        (void) snprintf(n.gid, sizeof(n.gid), "%" PRIu32, q->fs_group);
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
                { "SELVOL_STILL_OPEN", unmounted_but_open(job) },
                { "SELVOL_RESULT", result },
                { "SELVOL_CALLER", job->caller.text },
                { "SELVOL_DURATION_USEC", n.usec },
                { "SELVOL_WAIT_USEC", n.waited },
        };

        log_fields(priority, fields, ELEMENTSOF(fields), "%s", strempty(text));
}

/* A walk did not complete, so the operation on files failed. */
static bool walk_has_failed(const Job *job) {
        return job_has_failed(job) &&
               (!job_operation_result(job)->walked || job_operation_result(job)->walk.counts.failed > 0);
}

static void log_failed(const Job *job) {
        const FilesDecision *d = &job_operation_result(job)->files;
        const bool walk = walk_has_failed(job) && (d->relabel == RELABEL_WALK || d->ownership == OWNERSHIP_WALK);

        write_record(job,
                     walk && d->relabel == RELABEL_WALK       ? MESSAGE_RELABEL_FAILED
                     : walk && d->ownership == OWNERSHIP_WALK ? MESSAGE_OWNERSHIP_FAILED
                                                              : failure_message(job->failure.kind),
                     job->failure.kind == FAILURE_CANCELED && !walk ? LOG_INFO
                     : is_mistake(job)                              ? LOG_NOTICE
                                                                    : LOG_WARNING,
                     print_failed);
}

/* The decision about the files is an entry of its own, whichever operation it belongs to. */
void job_log(const Job *job) {
        static const char *const group_messages[OWNERSHIP_ACTIONS] = {
                [OWNERSHIP_SKIP] = MESSAGE_OWNERSHIP_SKIPPED,
                [OWNERSHIP_MAP] = MESSAGE_OWNERSHIP_MAPPED,
                [OWNERSHIP_WALK] = MESSAGE_OWNERSHIP_APPLIED,
        };
        const FilesDecision *d = &job_operation_result(job)->files;
        const OperationType *type = operation_type(job->operation);
        const VerifyResult *seen = &job->verify.result;
        bool failed = job_has_failed(job),
             mismatch = job->operation == OPERATION_VERIFY && (!seen->matches || seen->walk.counts.misowned > 0),
             shared = job->operation == OPERATION_MOUNT && job->share_target,
             relabel = d->relabel == RELABEL_SKIP || (d->relabel == RELABEL_WALK && !walk_has_failed(job)),
             group = d->ownership == OWNERSHIP_SKIP || (d->ownership == OWNERSHIP_MAP && !failed) ||
                     (d->ownership == OWNERSHIP_WALK && !walk_has_failed(job));

        /* A plan decides nothing, and a repeated call decides nothing new. */
        if (job->operation == OPERATION_PLAN || (job_operation_result(job)->repeated && !failed))
                return;
        if (relabel)
                write_record(job, d->relabel == RELABEL_SKIP ? MESSAGE_RELABEL_SKIPPED : MESSAGE_RELABELED, LOG_INFO,
                             print_relabel);
        if (group)
                write_record(job, group_messages[d->ownership], LOG_INFO, print_ownership);
        if (failed) {
                log_failed(job);
                return;
        }
        if (type->answered_early)
                return;
        write_record(job,
                     mismatch ? MESSAGE_VERIFY_MISMATCH
                     : shared ? MESSAGE_SHARED
                              : type->done_message,
                     LOG_INFO, print_done);
}

void job_log_started(const Job *job) {
        write_record(job, MESSAGE_STARTED, LOG_INFO, print_started);
}

void job_log_progress(const Job *job) {
        write_record(job, MESSAGE_PROGRESS, LOG_INFO, print_progress);
}

void job_log_waiting(Job *job, const char *why) {
        if (job->operation == OPERATION_PLAN || streq_ptr(job->waits_for, why) ||
            free_and_strdup(&job->waits_for, why) < 0)
                return;
        write_record(job, MESSAGE_WAITING, LOG_INFO, print_why_waiting);
}

void job_log_renewed(const Job *job, const Volume *v, const Identity *found) {
        _cleanup_free_ char *was = identity_describe(&v->identity), *is = identity_describe(found);
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_RENEWED },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_OPERATION", operation_to_string(job->operation) },
                { "SELVOL_TARGET", job->request.target },
        };

        log_fields(LOG_NOTICE, fields, ELEMENTSOF(fields),
                   "Volume %s is another file system now: %s, and not %s. Its record begins anew.", v->id,
                   strempty(is), strempty(was));
}

void job_log_taint(const Volume *v, const char *context) {
        const LogField fields[] = {
                { "MESSAGE_ID", v->mark.tainted ? MESSAGE_TAINTED : MESSAGE_UNTAINTED },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", context },
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

        _cleanup_free_ char *word = shell_quote(v->id);

        if (isempty(not_reset)) {
                log_fields(LOG_WARNING, fields, ELEMENTSOF(fields),
                           "The mark on volume %s says that all files are right, but %s differ: it was reset.", v->id,
                           what);
                return;
        }
        log_fields(
                LOG_WARNING, fields, ELEMENTSOF(fields),
                "The mark on volume %s says that all files are right, but %s differ, and it could not be reset (%s). Run 'selvolctl relabel %s --force', or for a group 'selvolctl ownership %s GID --force', before it is used again.",
                v->id, what, not_reset, strempty(word), strempty(word));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "wire/protocol.h"
#include "daemon/authorise.h"
#include "daemon/commit.h"
#include "daemon/job-object.h"
#include "daemon/record.h"

static const char *const operation_table[OPERATIONS] = {
        [OPERATION_MOUNT] = "mount",     [OPERATION_PLAN] = "plan",     [OPERATION_ADOPT] = "adopt",
        [OPERATION_UNMOUNT] = "unmount", [OPERATION_VERIFY] = "verify", [OPERATION_RELABEL] = "relabel",
        [OPERATION_CHGRP] = "chgrp",
};
DEFINE_STRING_TABLE(operation, Operation);

static const struct {
        void (*begin)(Job *job);
        int (*append)(Job *job, sd_bus_message *reply);
        bool changes; /* at most one such job for a volume at a time */
} operations[OPERATIONS] = {
        [OPERATION_MOUNT] = { job_mount_begin, job_mount_append, true },
        [OPERATION_PLAN] = { job_mount_begin, job_plan_append, false },
        [OPERATION_ADOPT] = { job_adopt_begin, job_mount_append, true },
        [OPERATION_UNMOUNT] = { job_unmount_begin, job_unmount_append, true },
        [OPERATION_VERIFY] = { job_verify_begin, job_verify_append, false },
        [OPERATION_RELABEL] = { job_change_begin, job_change_append, true },
        [OPERATION_CHGRP] = { job_change_begin, job_change_append, true },
};

static void saved_volume_done(SavedVolume *s) {
        free(s->source);
        free(s->fs_type);
        strv_free(s->mount_options);
        free(s->driver);
        free(s->volume_type);
        free(s->context);
        volume_record_done(&s->record);
}

static Job *job_free(Job *job) {
        DL_DELETE(job->manager->jobs, job);
        job->manager->n_jobs--;

        job_object_free(job->object);
        sd_event_source_disable_unref(job->deadline);
        sd_bus_slot_unref(job->slot);
        sd_bus_slot_unref(job->progress);
        worker_disconnect(job->worker);
        for (size_t i = 0; i < job->n_calls; i++)
                sd_bus_message_unref(job->calls[i]);
        free(job->calls);
        request_done(&job->request);
        free(job->expected);
        free(job->caller);
        free(job->found_text);
        free(job->holder);
        free(job->share_target);
        failure_done(&job->failure);
        failure_done(&job->refusal);
        observed_done(&job->observed);
        mount_outcome_done(&job->outcome);
        plan_done(&job->plan);
        saved_volume_done(&job->saved);
        walk_done(&job->walk);
        free(job);
        return NULL;
}

static int add_call(Job *job, sd_bus_message *call) {
        sd_bus_message **grown = reallocarray(job->calls, job->n_calls + 1, sizeof(sd_bus_message *));

        if (!grown)
                return -ENOMEM;
        job->calls = grown;
        job->calls[job->n_calls++] = sd_bus_message_ref(call);
        return 0;
}

static int answer(Job *job, sd_bus_message *call) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        int r;

        if (job->failure.kind != FAILURE_NONE) {
                _cleanup_free_ char *name =
                        strdup_printf(ERROR_PREFIX "%s", failure_kind_to_string(job->failure.kind));

                return name ? sd_bus_reply_method_errorf(call, name, "%s", strempty(job->failure.message)) : -ENOMEM;
        }

        r = sd_bus_message_new_method_return(call, &reply);
        if (r >= 0)
                r = operations[job->operation].append(job, reply);
        if (r < 0)
                return sd_bus_reply_method_errnof(call, r, "Failed to compose the reply: %m");
        return sd_bus_send(sd_bus_message_get_bus(call), reply, NULL);
}

void job_answer(Job *job) {
        for (size_t i = 0; i < job->n_calls; i++) {
                int r = answer(job, job->calls[i]);

                if (r < 0)
                        log_error_errno(r, "Failed to answer a call: %m");
                sd_bus_message_unref(job->calls[i]);
        }
        job->n_calls = 0;
        job->answered = true;
}

static int set_canceled(Job *job, const char *why) {
        return failure_set(&job->failure, FAILURE_CANCELED, "%s: %s.", job->request.volume, why);
}

/* As with the deadline, but the callers are answered when the worker's child has gone. What can't be stopped any
 * more, because all that is left is to write down what was done, goes on. */
void job_cancel(Job *job) {
        if (job->concluded || job->settling || job->stopped)
                return;
        failure_done(&job->failure);
        if (set_canceled(job, "cancelled") < 0)
                job_fail(job, -ENOMEM);
        job->stopped = true;
        if (job->worker)
                worker_hang_up(job->worker);
}

Volume *job_volume(const Job *job) {
        return volumes_find(&job->manager->volumes, job->request.volume);
}

/* What has begun is left as it is: the record says so, and the next start compares it with the mount table. */
void jobs_teardown(Manager *m) {
        while (m->jobs) {
                Job *job = m->jobs;

                failure_done(&job->failure);
                if (set_canceled(job, "selvold is ending; call again") < 0)
                        job_fail(job, -ENOMEM);
                job_answer(job);
                job_object_end(job->object);
                job_free(job);
        }
}

bool job_is_running_on(const Manager *m, const char *volume) {
        const Job *job;

        DL_FOREACH (m->jobs, job)
                if (operations[job->operation].changes && !job->concluded && streq(job->request.volume, volume))
                        return true;
        return false;
}

bool job_is_running_at(const Manager *m, const char *target) {
        const Job *job;

        DL_FOREACH (m->jobs, job)
                if (operations[job->operation].changes && !job->concluded && streq(job->request.target, target))
                        return true;
        return false;
}

/* The one that a new job would get in the way of: a volume, and a target, belong to one job at a time. */
static Job *find_in_the_way(Manager *m, const Request *q) {
        Job *job;

        DL_FOREACH (m->jobs, job)
                if (operations[job->operation].changes &&
                    (streq(job->request.volume, q->volume) ||
                     (!isempty(q->target) && streq(job->request.target, q->target))))
                        return job;
        return NULL;
}

static bool verify_equal(const Job *job, const Request *q, const VerifyOptions *verify) {
        return streq(job->request.context, q->context) && job->request.fs_group == q->fs_group &&
               job->verify.depth == verify->depth;
}

/* Relabel and ApplyOwnership have an answer from their beginning to their end. */
static bool is_answered_early(Operation operation) {
        return operation == OPERATION_RELABEL || operation == OPERATION_CHGRP;
}

static bool change_equal(const Job *job, const Request *q) {
        return streq_ptr(job->request.context, q->context) && job->request.fs_group == q->fs_group &&
               job->request.read_only == q->read_only;
}

/* The one that does just what is asked for, and can still give its answer. How fast a walk goes is for the first to
 * say. */
static Job *find_same(Manager *m, Operation operation, const Request *q, const VerifyOptions *verify) {
        Job *job;

        DL_FOREACH (m->jobs, job) {
                if (job->operation != operation || !streq(job->request.volume, q->volume) ||
                    (job->answered && (!is_answered_early(operation) || job->concluded || job->stopped)))
                        continue;
                /* What is forced serves all, but what may yet be skipped doesn't serve who forces. */
                if (is_answered_early(operation) ? change_equal(job, q) && (job->request.walk.force || !q->walk.force)
                    : operation == OPERATION_VERIFY
                            ? verify->depth != VERIFY_ROOT && verify_equal(job, q, verify)
                            : operations[operation].changes && request_equal(&job->request, q))
                        return job;
        }
        return NULL;
}

static char *describe_caller(Manager *m, sd_bus_message *call) {
        const char *sender = strempty(sd_bus_message_get_sender(call));
        uid_t uid;

        if (authorise_get_uid(m, call, &uid) < 0)
                return strdup(sender);
        return strdup_printf("uid %u, %s", (unsigned) uid, sender);
}

static int job_fill(Job *job, sd_bus_message *call, Request *request, const VerifyOptions *verify) {
        Manager *m = job->manager;
        uint64_t usec = request->timeout_usec > 0 ? request->timeout_usec : m->settings.job_timeout_usec;
        int r;

        job->request = *request;
        *request = REQUEST_INIT;
        if (verify)
                job->verify = *verify;
        job->caller = describe_caller(m, call);
        r = job->caller ? add_call(job, call) : -ENOMEM;
        if (r >= 0 && (operations[job->operation].changes || job->verify.depth != VERIFY_ROOT) &&
            job->operation != OPERATION_PLAN)
                r = job_object_new(job);
        if (r >= 0)
                r = job_set_deadline(job, usec);
        return r < 0 ? r : 0;
}

static int join(Job *job, sd_bus_message *call, Failure *f) {
        int r;

        if (job->answered) {
                r = answer(job, call);
                return r < 0 ? r : 0;
        }
        if (job->n_calls >= CALLS_MAX)
                return failure_set(f, FAILURE_LIMIT_REACHED, "%i calls wait for this already.", CALLS_MAX);
        return add_call(job, call);
}

static int busy_failure(const Job *running, Operation operation, const Request *q, Failure *f) {
        const JobObject *o = running->object;
        _cleanup_free_ char *end = NULL;
        const char *name = operation_to_string(running->operation);

        end = o && o->announced ? strdup_printf(", or end it with selvolctl cancel %llu", (unsigned long long) o->id)
                                : strdup("");
        if (!end)
                return -ENOMEM;
        if (!streq(running->request.volume, q->volume))
                return failure_set(f, FAILURE_BUSY,
                                   "%s: %s is running at the target for volume %s; call again when it has ended%s.",
                                   q->volume, name, running->request.volume, end);
        if (is_answered_early(operation) && running->operation == operation && q->walk.force &&
            change_equal(running, q))
                return failure_set(f, FAILURE_BUSY,
                                   "%s: the same %s is running, but without Force; call again when it has ended%s.",
                                   q->volume, name, end);
        return failure_set(f, FAILURE_BUSY, "%s: %s is running for another request; call again when it has ended%s.",
                           q->volume, name, end);
}

static int check_start(Manager *m, sd_bus_message *call, Operation operation, const Request *q, Failure *f) {
        bool changes = operations[operation].changes;
        const Job *running = changes ? find_in_the_way(m, q) : NULL;

        if (running)
                return busy_failure(running, operation, q, f);
        if (m->n_jobs >= (size_t) (authorise_is_trusted(m, call) ? JOBS_MAX : JOBS_MAX - JOBS_RESERVED))
                return failure_set(f, FAILURE_LIMIT_REACHED, "%zu jobs are running; call again when one has ended.",
                                   m->n_jobs);
        if (changes && !commit_is_possible(m))
                return failure_set(
                        f, FAILURE_STORE_FAILED,
                        "The state can't be written, so nothing can be changed: see the journal of selvold.");
        return 0;
}

int job_start(Manager *m, sd_bus_message *call, Operation operation, Request *request, const VerifyOptions *verify,
              Failure *f) {
        Job *job = find_same(m, operation, request, verify);
        int r;

        if (job)
                return join(job, call, f);
        r = check_start(m, call, operation, request, f);
        if (r != 0)
                return r;

        job = calloc(1, sizeof(*job));
        if (!job)
                return -ENOMEM;
        *job = (Job){
                .manager = m,
                .operation = operation,
                .request = REQUEST_INIT,
                .started_usec = now_monotonic_usec(),
                .share_disk_gid = GID_NONE,
                .expected_gid = GID_NONE,
        };
        DL_APPEND(m->jobs, job);
        m->n_jobs++;
        r = job_fill(job, call, request, verify);
        if (r < 0) {
                job_free(job);
                return r;
        }
        operations[operation].begin(job);
        return 0;
}

void job_fail(Job *job, int error) {
        FailureKind kind = error == -ENOMEM ? FAILURE_LIMIT_REACHED : FAILURE_WORKER_FAILED;
        const char *text = strerror(-error);

        if (job->failure.kind != FAILURE_NONE)
                return;
        /* What sd-bus says of a message with other types than expected is -ENXIO or -EBUSY. */
        if (error == -EBADMSG || error == -ENXIO || error == -EBUSY)
                text = "The worker's answer makes no sense: are selvold and selvol-worker of the same version?";
        if (failure_set(&job->failure, kind, "%s", text) < 0)
                job->failure = (Failure){ .kind = kind, .message = NULL };
}

typedef struct Waiting {
        Job *job;
        JobCallback callback;
} Waiting;

static int set_commit_failure(Job *job, int error) {
        const char *outcome = job->concluded ? "what was done is not recorded yet" : "nothing was changed";

        if (error == -ECANCELED)
                return set_canceled(job, "selvold is ending; call again");
        return failure_set(&job->failure, FAILURE_STORE_FAILED,
                           "%s: the state could not be written (%s), so %s: make room in %s and call again.",
                           job->request.volume, strerror(-error), outcome, job->manager->options.state_directory);
}

static void on_committed(Manager *m, int error, void *userdata) {
        Waiting *w = userdata;
        Job *job = w->job;
        JobCallback callback = w->callback;

        free(w);
        /* Who only asks needs no record. */
        if (error < 0 && job->failure.kind == FAILURE_NONE && operations[job->operation].changes &&
            set_commit_failure(job, error) < 0)
                job_fail(job, -ENOMEM);
        callback(job);
}

void job_then(Job *job, JobCallback callback) {
        Waiting *w = malloc(sizeof(*w));

        if (w)
                *w = (Waiting){ job, callback };
        if (!w || commit_then(job->manager, on_committed, w) < 0) {
                free(w);
                job_fail(job, -ENOMEM);
                callback(job);
        }
}

static Job *find_waiting(const Manager *m) {
        Job *job;

        DL_FOREACH (m->jobs, job)
                if (job->waiting && !job_unmount_must_wait(job))
                        return job;
        return NULL;
}

static void finish(Job *job) {
        Manager *m = job->manager;

        record_job(job);
        job_answer(job);
        job_object_end(job->object);
        job_free(job);
        while ((job = find_waiting(m)))
                job_unmount_resume(job);
}

void job_conclude(Job *job) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        job->worker = worker_disconnect(job->worker);
        job->concluded = true;
        record_history(job);
        job_then(job, finish);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include <utlist.h>

#include "basic/log.h"
#include "core/worker-protocol.h"
#include "daemon/authorise.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/record.h"
#include "daemon/worker-client.h"

static const char *const operation_table[OPERATIONS] = {
        [OPERATION_MOUNT] = "mount",     [OPERATION_PLAN] = "plan",     [OPERATION_ADOPT] = "adopt",
        [OPERATION_UNMOUNT] = "unmount", [OPERATION_VERIFY] = "verify",
};
DEFINE_STRING_TABLE(operation, Operation);

enum { CALLS_MAX = 64 }; /* that one job answers */

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
};

static void saved_volume_done(SavedVolume *s) {
        free(s->source);
        free(s->fs_type);
        free(s->driver);
        free(s->volume_type);
        free(s->context);
}

static Job *job_free(Job *job) {
        DL_DELETE(job->manager->jobs, job);
        job->manager->n_jobs--;

        sd_event_source_disable_unref(job->deadline);
        sd_bus_slot_unref(job->slot);
        worker_disconnect(job->worker);
        for (size_t i = 0; i < job->n_calls; i++)
                sd_bus_message_unref(job->calls[i]);
        free(job->calls);
        request_done(&job->request);
        free(job->expected);
        free(job->caller);
        free(job->actual);
        free(job->holder);
        free(job->share_target);
        failure_done(&job->failure);
        failure_done(&job->refusal);
        observed_done(&job->observed);
        mount_outcome_done(&job->outcome);
        plan_done(&job->plan);
        saved_volume_done(&job->saved);
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

static void answer_all(Job *job) {
        for (size_t i = 0; i < job->n_calls; i++) {
                int r = answer(job, job->calls[i]);

                if (r < 0)
                        log_error_errno(r, "Failed to answer a call: %m");
                sd_bus_message_unref(job->calls[i]);
        }
        job->n_calls = 0;
        job->answered = true;
}

static int set_canceled(Job *job) {
        return failure_set(&job->failure, FAILURE_CANCELED, "%s: selvold is ending; call again.",
                           job->request.volume);
}

/* What has begun is left as it is: the record says so, and the next start compares it with the mount table. */
void jobs_teardown(Manager *m) {
        while (m->jobs) {
                Job *job = m->jobs;

                if (set_canceled(job) > 0)
                        answer_all(job);
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
static Job *find_running(Manager *m, const Request *q) {
        Job *job;

        DL_FOREACH (m->jobs, job)
                if (operations[job->operation].changes &&
                    (streq(job->request.volume, q->volume) || streq(job->request.target, q->target)))
                        return job;
        return NULL;
}

static int set_timed_out(Job *job) {
        return failure_set(
                &job->failure, FAILURE_TIMED_OUT,
                "%s: the file system or its server did not answer in time. Other volumes are not affected; "
                "the volume is busy until the attempt has been cleaned up.",
                job->request.volume);
}

/* The deadline: the caller is answered at once, and the connection is half-closed so that the child is ended. What it
 * may have left is settled when the connection breaks. */
static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        /* Of what is being settled the failure is known. */
        if (!job->settling && set_timed_out(job) < 0)
                job_fail(job, -ENOMEM);
        job->timed_out = true;
        answer_all(job);
        if (job->worker)
                worker_hang_up(job->worker);
        return 0;
}

static int set_deadline(Job *job, uint64_t usec) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        return sd_event_add_time_relative(job->manager->event, &job->deadline, CLOCK_MONOTONIC, usec, 0, on_deadline,
                                          job);
}

void job_begin_settling(Job *job) {
        job->settling = true;
        job->worker = worker_disconnect(job->worker);
        if (set_deadline(job, job->manager->settings.job_timeout_usec) < 0)
                log_error("No memory for a deadline: cleaning up after a job on volume %s may take long.",
                          job->request.volume);
}

static char *describe_caller(Manager *m, sd_bus_message *call) {
        const char *sender = strempty(sd_bus_message_get_sender(call));
        uid_t uid;

        if (authorise_get_uid(m, call, &uid) < 0)
                return strdup(sender);
        return strdup_printf("uid %u, %s", (unsigned) uid, sender);
}

static int job_new(Manager *m, sd_bus_message *call, Operation operation, const char *expected, Job **ret) {
        Job *job = calloc(1, sizeof(*job));
        int r;

        if (!job)
                return -ENOMEM;
        *job = (Job){
                .manager = m,
                .operation = operation,
                .request = REQUEST_INIT,
                .started_usec = now_monotonic_usec(),
                .caller = describe_caller(m, call),
        };
        DL_APPEND(m->jobs, job);
        m->n_jobs++;

        r = job->caller ? free_and_strdup(&job->expected, expected) : -ENOMEM;
        if (r >= 0)
                r = add_call(job, call);
        if (r < 0) {
                job_free(job);
                return r;
        }
        *ret = job;
        return 0;
}

static int join(Job *job, sd_bus_message *call, Failure *f) {
        if (job->n_calls >= CALLS_MAX)
                return failure_set(f, FAILURE_LIMIT_REACHED, "%i calls wait for this already.", CALLS_MAX);
        return add_call(job, call);
}

int job_start(Manager *m, sd_bus_message *call, Operation operation, Request *request, const char *expected,
              Failure *f) {
        bool changes = operations[operation].changes;
        Job *running = changes ? find_running(m, request) : NULL, *job;
        uint64_t usec;
        int r;

        if (running && running->operation == operation && !running->answered &&
            request_equal(&running->request, request))
                return join(running, call, f);
        if (running && !streq(running->request.volume, request->volume))
                return failure_set(f, FAILURE_BUSY,
                                   "%s: %s is running at the target for volume %s; call again when it has ended.",
                                   request->volume, operation_to_string(running->operation), running->request.volume);
        if (running)
                return failure_set(f, FAILURE_BUSY,
                                   "%s: %s is running for another request; call again when it has ended.",
                                   request->volume, operation_to_string(running->operation));
        if (m->n_jobs >= (size_t) (authorise_is_trusted(m, call) ? JOBS_MAX : JOBS_MAX - JOBS_RESERVED))
                return failure_set(f, FAILURE_LIMIT_REACHED, "%zu jobs are running; call again when one has ended.",
                                   m->n_jobs);
        if (changes && !commit_is_possible(m))
                return failure_set(
                        f, FAILURE_STORE_FAILED,
                        "The state can't be written, so nothing can be changed: see the journal of selvold.");

        r = job_new(m, call, operation, expected, &job);
        if (r < 0)
                return r;
        job->request = *request;
        *request = REQUEST_INIT;
        usec = job->request.timeout_usec > 0 ? job->request.timeout_usec : m->settings.job_timeout_usec;
        r = set_deadline(job, usec);
        if (r < 0) {
                job_free(job);
                return r;
        }
        operations[operation].begin(job);
        return 0;
}

static int on_worker_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        const sd_bus_error *e = sd_bus_message_get_error(reply);
        JobStep step = job->step;
        int r;

        job->slot = sd_bus_slot_unref(job->slot);
        if (!e) {
                /* Late, but if it was the act itself it is done, and a repeated call gets this answer. What only
                 * leads up to it leads nowhere, as the connection is half closed. */
                if (job->timed_out && !job->settling) {
                        if (job->acting)
                                failure_done(&job->failure);
                        else
                                reply = NULL;
                }
                step(job, reply);
                return 0;
        }

        /* A connection that broke leaves the next call a new one. */
        if (!worker_error_is_answer(e))
                job->worker = worker_disconnect(job->worker);
        else
                job->acting = false;
        if (!job->timed_out && !job->settling) {
                r = worker_read_failure(e, &job->failure);
                if (r < 0)
                        job_fail(job, r);
        }
        step(job, NULL);
        return 0;
}

int job_new_worker_call(Job *job, const char *member, sd_bus_message **ret) {
        int r;

        if (!job->worker) {
                r = worker_connect(job->manager->options.worker_socket, job->manager->event, &job->worker);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_new_method_call(job->worker, ret, NULL, WORKER_PATH, WORKER_INTERFACE, member);
}

/* Steps are always entered from the event loop or with the failure set, never with a reply at once. */
static void call_failed(Job *job, JobStep step, int error) {
        if (!job->settling &&
            failure_set(&job->failure, FAILURE_WORKER_FAILED,
                        "The worker can't be reached (%s): is selvol-worker.socket active? See systemctl status "
                        "selvol-worker.socket.",
                        strerror(-error)) < 0)
                job_fail(job, -ENOMEM);
        job->worker = worker_disconnect(job->worker);
        job->acting = false;
        step(job, NULL);
}

void job_send_worker_call(Job *job, JobStep step, sd_bus_message *call) {
        int r;

        job->step = step;
        /* The deadline is ours; sd-bus must not give up before it. */
        r = sd_bus_call_async(job->worker, &job->slot, call, on_worker_reply, job, UINT64_MAX);
        if (r < 0)
                call_failed(job, step, r);
}

void job_call_worker(Job *job, JobStep step, const char *member, const char *types, ...) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        va_list ap;
        int r;

        r = job_new_worker_call(job, member, &call);
        if (r >= 0) {
                va_start(ap, types);
                r = sd_bus_message_appendv(call, types, ap);
                va_end(ap);
        }
        if (r < 0)
                call_failed(job, step, r);
        else
                job_send_worker_call(job, step, call);
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
        void (*callback)(Job *job);
} Waiting;

static int set_commit_failure(Job *job, int error) {
        const char *outcome = job->concluded ? "what was done is not recorded yet" : "nothing was changed";

        if (error == -ECANCELED)
                return set_canceled(job);
        return failure_set(&job->failure, FAILURE_STORE_FAILED,
                           "%s: the state could not be written (%s), so %s: make room in %s and call again.",
                           job->request.volume, strerror(-error), outcome, job->manager->options.state_directory);
}

static void on_committed(Manager *m, int error, void *userdata) {
        Waiting *w = userdata;
        Job *job = w->job;
        void (*callback)(Job *) = w->callback;

        free(w);
        /* Who only asks needs no record. */
        if (error < 0 && job->failure.kind == FAILURE_NONE && operations[job->operation].changes &&
            set_commit_failure(job, error) < 0)
                job_fail(job, -ENOMEM);
        callback(job);
}

void job_then(Job *job, void (*callback)(Job *job)) {
        Waiting *w = malloc(sizeof(*w));

        if (w)
                *w = (Waiting){ job, callback };
        if (!w || commit_then(job->manager, on_committed, w) < 0) {
                free(w);
                job_fail(job, -ENOMEM);
                callback(job);
        }
}

static void finish(Job *job) {
        record_job(job);
        answer_all(job);
        job_free(job);
}

void job_conclude(Job *job) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        job->worker = worker_disconnect(job->worker);
        job->concluded = true;
        record_history(job);
        job_then(job, finish);
}

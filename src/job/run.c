/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "job/answer.h"
#include "job/end.h"
#include "job/line.h"
#include "job/operations.h"
#include "job/questions.h"
#include "job/run.h"
#include "state/commit.h"
#include "wire/peer.h"
#include "wire/protocol.h"

/* From job_run() to the end:
 *
 *   check → child → Plan: plan, answer → ... → Ready, of a mount: intent → durable → answer → ... → reply: outcome →
 *   durable, but of a mount → callers answered; the claims end when the child is gone.
 */

/* The reply. */

static void take_error(Job *job, const sd_bus_error *e) {
        if (job->state != JOB_SETTLING)
                job_fail(job, peer_error_read(e, &job->failure));
        /* What else may be left is known when the child is gone. */
        if (!peer_error_is_answer(e))
                return;
        if (job->failure.kind == FAILURE_GROUP_CONFLICT && line_note_group_conflict(job) >= 0) {
                job_refuse(job);
                if (job->state == JOB_RUNNING && line_wait_for_conflict(job)) {
                        job_put_in_line(job);
                        return;
                }
        }
        job_conclude_failed(job);
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(reply);
        Job *job = userdata;
        int r;

        job->call = sd_bus_slot_unref(job->call);
        /* What comes from a child that was told to wait, or to stop, is no answer; nor is what comes from one that broke the
         * protocol. */
        if (job->state == JOB_WAITING || job->ended_usec > 0 ||
            (job->state == JOB_SETTLING && job->failure.kind == FAILURE_WORKER_FAILED)) {
                peer_hang_up(job->worker);
                return 0;
        }
        if (e) {
                take_error(job, e);
                return 0;
        }
        /* It ends by itself, and this makes sure of it. */
        peer_hang_up(job->worker);
        r = operation_type(job->operation)->take(job, reply);
        /* Late, but done: a repeated call gets this answer. */
        if (r == 0 && job->state == JOB_SETTLING)
                failure_done(&job->failure);
        job_fail(job, r);
        if (r > 0)
                job_refuse(job);
        if (r < 0 && job->identity.id != 0)
                job_stop(job);
        else if (r != 0)
                job_conclude_failed(job);
        else
                job_conclude(job);
        return 0;
}

/* The child. */

static int call_worker(Job *job) {
        const OperationType *type = operation_type(job->operation);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = job_connect(job);
        if (r < 0)
                return r;
        r = questions_answer(job);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(job->worker, &call, NULL, WORKER_PATH, WORKER_INTERFACE, type->method);
        if (r < 0)
                return r;
        r = type->append(job, call);
        if (r < 0)
                return r;
        /* The deadline is ours; sd-bus must not give up before it. */
        return sd_bus_call_async(job->worker, &job->call, call, on_reply, job, UINT64_MAX);
}

static void start_child(Job *job) {
        int r;

        if (job->state != JOB_RUNNING || job_has_failed(job)) {
                job_conclude_failed(job);
                return;
        }
        r = call_worker(job);
        if (r >= 0) {
                if (job->operation == OPERATION_UNMOUNT)
                        job_set_state(job, JOB_ACTING);
                log_debug("%s: job %llu: the worker is called for %s.", job->request.volume,
                          (unsigned long long) job->id, operation_to_string(job->operation));
                return;
        }
        job->worker = peer_disconnect(job->worker);
        job_fail(job, failure_set(&job->failure, FAILURE_WORKER_FAILED,
                                  "The worker can't be reached (%s): see 'systemctl status selvol-worker.socket'.",
                                  strerror(-r)));
        job_conclude_failed(job);
}

void job_run(Job *job) {
        int r;

        failure_done(&job->failure);
        job_set_state(job, JOB_RUNNING);
        r = operation_type(job->operation)->check(job);
        if (r == 0 && (job->operation == OPERATION_UNMOUNT || commit_get_error(job->jobs->state) == 0)) {
                start_child(job);
                return;
        }
        /* Whether the state can be written again is found out before anything is done that needs a record. */
        if (r == 0) {
                job_then(job, start_child);
                return;
        }
        job_fail(job, r);
        if (r > 0)
                job_refuse(job);
        job_conclude_failed(job);
}

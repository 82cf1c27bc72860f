/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "job/end.h"
#include "job/job-log.h"
#include "job/job-record.h"
#include "job/forget.h"
#include "job/job-queue.h"
#include "job/places.h"
#include "job/run.h"
#include "state/commit.h"
#include "state/watch.h"
#include "wire/peer.h"
#include "wire/protocol.h"

/* One call of the worker. job_run() starts a child over a connection of its own. The child asks Plan; it asks
 * Walk before a walk, and Ready before its mount is visible. It reports the progress of a walk. It sends its
 * result, and is gone when the connection ends. selvold answers Walk and Ready when the record is durable.
 *
 * A child that is lost after Ready may have published its mount: another child unmounts that mount, by its
 * identity. */

static int on_plan(sd_bus_message *m, void *userdata, sd_bus_error *error);
static int on_walk(sd_bus_message *m, void *userdata, sd_bus_error *error);
static int on_at(sd_bus_message *m, void *userdata, sd_bus_error *error);
static int on_progress(sd_bus_message *m, void *userdata, sd_bus_error *error);
static int on_ready(sd_bus_message *m, void *userdata, sd_bus_error *error);
static int on_child_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error);
static int on_child_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error);

static const sd_bus_vtable questions[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD(DECISION_PLAN, PLAN_QUESTION_TYPE, PLAN_ANSWER_TYPE, on_plan, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(DECISION_WALK, WALK_QUESTION_TYPE, "", on_walk, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(DECISION_READY, READY_QUESTION_TYPE, "", on_ready, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

static int call_worker(Job *job, const char *method, int (*append)(const Job *job, sd_bus_message *call)) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const State *s = job->jobs->state;
        int r;

        job->settings = s->settings.digest;
        job->at = AT_WORKER;
        job->n_gone = job->jobs->n_gone;
        r = peer_connect(s->worker_socket, s->event, &job->worker);
        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(job->worker, NULL, NULL, "/org/freedesktop/DBus/Local",
                                      "org.freedesktop.DBus.Local", "Disconnected", on_child_disconnected, NULL, job);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(job->worker, NULL, DECISION_PATH, DECISION_INTERFACE, questions, job);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(job->worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS, on_progress,
                                job);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(job->worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_AT, on_at, job);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(job->worker, &call, NULL, WORKER_PATH, WORKER_INTERFACE, method);
        if (r < 0)
                return r;
        r = append(job, call);
        if (r < 0)
                return r;
        log_debug("%s: job %llu: the worker is called for %s.", job->request.volume, (unsigned long long) job->id,
                  method);
        /* The job has a deadline of its own; sd-bus must not time out before it. */
        return sd_bus_call_async(job->worker, &job->call, call, on_child_reply, job, UINT64_MAX);
}

static void job_start_child(Job *job) {
        const OperationType *type = operation_type(job->operation);
        int r;

        /* The job was canceled, or the state can't be written. */
        if (job->state != JOB_RUNNING || job_has_failed(job)) {
                job_conclude_failed(job);
                return;
        }
        r = call_worker(job, type->method, type->append);
        if (r >= 0) {
                if (job->operation == OPERATION_UNMOUNT)
                        job_set_state(job, JOB_ACTING);
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
        job->run_usec = now_monotonic_usec();
        job_set_state(job, JOB_RUNNING);
        r = operation_type(job->operation)->check(job);
        if (r != 0) {
                job_fail(job, r);
                if (r > 0)
                        job_report_refusal(job);
                job_conclude_failed(job);
                return;
        }
        /* After a failed commit, tries to write the state before a child does anything that needs a
         * record. */
        if (job->operation == OPERATION_UNMOUNT || commit_get_error(job->jobs->state) == 0)
                job_start_child(job);
        else
                job_then(job, job_start_child);
}

void jobs_advance(Jobs *jobs) {
        Job *job, *next;
        Places places;

        (void) sd_event_source_set_enabled(jobs->advance, SD_EVENT_OFF);
        jobs_expire(jobs);
        forget_ephemeral(jobs);
        places_count(&places, jobs);
        DL_FOREACH_SAFE (jobs->list, job, next) {
                if (job->state != JOB_QUEUED || !places_have_room(&places, job))
                        continue;
                if (job->operation == OPERATION_UNMOUNT)
                        job_cancel_verifies(job);
                if (!queue_is_turn(job))
                        continue;
                places_take(&places, job);
                job_run(job);
        }
}

/* The child broke the protocol: selvold ignores it from now on. */
static int disbelieve_child(Job *job, int r) {
        job_fail(job, r);
        job_stop(job);
        return r;
}

/* A question that the operation does not have, or that is not due in this state. */
static bool is_unasked(const Job *job, bool has_question) {
        return job->question || !has_question || job->state != JOB_RUNNING;
}

/* The child replaces the mount of another program. From the unmount to the end of the job it has its time
 * anew if the callers were answered meanwhile. */
static void take_replacing(Job *job, WorkerAt at) {
        job->replacing = true;
        job->replaced = at == WORKER_AT_REPLACED;
        job->at = job->replaced ? AT_STAGE : AT_UNMOUNT;
        if (job->replaced && job->deadline_usec == UINT64_MAX)
                job_set_deadline(job, job_timeout_usec(job));
}

/* The signal At. */
static int on_at(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        const char *word;
        int r;

        if (job->state != JOB_RUNNING && job->state != JOB_ACTING)
                return 0;
        r = sd_bus_message_read(m, "s", &word);
        if (r >= 0)
                r = worker_at_from_string(word);
        if (r < 0)
                (void) disbelieve_child(job, -EBADMSG);
        else if (r != WORKER_AT_LOOK && job->operation == OPERATION_MOUNT && job->request.replace)
                take_replacing(job, r);
        else if (job->at <= AT_LOOK)
                job->at = r == WORKER_AT_UNMOUNT && job->operation == OPERATION_UNMOUNT ? AT_UNMOUNT : AT_LOOK;
        return 0;
}

/* The question Plan. */

static int send_answer(Job *job, const PlanAnswer *a) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *question = TAKE_PTR(job->question), *reply = NULL;
        int r;

        if (!question)
                return -ENOENT;
        log_debug("%s: job %llu: Plan is answered with %s.", job->request.volume, (unsigned long long) job->id,
                  plan_step_to_string(a->step));
        r = sd_bus_message_new_method_return(question, &reply);
        if (r < 0)
                return r;
        r = plan_answer_append(reply, a);
        if (r < 0)
                return r;
        r = sd_bus_send(job->worker, reply, NULL);
        return r < 0 ? r : 0;
}

/* Sends a step that ends the child, which has published nothing. */
static void send_plan_step(Job *job, PlanStep step) {
        PlanAnswer a = PLAN_ANSWER_INIT;

        a.step = step;
        if (send_answer(job, &a) < 0)
                peer_hang_up(job->worker);
}

/* Returns 0 with an answer (also PLAN_WAIT), or a failure kind or a negative errno if the job fails. */
static int decide_plan(Job *job, PlanQuestion *q, PlanAnswer *ret) {
        int r;

        /* A child with an earlier configuration makes place for one with the present one. */
        if (job->settings != job->jobs->state->settings.digest) {
                ret->step = PLAN_WAIT;
                return 0;
        }
        if (operation_type(job->operation)->changes) {
                r = queue_claim_superblock(job, job->observed.superblock);
                if (r < 0)
                        return r;
                if (r == 0) {
                        ret->step = PLAN_WAIT;
                        return 0;
                }
        }
        /* The second Plan question: the plan stays, because the child has staged it, but other holders may
         * rely on the group by now. */
        if (q->files.ownership != OWNERSHIP_NONE && operation_type(job->operation)->changes && job->plan.text) {
                job_record_mark(job, &q->mark);
                r = job_check_reliances(job, &q->files, q->root, &ret->reliances, &ret->n_reliances);
        } else
                r = operation_type(job->operation)->plan(job, q, ret);
        if (r <= 0)
                return r;
        job_report_refusal(job);
        /* The failure stays set while the job waits, as the reply for when WaitUSec is over. */
        if (!queue_may_wait(job))
                return r;
        ret->step = PLAN_WAIT;
        return 0;
}

static int on_plan(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
        _cleanup_(plan_question_done) PlanQuestion q = { 0 };
        Job *job = userdata;
        State *s = job->jobs->state;
        int r;

        if (is_unasked(job, operation_type(job->operation)->plan))
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "There is nothing to plan.");
        r = plan_question_read(m, &q);
        if (r < 0)
                return disbelieve_child(job, r);
        /* The watch looks at SELinux once a second: it has not noticed this change yet, and might not notice
         * a change back. */
        if (state_take_node(s, &q.node))
                watch_recheck(s);
        observed_done(&job->observed);
        job->observed = TAKE_STRUCT(q.observed);
        job->question = sd_bus_message_ref(m);
        log_debug("%s: job %llu: Plan is asked: %s on %s, %zu mounts.", job->request.volume,
                  (unsigned long long) job->id, strempty(job->observed.fs_type), strempty(job->observed.superblock),
                  job->observed.n_mounts);
        r = decide_plan(job, &q, &a);
        /* Another child would not know the options of the mount that is gone. */
        if (r == 0 && a.step == PLAN_WAIT && job->replaced)
                r = job_has_failed(job) ? (int) job->failure.kind
                                        : failure_set(&job->failure, FAILURE_BUSY,
                                                      "The configuration was changed meanwhile: try again.");
        if (r == 0 && a.step == PLAN_WAIT) {
                /* When its child is gone, the job waits as if nothing had been recorded for it. */
                job_revert(job);
                job_set_state(job, JOB_LEAVING);
                queue_check_look(job);
                queue_show(job);
                send_plan_step(job, PLAN_WAIT);
                return 1;
        }
        if (a.step != PLAN_LOOK)
                job->at = AT_STAGE;
        if (r == 0)
                r = send_answer(job, &a);
        job_fail(job, r);
        if (r != 0) {
                send_plan_step(job, PLAN_STOP);
                job_conclude_failed(job);
        }
        return 1;
}

/* The question Walk. */

/* Answers Walk or Ready when the record is durable. Only Ready sets an identity, and the child publishes
 * nothing before the answer. If the job is stopping or settling by now, the question is gone. */
static void answer_durable(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *question = TAKE_PTR(job->question);

        job->at = job->identity.id != 0 ? AT_PUBLISH : AT_FILES;
        if (job_has_failed(job))
                mount_identity_done(&job->identity);
        else if (job->identity.id != 0 && job->state == JOB_RUNNING)
                job_set_state(job, JOB_ACTING);
        if (!question || !job->worker)
                return;
        if (!job_has_failed(job))
                job_fail(job, sd_bus_reply_method_return(question, NULL));
        if (job_has_failed(job))
                job_stop(job);
}

static int on_walk(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(walk_question_done) WalkQuestion n = { 0 };
        Job *job = userdata;
        int r;

        if (is_unasked(job, operation_type(job->operation)->plan))
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "There is nothing to walk over.");
        r = walk_question_read(m, &n);
        if (r < 0)
                return disbelieve_child(job, r);
        job->walk_asked = true;
        job->result.files = n.files;
        job_begin_walk(job);
        job_record_mark(job, &n.mark);
        log_debug("%s: job %llu: Walk is asked.", job->request.volume, (unsigned long long) job->id);
        if (job_cancel_walk(job))
                return 1;
        job->question = sd_bus_message_ref(m);
        job_then(job, answer_durable);
        return 1;
}

/* Each progress extends the deadline of a walk, unless the caller has set a limit for the whole job. */
static int take_walk_progress(Job *job, sd_bus_message *signal) {
        ProgressNews news;
        WalkCounts counts;
        uint64_t total;
        int r;

        r = walk_counts_read(signal, &counts);
        if (r < 0)
                return r;
        r = sd_bus_message_read(signal, "t", &total);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        r = progress_take(&job->progress, &counts, total);
        if (r < 0)
                return r;
        job_show(job);
        news = progress_next_news(&job->progress, now_monotonic_usec());
        if (news == PROGRESS_STARTED)
                job_log_started(job);
        else if (news == PROGRESS_GOES_ON)
                job_log_progress(job);
        if (operation_type(job->operation)->answered_early)
                job_answer(job);
        event_emit(job->jobs->state, job_changed, job);
        if (job->request.timeout_usec == 0 && job->state != JOB_STOPPING)
                job_set_deadline(job, job_timeout_usec(job));
        return 0;
}

static int on_progress(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        if (job->state != JOB_RUNNING && job->state != JOB_ACTING && job->state != JOB_STOPPING)
                return 0;
        r = take_walk_progress(job, m);
        /* The recorded state of the files stays partial. */
        if (r < 0)
                (void) disbelieve_child(job, r);
        return 0;
}

/* The question Ready. */

static int on_ready(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(ready_question_done) ReadyQuestion n = { 0 };
        Job *job = userdata;
        int r;

        if (is_unasked(job, operation_type(job->operation)->ready))
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "Nothing can be ready.");
        r = ready_question_read(m, &n);
        if (r >= 0)
                r = operation_type(job->operation)->ready(job, &n);
        if (r >= 0)
                job_record_mark(job, &n.mark);
        if (r < 0)
                return disbelieve_child(job, r);
        log_debug("%s: job %llu: Ready: mount %llu of device %s.", job->request.volume, (unsigned long long) job->id,
                  (unsigned long long) n.identity.id, n.identity.device);
        job->question = sd_bus_message_ref(m);
        mount_identity_done(&job->identity);
        job->identity = TAKE_STRUCT(n.identity);
        job_then(job, answer_durable);
        return 1;
}

/* The child's result. */

static void take_reply(Job *job, sd_bus_message *reply) {
        int r;

        r = job->question ? -EBADMSG : operation_type(job->operation)->take(job, reply);
        /* The result came late but is a success: a repeated call gets this result. */
        if (r == 0 && job->state == JOB_STOPPING)
                failure_done(&job->failure);
        job_fail(job, r);
        if (r > 0)
                job_report_refusal(job);
        if (r < 0 && job->identity.id != 0)
                job_stop(job);
        else if (r != 0)
                job_conclude_failed(job);
        else
                job_conclude(job);
}

/* The intent stays in the record; the watch compares it with the mount table. */
static void conclude_unsettled(Job *job) {
        mount_identity_done(&job->identity);
        job_conclude(job);
        watch_recheck(job->jobs->state);
}

static int on_child_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *e = sd_bus_message_get_error(reply);
        Job *job = userdata;

        job->call = sd_bus_slot_unref(job->call);
        /* The child exits by itself, unless it is of another version; this makes sure that it does. */
        peer_hang_up(job->worker);
        switch (job->state) {
        case JOB_STOPPING:
                /* The child broke the protocol, or selvold had no memory for its messages. */
                if (job->failure.kind == FAILURE_WORKER_FAILED)
                        break;
                _fallthrough_;
        case JOB_RUNNING:
        case JOB_ACTING:
                if (!e) {
                        take_reply(job, reply);
                        return 0;
                }
                /* A child that answers has unmounted what it said, and nothing else. */
                job->replacing = job->replaced || (job->replacing && !peer_error_is_answer(e));
                if (job->state != JOB_STOPPING)
                        job_fail(job, peer_error_read(e, &job->failure));
                /* The worker may have another configuration: the watch tells. */
                if (job->failure.kind == FAILURE_WORKER_FAILED)
                        watch_recheck(job->jobs->state);
                /* An error that the child did not send settles nothing: settle_loss() handles the job when
                 * the connection ends. */
                if (peer_error_is_answer(e))
                        job_conclude_failed(job);
                return 0;
        case JOB_SETTLING:
                if (e) {
                        conclude_unsettled(job);
                        return 0;
                }
                mount_identity_done(&job->identity);
                job_conclude_failed(job);
                return 0;
        default:
                /* The child was told to wait or to stop: this reply is no result. */
                break;
        }
        return 0;
}

/* The end of the connection. */

static int append_settling_unmount(const Job *job, sd_bus_message *call) {
        const UnmountCall c = {
                .origin = job_origin(job),
                .target = job->request.target,
                .identity = job->identity,
        };

        return unmount_call_append(call, &c);
}

static void settle_loss(Job *job) {
        if (!job_has_failed(job))
                job_fail(job, failure_set(&job->failure, FAILURE_WORKER_FAILED,
                                          "The worker gave no answer: see 'journalctl -u selvol-worker'."));
        if (job->identity.id == 0) {
                job_conclude_failed(job);
                return;
        }
        job_set_state(job, JOB_SETTLING);
        job_set_deadline(job, job->jobs->state->settings.job_timeout_usec);
        if (call_worker(job, WORKER_UNMOUNT, append_settling_unmount) >= 0)
                return;
        job->worker = peer_disconnect(job->worker);
        conclude_unsettled(job);
}

static int on_child_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        Jobs *jobs = job->jobs;

        job->call = sd_bus_slot_unref(job->call);
        job->question = sd_bus_message_unref(job->question);
        job->worker = peer_disconnect(job->worker);
        switch (job->state) {
        case JOB_LEAVING:
                queue_return(job);
                break;
        case JOB_RUNNING:
        case JOB_ACTING:
        case JOB_STOPPING:
                settle_loss(job);
                break;
        case JOB_SETTLING:
                conclude_unsettled(job);
                break;
        case JOB_ENDED:
                job_set_state(job, JOB_OVER);
                job_release(job);
                break;
        default:
                break;
        }
        /* This frees a job that is over. Nothing uses the job afterwards: sd-bus keeps the connection until
         * this function has returned, and only the event loop dispatches the connection. */
        jobs_advance(jobs);
        return 0;
}

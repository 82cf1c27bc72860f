/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "job/answer.h"
#include "job/holder.h"
#include "job/job-log.h"
#include "job/job-metrics.h"
#include "job/line.h"
#include "job/operations.h"
#include "job/progress.h"
#include "job/run.h"
#include "state/commit.h"
#include "state/watch.h"
#include "wire/peer.h"
#include "wire/protocol.h"

/* From job_run() to the end:
 *
 *   check, intent of what asks no questions → child → Plan: plan, intent → durable → answer → ... → reply: outcome →
 *   durable → callers answered; the claims end when the child is gone.
 */

static void settle(Job *job);

/* The end. */

static void release(Job *job) {
        State *s = job->jobs->state;
        const Holder *h = job_find_holder(job);

        log_debug("%s: job %llu: child gone, claims released.", job->request.volume, (unsigned long long) job->id);
        line_leave(job);
        /* Changes of the mount table were not looked at where this job was at work. */
        if (s->recheck_needed || (h && h->state != HOLDER_MOUNTED && operation_changes(job->operation)))
                watch_recheck(s);
}

static void finish(Job *job) {
        job_log(job);
        job_count(job);
        job->state = JOB_ENDED;
        job->progress.expected_end_usec = 0;
        /* Whatever is returned as a job can be asked about. */
        if (operation_is_answered_early(job->operation) && !job_has_failed(job))
                job_show(job);
        job_answer(job);
        job_answer_followers(job);
        if (job->shown)
                event_emit(job->jobs->state, job_ended, job);
        if (job_is_over(job))
                release(job);
}

/* What was mounted but can't be recorded is not kept. */
static bool must_withdraw(const Job *job) {
        return job->failure.kind == FAILURE_STORE_FAILED && job->operation == OPERATION_MOUNT &&
               job->identity.id != 0;
}

static void withdraw(Job *job) {
        Holder *h = job_find_holder(job);

        if (h)
                h->state = HOLDER_MOUNTING;
        job->ended_usec = 0;
        job_fail(job, job_set_deadline(job, job->jobs->state->settings.job_timeout_usec));
        if (job->worker)
                job_stop(job);
        else
                settle(job);
}

static void on_outcome_durable(Job *job) {
        if (must_withdraw(job))
                withdraw(job);
        else
                finish(job);
}

void job_conclude(Job *job) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        job->ended_usec = now_monotonic_usec();
        if (job->progress.started_usec > 0 && job->progress.duration_usec == 0)
                job->progress.duration_usec = job->ended_usec - job->progress.started_usec;
        job_add_history(job);
        job_then(job, on_outcome_durable);
}

static void revert(Job *job) {
        const OperationType *type = operation_type(job->operation);

        if (type->revert)
                type->revert(job);
}

static void conclude_failed(Job *job) {
        revert(job);
        job_conclude(job);
}

/* What may have been published is taken away by its identity, never by its looks. */
static void end_without_reply(Job *job) {
        if (!job_has_failed(job) && failure_set(&job->failure, FAILURE_WORKER_FAILED,
                                                "The worker gave no answer: see journalctl -u selvol-worker.") < 0)
                job_fail(job, -ENOMEM);
        if (job->identity.id != 0)
                settle(job);
        else
                conclude_failed(job);
}

static void on_gone(Job *job) {
        job->call = sd_bus_slot_unref(job->call);
        job->question = sd_bus_message_unref(job->question);
        job->worker = peer_disconnect(job->worker);
        if (job->state == JOB_WAITING) {
                log_debug("%s: job %llu: waits in line.", job->request.volume, (unsigned long long) job->id);
                line_park(job);
                return;
        }
        if (job_is_over(job))
                release(job);
        else if (job->ended_usec == 0)
                end_without_reply(job);
}

static int on_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        on_gone(userdata);
        return 0;
}

void job_stop(Job *job) {
        if (job->state == JOB_WAITING && !job->worker) {
                job_conclude(job);
                return;
        }
        /* Whose child lingers after it was told to wait is not kept waiting for that. */
        if (job->state == JOB_WAITING)
                job_answer(job);
        job_set_state(job, JOB_SETTLING);
        if (job->worker)
                peer_hang_up(job->worker);
}

/* Deadlines. */

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        int r;

        if (job->ended_usec > 0)
                return 0;
        if (job->state == JOB_WAITING) {
                line_fail_busy(job);
                job_stop(job);
                return 0;
        }
        if (job->state != JOB_SETTLING) {
                r = failure_set(
                        &job->failure, FAILURE_TIMED_OUT,
                        "%s: The file system or its server did not answer in time. Other volumes are not affected; the volume is busy until the attempt has been cleaned up.",
                        job->request.volume);
                job_fail(job, r);
        }
        job_answer(job);
        job_stop(job);
        return 0;
}

int job_set_deadline(Job *job, uint64_t usec) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        return sd_event_add_time_relative(job->jobs->state->event, &job->deadline, CLOCK_MONOTONIC, usec, 0,
                                          on_deadline, job);
}

/* The child's questions. */

static int send_answer(Job *job, const PlanAnswer *a) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *question = TAKE_PTR(job->question), *reply = NULL;
        int r;

        if (!question)
                return -ENOENT;
        log_debug("%s: job %llu: Plan is answered with %s.", job->request.volume, (unsigned long long) job->id,
                  plan_verdict_to_string(a->verdict));
        r = sd_bus_message_new_method_return(question, &reply);
        if (r < 0)
                return r;
        r = plan_answer_append(reply, a);
        if (r < 0)
                return r;
        return sd_bus_send(job->worker, reply, NULL);
}

/* Ends the child, which has published nothing. */
static void send_verdict(Job *job, PlanVerdict verdict) {
        PlanAnswer a = PLAN_ANSWER_INIT;

        a.verdict = verdict;
        if (send_answer(job, &a) < 0)
                peer_hang_up(job->worker);
}

/* Nothing comes of it. */
static void stop_child(Job *job) {
        send_verdict(job, PLAN_STOP);
        conclude_failed(job);
}

static void on_intent_durable(Job *job) {
        _cleanup_(plan_answer_done) PlanAnswer a = job->answer;

        job->answer = PLAN_ANSWER_INIT;
        if (!job->question || !job->worker)
                return;
        if (!job_has_failed(job)) {
                job_fail(job, send_answer(job, &a));
                if (!job_has_failed(job))
                        return;
        }
        stop_child(job);
}

static int take_question(Job *job, sd_bus_message *m, PlanQuestion *q) {
        State *s = job->jobs->state;
        int r;

        r = plan_question_read(m, q);
        if (r < 0)
                return r;
        state_take_node(s, &q->node);
        observed_done(&job->observed);
        job->observed = q->observed;
        q->observed = (Observed){ 0 };
        job->question = sd_bus_message_ref(m);
        log_debug("%s: job %llu: Plan is asked: %s on %s, %zu mounts.", job->request.volume,
                  (unsigned long long) job->id, strempty(job->observed.fs_type), strempty(job->observed.superblock),
                  job->observed.n_mounts);
        return 0;
}

static void put_in_line(Job *job) {
        revert(job);
        job_set_state(job, JOB_WAITING);
        if (line_is_long(job))
                job_show(job);
}

static void wait_in_line(Job *job) {
        put_in_line(job);
        send_verdict(job, PLAN_WAIT);
}

/* That it would be refused is the answer to PlanVolume. */
static void refuse(Job *job) {
        if (job->operation == OPERATION_PLAN) {
                failure_done(&job->refusal);
                job->refusal = job->failure;
                job->failure = (Failure){ 0 };
        } else if (job->plan.n_conflicts > 0)
                event_emit(job->jobs->state, conflict, job->request.volume, job->failure.kind, &job->plan);
}

/* Decides, and has the intent made durable before it is told. */
static void decide(Job *job, const PlanQuestion *q) {
        int r;

        if (operation_changes(job->operation)) {
                r = line_claim_superblock(job, job->observed.superblock);
                if (r < 0) {
                        job_fail(job, r);
                        stop_child(job);
                        return;
                }
                if (r == 0) {
                        wait_in_line(job);
                        return;
                }
        }
        r = operation_type(job->operation)->plan(job, q, &job->answer);
        if (r > 0) {
                refuse(job);
                if (line_wait_for_conflict(job)) {
                        wait_in_line(job);
                        return;
                }
        }
        job_fail(job, r);
        if (r != 0 || job->answer.verdict != PLAN_GO)
                stop_child(job);
        else
                job_then(job, on_intent_durable);
}

static int on_plan(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(plan_question_done) PlanQuestion q = { 0 };
        Job *job = userdata;
        int r;

        if (job->question || !operation_type(job->operation)->plan || job->state != JOB_RUNNING)
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "There is nothing to plan.");
        r = take_question(job, m, &q);
        if (r < 0) {
                job_fail(job, r);
                job_stop(job);
                return r;
        }
        decide(job, &q);
        return 1;
}

static void take_identity(Job *job, MountIdentity *identity) {
        mount_identity_done(&job->identity);
        job->identity = *identity;
        *identity = (MountIdentity){ 0 };
        if (job->state == JOB_RUNNING)
                job_set_state(job, JOB_ACTING);
}

static void on_told_durable(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *question = TAKE_PTR(job->question);

        if (!question || !job->worker)
                return;
        if (job_has_failed(job) || sd_bus_reply_method_return(question, NULL) < 0)
                job_stop(job);
}

static int on_walk(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        if (job->question || !operation_type(job->operation)->plan || job->state != JOB_RUNNING)
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "There is nothing to walk over.");
        r = files_decision_read(m, &job->result.files);
        if (r < 0) {
                job_fail(job, r);
                job_stop(job);
                return r;
        }
        log_debug("%s: job %llu: Walk is asked.", job->request.volume, (unsigned long long) job->id);
        job->question = sd_bus_message_ref(m);
        job_then(job, on_told_durable);
        return 1;
}

static int on_ready(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_(ready_note_done) ReadyNote n = { 0 };
        Job *job = userdata;
        int r;

        if (job->question || job->operation != OPERATION_MOUNT || job->state != JOB_RUNNING)
                return sd_bus_error_set(error, SD_BUS_ERROR_FAILED, "Nothing can be ready.");
        r = ready_note_read(m, &n);
        if (r >= 0)
                r = operation_type(job->operation)->ready(job, &n);
        if (r < 0) {
                job_fail(job, r);
                job_stop(job);
                return r;
        }
        log_debug("%s: job %llu: Ready: group %u on disk is shown as %u.", job->request.volume,
                  (unsigned long long) job->id, n.disk_gid, n.gid);
        job->question = sd_bus_message_ref(m);
        take_identity(job, &n.identity);
        job_then(job, on_told_durable);
        return 1;
}

static const sd_bus_vtable decision_vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD(DECISION_PLAN, PLAN_QUESTION_TYPE, PLAN_ANSWER_TYPE, on_plan, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(DECISION_WALK, FILES_DECISION_TYPE, "", on_walk, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(DECISION_READY, READY_NOTE_TYPE, "", on_ready, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

/* What the child tells on its way. */

/* A walk has its time anew as long as it gets on, unless the caller has set a limit to the whole. */
static int take_progress(Job *job, sd_bus_message *signal) {
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
        if (operation_is_answered_early(job->operation))
                job_answer(job);
        event_emit(job->jobs->state, job_changed, job);
        if (job->request.timeout_usec > 0 || job->state == JOB_SETTLING)
                return 0;
        return job_set_deadline(job, job->jobs->state->settings.job_timeout_usec);
}

static int take_marked(Job *job, sd_bus_message *signal) {
        Volume *v = job_volume(job);
        Mark mark;
        int r;

        r = mark_read(signal, &mark);
        if (r < 0)
                return r;
        if (!v) {
                mark_done(&mark);
                return 0;
        }
        mark_done(&v->mark);
        v->mark = mark;
        commit_volume(job->jobs->state, v);
        return 0;
}

static int take_publishing(Job *job, sd_bus_message *signal) {
        MountIdentity identity;
        int r;

        r = mount_identity_read(signal, &identity);
        if (r < 0)
                return r;
        take_identity(job, &identity);
        mount_identity_done(&identity);
        return 0;
}

static int take_signal(Job *job, sd_bus_message *m) {
        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_PROGRESS))
                return take_progress(job, m);
        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_MARKED))
                return take_marked(job, m);
        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_PUBLISHING))
                return take_publishing(job, m);
        return 0;
}

/* What can't be ends the job: the state of the files stays partial, and nothing more is believed. */
static int on_signal(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        int r;

        if (job->ended_usec > 0)
                return 0;
        r = take_signal(job, m);
        if (r >= 0)
                return 0;
        job_fail(job, r);
        job_stop(job);
        return 0;
}

/* The reply. */

static void take_error(Job *job, const sd_bus_error *e) {
        if (job->state != JOB_SETTLING)
                job_fail(job, peer_error_read(e, &job->failure));
        /* What else may be left is known when the child is gone. */
        if (!peer_error_is_answer(e))
                return;
        if (job->failure.kind == FAILURE_GROUP_CONFLICT && line_note_group_conflict(job) >= 0) {
                refuse(job);
                if (job->state == JOB_RUNNING && line_wait_for_conflict(job)) {
                        put_in_line(job);
                        return;
                }
        }
        conclude_failed(job);
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
        if (r < 0 && job->identity.id != 0)
                job_stop(job);
        else if (r != 0)
                conclude_failed(job);
        else
                job_conclude(job);
        return 0;
}

/* The child. */

static int connect_worker(Job *job, sd_bus_message_handler_t on_disconnect) {
        const State *s = job->jobs->state;
        int r;

        r = peer_connect(s->worker_socket, s->event, &job->worker);
        if (r < 0)
                return r;
        return sd_bus_match_signal_async(job->worker, NULL, NULL, "/org/freedesktop/DBus/Local",
                                         "org.freedesktop.DBus.Local", "Disconnected", on_disconnect, NULL, job);
}

static int call_worker(Job *job) {
        const OperationType *type = operation_type(job->operation);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = connect_worker(job, on_disconnected);
        if (r < 0)
                return r;
        r = sd_bus_add_object_vtable(job->worker, NULL, DECISION_PATH, DECISION_INTERFACE, decision_vtable, job);
        if (r < 0)
                return r;
        r = sd_bus_match_signal(job->worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, NULL, on_signal, job);
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
                conclude_failed(job);
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
        job_fail(
                job,
                failure_set(
                        &job->failure, FAILURE_WORKER_FAILED,
                        "The worker can't be reached (%s): is selvol-worker.socket active? See systemctl status selvol-worker.socket.",
                        strerror(-r)));
        conclude_failed(job);
}

void job_run(Job *job) {
        bool done = false;
        int r;

        failure_done(&job->failure);
        job_set_state(job, JOB_RUNNING);
        r = operation_type(job->operation)->check(job, &done);
        if (r == 0 && !done) {
                job_then(job, start_child);
                return;
        }
        job_fail(job, r);
        if (r > 0)
                refuse(job);
        conclude_failed(job);
}

/* Taking away what a child that was lost may have published. */

/* The intent stays in the record, and the mount table decides. */
static void conclude_unsettled(Job *job) {
        mount_identity_done(&job->identity);
        job_conclude(job);
        watch_recheck(job->jobs->state);
}

static int on_settle_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Job *job = userdata;

        job->call = sd_bus_slot_unref(job->call);
        job->worker = peer_disconnect(job->worker);
        if (job_is_over(job))
                release(job);
        else if (job->ended_usec == 0)
                conclude_unsettled(job);
        return 0;
}

static int on_settled(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Job *job = userdata;

        job->call = sd_bus_slot_unref(job->call);
        if (sd_bus_message_get_error(reply)) {
                if (job->ended_usec == 0)
                        conclude_unsettled(job);
                return 0;
        }
        mount_identity_done(&job->identity);
        conclude_failed(job);
        return 0;
}

static int call_unmount(Job *job) {
        const UnmountCall c = { .target = job->request.target, .identity = job->identity };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = connect_worker(job, on_settle_disconnected);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(job->worker, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_UNMOUNT);
        if (r < 0)
                return r;
        r = unmount_call_append(call, &c);
        if (r < 0)
                return r;
        r = job_set_deadline(job, job->jobs->state->settings.job_timeout_usec);
        if (r < 0)
                return r;
        return sd_bus_call_async(job->worker, &job->call, call, on_settled, job, UINT64_MAX);
}

static void settle(Job *job) {
        int r;

        job_set_state(job, JOB_SETTLING);
        r = call_unmount(job);
        if (r >= 0)
                return;
        job->worker = peer_disconnect(job->worker);
        conclude_unsettled(job);
}

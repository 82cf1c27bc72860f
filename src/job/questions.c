/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "job/answer.h"
#include "job/end.h"
#include "job/holder.h"
#include "job/job-log.h"
#include "job/line.h"
#include "job/operations.h"
#include "job/progress.h"
#include "job/questions.h"
#include "state/watch.h"
#include "wire/peer.h"
#include "wire/protocol.h"

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
        r = sd_bus_send(job->worker, reply, NULL);
        return r < 0 ? r : 0;
}

/* All but PLAN_LOOK end the child, which has published nothing. */
static void send_verdict(Job *job, PlanVerdict verdict) {
        PlanAnswer a = PLAN_ANSWER_INIT;

        a.verdict = verdict;
        if (send_answer(job, &a) < 0)
                peer_hang_up(job->worker);
}

/* Nothing comes of it. */
static void stop_child(Job *job) {
        send_verdict(job, PLAN_STOP);
        job_conclude_failed(job);
}

static int take_question(Job *job, sd_bus_message *m, PlanQuestion *q) {
        State *s = job->jobs->state;
        int r;

        r = plan_question_read(m, q);
        if (r < 0)
                return r;
        /* The watch looks once a second, and has not noticed it yet: nor would it notice the way back. */
        if (state_take_node(s, &q->node))
                watch_recheck(s);
        observed_done(&job->observed);
        job->observed = q->observed;
        q->observed = (Observed){ 0 };
        job->question = sd_bus_message_ref(m);
        log_debug("%s: job %llu: Plan is asked: %s on %s, %zu mounts.", job->request.volume,
                  (unsigned long long) job->id, strempty(job->observed.fs_type), strempty(job->observed.superblock),
                  job->observed.n_mounts);
        return 0;
}

void job_put_in_line(Job *job) {
        job_revert(job);
        job_set_state(job, JOB_WAITING);
        line_show(job);
}

static void wait_in_line(Job *job) {
        job_put_in_line(job);
        send_verdict(job, PLAN_WAIT);
}

/* That it would be refused is the answer to PlanVolume. */
void job_refuse(Job *job) {
        if (job->operation == OPERATION_PLAN) {
                failure_done(&job->refusal);
                job->refusal = job->failure;
                job->failure = (Failure){ 0 };
        } else if (job->plan.n_conflicts > 0)
                event_emit(job->jobs->state, conflict, job->request.volume, job->failure.kind, &job->plan);
}

static void decide(Job *job, const PlanQuestion *q) {
        _cleanup_(plan_answer_done) PlanAnswer a = PLAN_ANSWER_INIT;
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
        r = operation_type(job->operation)->plan(job, q, &a);
        if (r > 0) {
                job_refuse(job);
                if (line_wait_for_conflict(job)) {
                        wait_in_line(job);
                        return;
                }
        }
        if (r == 0 && a.verdict != PLAN_STOP)
                r = send_answer(job, &a);
        job_fail(job, r);
        if (r != 0 || a.verdict == PLAN_STOP)
                stop_child(job);
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

/* Nothing is published before the answer. */
static void on_ready_durable(Job *job) {
        if (job_has_failed(job))
                mount_identity_done(&job->identity);
        else if (job->state == JOB_RUNNING)
                job_set_state(job, JOB_ACTING);
        on_told_durable(job);
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
        log_debug("%s: job %llu: Ready: mount %llu of device %s.", job->request.volume, (unsigned long long) job->id,
                  (unsigned long long) n.identity.id, n.identity.device);
        job->question = sd_bus_message_ref(m);
        mount_identity_done(&job->identity);
        job->identity = n.identity;
        n.identity = (MountIdentity){ 0 };
        job_then(job, on_ready_durable);
        return 1;
}

static const sd_bus_vtable vtable[] = {
        SD_BUS_VTABLE_START(0),
        SD_BUS_METHOD(DECISION_PLAN, PLAN_QUESTION_TYPE, PLAN_ANSWER_TYPE, on_plan, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(DECISION_WALK, FILES_DECISION_TYPE, "", on_walk, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_METHOD(DECISION_READY, READY_NOTE_TYPE, "", on_ready, SD_BUS_VTABLE_UNPRIVILEGED),
        SD_BUS_VTABLE_END,
};

/* What the child tells on its way. */

/* A walk has its time anew as long as it gets on, unless the caller has set a limit to the whole. */
static int take_progress(Job *job, sd_bus_message *signal) {
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
        if (operation_is_answered_early(job->operation))
                job_answer(job);
        event_emit(job->jobs->state, job_changed, job);
        if (job->request.timeout_usec > 0 || job->state == JOB_SETTLING)
                return 0;
        return job_set_deadline(job, job->jobs->state->settings.job_timeout_usec);
}

static int take_marked(Job *job, sd_bus_message *signal) {
        Mark mark;
        int r;

        r = mark_read(signal, &mark);
        if (r < 0)
                return r;
        job_record_mark(job, &mark);
        return 0;
}

static int take_signal(Job *job, sd_bus_message *m) {
        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_PROGRESS))
                return take_progress(job, m);
        if (sd_bus_message_is_signal(m, WORKER_INTERFACE, WORKER_MARKED))
                return take_marked(job, m);
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

int questions_answer(Job *job) {
        int r;

        r = sd_bus_add_object_vtable(job->worker, NULL, DECISION_PATH, DECISION_INTERFACE, vtable, job);
        if (r < 0)
                return r;
        return sd_bus_match_signal(job->worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, NULL, on_signal, job);
}

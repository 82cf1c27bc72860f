/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "job/answer.h"
#include "job/end.h"
#include "job/holder.h"
#include "job/job-log.h"
#include "job/job-metrics.h"
#include "job/line.h"
#include "job/operations.h"
#include "job/orphans.h"
#include "state/watch.h"
#include "wire/peer.h"
#include "wire/protocol.h"

static void settle(Job *job);

static void release(Job *job) {
        State *s = job->jobs->state;
        const Holder *h = job->request.target ? job_find_at_target(job, NULL) : NULL;

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

void job_conclude(Job *job) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        job->ended_usec = now_monotonic_usec();
        if (job->progress.started_usec > 0 && job->progress.duration_usec == 0)
                job->progress.duration_usec = job->ended_usec - job->progress.started_usec;
        job_add_history(job);
        /* Which mount it would be is durable: that it was made, the mount table tells a later selvold as well. */
        if (job->identity.id != 0 && !job_has_failed(job))
                finish(job);
        else
                job_then(job, finish);
}

void job_revert(Job *job) {
        const OperationType *type = operation_type(job->operation);

        if (type->revert)
                type->revert(job);
}

void job_conclude_failed(Job *job) {
        job_revert(job);
        job_conclude(job);
}

/* What may have been published is taken away by its identity, never by its looks. */
static void end_without_reply(Job *job) {
        if (!job_has_failed(job) && failure_set(&job->failure, FAILURE_WORKER_FAILED,
                                                "The worker gave no answer: see 'journalctl -u selvol-worker'.") < 0)
                job_fail(job, -ENOMEM);
        if (job->identity.id != 0)
                settle(job);
        else
                job_conclude_failed(job);
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

/* The connection to the worker. Its end is that of the child. */

static int connect_with(Job *job, sd_bus_message_handler_t on_disconnect) {
        const State *s = job->jobs->state;
        int r;

        r = peer_connect(s->worker_socket, s->event, &job->worker);
        if (r < 0)
                return r;
        return sd_bus_match_signal_async(job->worker, NULL, NULL, "/org/freedesktop/DBus/Local",
                                         "org.freedesktop.DBus.Local", "Disconnected", on_disconnect, NULL, job);
}

int job_connect(Job *job) {
        return connect_with(job, on_disconnected);
}

/* Deadlines. */

static int set_timed_out(Job *job) {
        const Volume *v = job_volume(job);
        _cleanup_free_ char *source = NULL;

        /* Unless the caller has limited the whole, a walk is over time only if it is stuck. */
        if (job->request.timeout_usec > 0 && job->progress.counts.done > 0) {
                if (!operation_changes(job->operation))
                        return failure_set(
                                &job->failure, FAILURE_TIMED_OUT,
                                "The walk over all files was not done within TimeoutUSec, and a further call begins anew: allow more time.");
                return failure_set(
                        &job->failure, FAILURE_TIMED_OUT,
                        "The walk over all files was not done within TimeoutUSec: try again to complete it, with more time.");
        }
        source = string_escape(job->request.source ?: v ? strempty(v->source) : "", 200);
        if (!source)
                return -ENOMEM;
        return failure_set(
                &job->failure, FAILURE_TIMED_OUT,
                "The file system%s%s did not answer in time: check its device or server (journalctl -k), or pass TimeoutUSec for more time. The volume is busy until that attempt has ended; others are not affected.",
                isempty(source) ? "" : " of ", source);
}

static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        int r;

        if (job->ended_usec > 0)
                return 0;
        if (job->state == JOB_WAITING) {
                if (!orphans_fail_busy(job))
                        line_fail_busy(job);
                job_stop(job);
                return 0;
        }
        if (job->state != JOB_SETTLING) {
                r = set_timed_out(job);
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
        job_conclude_failed(job);
        return 0;
}

static int call_unmount(Job *job) {
        const UnmountCall c = {
                .origin = job_origin(job),
                .target = job->request.target,
                .identity = job->identity,
        };
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = connect_with(job, on_settle_disconnected);
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

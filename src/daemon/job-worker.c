/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "wire/protocol.h"
#include "daemon/job-object.h"
#include "daemon/notify.h"

/* A job's connection to the worker: calls, the progress of those that walk, and the time it all may take. */

static int set_timed_out(Job *job) {
        return failure_set(
                &job->failure, FAILURE_TIMED_OUT,
                "%s: the file system or its server did not answer in time. Other volumes are not affected; the volume is busy until the attempt has been cleaned up.",
                job->request.volume);
}

/* The deadline: the caller is answered at once, and the connection is half-closed so that the child is ended. What it
 * may have left is settled when the connection breaks. */
static int on_deadline(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;

        /* Of what is being settled, or was cancelled, the failure is known. */
        if (!job->settling && !job->stopped && set_timed_out(job) < 0)
                job_fail(job, -ENOMEM);
        job->stopped = true;
        job_answer(job);
        if (job->worker)
                worker_hang_up(job->worker);
        return 0;
}

int job_set_deadline(Job *job, uint64_t usec) {
        job->deadline = sd_event_source_disable_unref(job->deadline);
        return sd_event_add_time_relative(job->manager->event, &job->deadline, CLOCK_MONOTONIC, usec, 0, on_deadline,
                                          job);
}

void job_begin_settling(Job *job) {
        job->settling = true;
        job->worker = worker_disconnect(job->worker);
        if (job_set_deadline(job, job->manager->settings.job_timeout_usec) < 0)
                log_error("No memory for a deadline: cleaning up after a job on volume %s may take long.",
                          job->request.volume);
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
                if (job->stopped && !job->settling) {
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
        if (!job->stopped && !job->settling) {
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
            failure_set(
                    &job->failure, FAILURE_WORKER_FAILED,
                    "The worker can't be reached (%s): is selvol-worker.socket active? See systemctl status selvol-worker.socket.",
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

/* What makes no sense ends the walk: the state stays partial, and nothing more is believed. */
static int on_progress(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Job *job = userdata;
        WalkCounts counts;
        uint64_t total;
        int r;

        r = worker_read_progress(signal, &counts, &total);
        if (r >= 0)
                r = walk_take_counts(&job->walk, &counts, &total);
        if (job->stopped)
                return 0;
        if (r < 0) {
                job_fail(job, r);
                job->stopped = true;
                job->acting = false;
                worker_hang_up(job->worker);
                return 0;
        }
        if (job->object)
                notify_job_changed(job->object);
        /* A walk has its time anew as long as it gets on, which only then is told, unless the caller has set a limit
         * to the whole. */
        if (job->request.timeout_usec == 0)
                r = job_set_deadline(job, job->manager->settings.job_timeout_usec);
        return r < 0 ? r : 0;
}

void job_send_walk_call(Job *job, JobStep step, sd_bus_message *call) {
        int r;

        job->walk.started_usec = now_monotonic_usec();
        r = sd_bus_match_signal(job->worker, &job->progress, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_PROGRESS,
                                on_progress, job);
        if (r >= 0 && job->request.timeout_usec == 0)
                r = job_set_deadline(job, job->manager->settings.job_timeout_usec);
        if (r < 0)
                call_failed(job, step, r);
        else
                job_send_worker_call(job, step, call);
}

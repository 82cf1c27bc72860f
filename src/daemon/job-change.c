/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/protocol.h"
#include "daemon/commit.h"
#include "daemon/job-object.h"
#include "daemon/notify.h"
#include "daemon/watch.h"

/* Relabel and ApplyOwnership:
 *
 *   plan → observe the superblock → inspect the mount, or stage one → change the files (job-files.c) → conclude
 *
 * The call is answered when the walk begins, or at the end if there is none. */

static void conclude_failed(Job *job, int error) {
        if (error < 0)
                job_fail(job, error);
        job_conclude(job);
}

static void finish(Job *job) {
        if (job->failure.kind == FAILURE_NONE)
                job_object_announce(job->object);
        job_conclude(job);
}

static int refuse_read_only(Job *job) {
        return failure_set(&job->failure, FAILURE_NOT_SUPPORTED,
                           "%s: the file system is read-only: its files can't be changed.", job->request.volume);
}

static int check_outcome(Job *job) {
        const MountOutcome *o = &job->outcome;

        if (job->operation == OPERATION_RELABEL && !o->fact.seclabel)
                return failure_set(&job->failure, FAILURE_NOT_SUPPORTED,
                                   "%s: the file system keeps no labels of its own, so there is nothing to relabel.",
                                   job->request.volume);
        return o->superblock_read_only ? refuse_read_only(job) : 0;
}

static void change(Job *job, sd_bus_message *reply, const char *target) {
        int r = check_outcome(job);

        if (r == 0)
                r = job_take_record(job, reply);
        if (r != 0)
                conclude_failed(job, r);
        else
                job_change_files(job, target, finish);
}

static void staged(Job *job, sd_bus_message *reply) {
        int r;

        if (!reply) {
                job_conclude(job);
                return;
        }
        r = worker_read_outcome(reply, &job->outcome);
        if (r < 0)
                conclude_failed(job, r);
        else
                change(job, reply, "");
}

static void inspected(Job *job, sd_bus_message *reply) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        if (!reply) {
                job_conclude(job);
                return;
        }
        r = worker_read_node(reply, &node);
        if (r >= 0)
                r = worker_read_outcome(reply, &job->outcome);
        if (r >= 0)
                r = manager_take_node(job->manager, &node);
        if (r < 0) {
                conclude_failed(job, r);
                return;
        }
        if (job->outcome.fact.mount_id != job->share_mount_id) {
                r = failure_set(&job->failure, FAILURE_BUSY,
                                "%s is being mounted or unmounted by somebody else; call again.",
                                job->request.volume);
                watch_recheck(job->manager);
                conclude_failed(job, r);
                return;
        }
        change(job, reply, job->share_target);
}

static void stage(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        r = job_new_worker_call(job, WORKER_STAGE, &call);
        if (r >= 0)
                r = job_append_mount(job, call);
        if (r < 0)
                conclude_failed(job, r);
        else
                job_send_worker_call(job, staged, call);
}

static int plan(Job *job, const Volume *v) {
        Manager *m = job->manager;
        const ChangeInput in = {
                .node = m->node_known ? &m->node : NULL,
                .settings = &m->settings,
                .volumes = &m->volumes,
                .volume = v,
                .context = job->request.context,
                .observed = job->observed.fs_type ? &job->observed : NULL,
        };
        int r;

        plan_done(&job->plan);
        r = job->operation == OPERATION_RELABEL
                    ? plan_relabel(&in, &job->plan, &job->failure)
                    : plan_chgrp(&in, job->request.fs_group, job->request.read_only, &job->plan, &job->failure);
        return r == 0 ? job_keep_share(job) : r;
}

static void conclude_refused(Job *job, int r) {
        if (job->plan.n_conflicts > 0 && job->failure.kind == FAILURE_CONTEXT_CONFLICT)
                notify_context_conflict(job->manager, job->request.volume, &job->plan);
        conclude_failed(job, r);
}

/* Others may use the same file system under another name, or none. */
static void observed(Job *job, sd_bus_message *reply) {
        const Volume *v = job_volume(job);
        int r;

        if (!job_take_observed(job, reply)) {
                job_conclude(job);
                return;
        }
        r = plan(job, v);
        if (r == 0 && job->observed.device_read_only)
                r = refuse_read_only(job);
        if (r != 0)
                conclude_refused(job, r);
        else if (job->share_target)
                job_call_worker(job, inspected, WORKER_INSPECT, WORKER_INSPECT_IN, job->share_target);
        else
                stage(job);
}

/* For the worker, the journal and the metrics. */
static int fill_request(Job *job, const Volume *v) {
        Request *q = &job->request;
        int r;

        q->access_mode = v->access_mode;
        r = free_and_strdup(&q->source, v->source);
        if (r >= 0)
                r = free_and_strdup(&q->volume_type, v->volume_type);
        if (r >= 0)
                r = free_and_strdup(&q->driver, v->driver);
        return r;
}

void job_change_begin(Job *job) {
        const Volume *v = job_volume(job);
        int r;

        if (!v) {
                conclude_failed(job, failure_set(&job->failure, FAILURE_NO_SUCH_VOLUME, "Volume %s is not known.",
                                                 job->request.volume));
                return;
        }
        r = fill_request(job, v);
        /* What can't be is refused without a look. */
        if (r == 0)
                r = plan(job, v);
        if (r != 0)
                conclude_refused(job, r);
        else if (job->share_target)
                job_call_worker(job, observed, WORKER_OBSERVE, WORKER_OBSERVE_IN, "", "", job->share_target);
        else
                job_call_worker(job, observed, WORKER_OBSERVE, WORKER_OBSERVE_IN, v->source, v->fs_type, "");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "wire/protocol.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/notify.h"
#include "daemon/reconcile.h"
#include "daemon/watch.h"
#include "daemon/worker-client.h"

/* MountVolume and PlanVolume:
 *
 *   observe → plan → (plan: conclude) → record intent → mount → record outcome → conclude
 *
 * Where the service may have to relabel, or to give the files to a group, the mount is made in two halves, so that
 * nobody sees it before it is right:
 *
 *   … → stage → change the files (job-files.c) → publish → …
 *
 * A call that repeats what is done already is confirmed by a look at the target instead. */

static void observe(Job *job);

static void conclude_reverted(Job *job) {
        job_revert_holder(job);
        job_conclude(job);
}

/* Settling: the worker was lost, or gave up late, while it may have published the mount. Nothing may be left. */

/* Whether it is there can't be found out, or it can't be taken away: the record keeps the intent, and the next look
 * at the mount table decides. */
static void conclude_unsettled(Job *job) {
        Manager *m = job->manager;

        job_conclude(job);
        watch_recheck(m);
}

static void settled(Job *job, sd_bus_message *reply) {
        if (reply)
                conclude_reverted(job);
        else
                conclude_unsettled(job);
}

static void settle_inspected(Job *job, sd_bus_message *reply) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(node_done) Node node = { 0 };

        if (!reply) {
                /* An answer without a mount means that there is none. */
                if (job->worker)
                        conclude_reverted(job);
                else
                        conclude_unsettled(job);
                return;
        }
        if (worker_read_node(reply, &node) < 0 || worker_read_outcome(reply, &o) < 0) {
                conclude_unsettled(job);
                return;
        }
        /* Only what the job may have put there is taken away: the same file system with the same context. */
        if (streq_ptr(o.fact.fs_type, job->observed.fs_type) &&
            streq(o.fact.context, job->plan.strategy == STRATEGY_CONTEXT_MOUNT ? job->plan.context : ""))
                job_call_worker(job, settled, WORKER_UNMOUNT, WORKER_UNMOUNT_IN, job->request.target,
                                o.fact.mount_id);
        else
                conclude_reverted(job);
}

static void settle(Job *job) {
        job_begin_settling(job);
        job_call_worker(job, settle_inspected, WORKER_INSPECT, WORKER_INSPECT_IN, job->request.target);
}

static int take_mounted(Job *job, sd_bus_message *reply, Holder *h) {
        int r;

        mount_outcome_done(&job->outcome);
        r = worker_read_outcome(reply, &job->outcome);
        if (r < 0)
                return r;
        if (!h)
                return -EBADMSG;
        /* What the mount shows decides whether there is something to relabel. What was staged has been looked at. */
        if (!job->staged && job->plan.strategy != STRATEGY_CONTEXT_MOUNT &&
            !job_make_plan(job, job->outcome.fact.seclabel, NULL))
                return (int) job->failure.kind;
        job_apply_effect(job);
        return job_take_record(job, reply);
}

static void mounted(Job *job, sd_bus_message *reply) {
        Volume *v = job_volume(job);
        Holder *h = v ? volume_find_holder(v, job->request.target) : NULL;
        int r;

        if (!reply) {
                if (job->acting)
                        settle(job);
                else
                        conclude_reverted(job);
                return;
        }

        r = take_mounted(job, reply, h);
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                settle(job);
                return;
        }
        job_record_outcome(job, h);
        job_conclude(job);
}

static void publish(Job *job) {
        if (job->failure.kind != FAILURE_NONE) {
                conclude_reverted(job);
                return;
        }
        job->acting = true;
        job_call_worker(job, mounted, WORKER_PUBLISH, WORKER_PUBLISH_IN, record_effect_to_string(job_effect(job)));
}

static void prepared(Job *job) {
        Volume *v = job_volume(job);
        Holder *h = v ? volume_find_holder(v, job->request.target) : NULL;

        if (!h)
                job_fail(job, -EBADMSG);
        if (job->failure.kind != FAILURE_NONE || !h) {
                conclude_reverted(job);
                return;
        }
        job_note_group(job, h);
        commit_volume(job->manager, v);
        job_apply_effect(job);
        job_then(job, publish);
}

/* A superblock that was mounted before keeps its group, whatever the options say. */
static int check_group_option(Job *job) {
        if (job->plan.ownership != OWNERSHIP_OPTION || job->outcome.root_gid == job->plan.fs_group)
                return 0;
        return failure_set(
                &job->failure, FAILURE_GROUP_CONFLICT,
                "%s: mounted for group %" PRIu32 ", its root has group %" PRIu32
                ": somebody else may have the file system mounted. Unmount it there first, or use FSGroupPolicy=File.",
                job->request.volume, job->plan.fs_group, job->outcome.root_gid);
}

static void staged(Job *job, sd_bus_message *reply) {
        int r;

        if (!reply) {
                conclude_reverted(job);
                return;
        }
        r = worker_read_outcome(reply, &job->outcome);
        if (r >= 0 && !job_make_plan(job, job->outcome.fact.seclabel, NULL))
                r = -ECANCELED; /* the failure is known */
        if (r >= 0)
                r = job_take_record(job, reply);
        if (r == 0)
                r = check_group_option(job);
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                conclude_reverted(job);
        } else
                job_change_files(job, "", prepared);
}

static int append_call(Job *job, sd_bus_message *call) {
        int r = job_append_mount(job, call);

        if (r < 0 || job->staged)
                return r;
        return sd_bus_message_append(call, "s", record_effect_to_string(job->plan.effect));
}

static void act(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        if (job->failure.kind != FAILURE_NONE) {
                conclude_reverted(job);
                return;
        }

        r = job_new_worker_call(job, job->staged ? WORKER_STAGE : WORKER_MOUNT, &call);
        if (r >= 0)
                r = append_call(job, call);
        if (r < 0) {
                job_fail(job, r);
                conclude_reverted(job);
                return;
        }
        job->acting = !job->staged;
        job_send_worker_call(job, job->staged ? staged : mounted, call);
}

/* That it would be refused is the answer to PlanVolume. */
static void conclude_refused(Job *job) {
        if (job->operation == OPERATION_PLAN) {
                job->refusal = job->failure;
                job->failure = (Failure){ 0 };
        }
        job_conclude(job);
}

static void foretell(Job *job) {
        int r = job_foretell_change(job);

        if (r < 0)
                job_fail(job, r);
        if (r > 0)
                conclude_refused(job);
        else
                job_conclude(job);
}

/* Nobody is to see a volume while it is relabelled under another name. */
static bool check_and_plan(Job *job) {
        int r = job->operation == OPERATION_MOUNT ? job_check_walks(job) : 0;

        if (r < 0)
                job_fail(job, r);
        return r == 0 && job_make_plan(job, -1, NULL);
}

static void observed(Job *job, sd_bus_message *reply) {
        if (!job_take_observed(job, reply)) {
                job_conclude(job);
                return;
        }

        if (!check_and_plan(job)) {
                if (job->operation == OPERATION_MOUNT && job->failure.kind == FAILURE_CONTEXT_CONFLICT)
                        notify_context_conflict(job->manager, job->request.volume, &job->plan);
                conclude_refused(job);
                return;
        }
        if (job->operation == OPERATION_PLAN) {
                foretell(job);
                return;
        }
        /* That the file system keeps no labels may turn out to be wrong. */
        job->staged = job->plan.ownership != OWNERSHIP_NONE ||
                      (job->request.relabel_by == RELABEL_BY_SERVICE && job->plan.strategy != STRATEGY_CONTEXT_MOUNT);
        if (job_record_holder(job, HOLDER_MOUNTING, false))
                job_then(job, act);
        else
                job_conclude(job);
}

static void observe(Job *job) {
        job_call_worker(job, observed, WORKER_OBSERVE, WORKER_OBSERVE_IN, job->request.source,
                        strempty(job->request.fs_type), job->request.target);
}

/* The answer of before, from the record. */
static int plan_from_record(Job *job, const Volume *v, const Holder *h) {
        Plan *p = &job->plan;

        *p = (Plan){
                .strategy = h->strategy,
                .reason = h->reason,
                .runtime_flag = runtime_flag(h->strategy, h->relabelled_here),
                .read_only = h->read_only,
                .relabel_here = h->relabelled_here,
                .fs_group = h->fs_group,
                .context = strdup(h->strategy == STRATEGY_NONE ? "" : v->context),
                .text = strdup(plan_reason_text(h->reason)),
        };
        if (!p->context || !p->text)
                return -ENOMEM;
        return plan_mount_options(&job->manager->settings, v->fs_type, h->strategy, job->request.mount_options,
                                  &p->mount_options, &job->failure);
}

/* The record may be behind: of a mount that somebody has taken away just now, or of an intent from before a start. A
 * plan leaves that to others. */
static const Holder *find_confirmed(Job *job, const MountFact *fact) {
        Volume *v = volumes_find(&job->manager->volumes, job->request.volume);
        Holder *h = v ? volume_find_holder(v, job->request.target) : NULL;

        if (h && job->operation == OPERATION_MOUNT) {
                reconcile_holder(job->manager, v, h, fact);
                h = volume_find_holder(v, job->request.target);
        }
        return h && fact && h->state == HOLDER_MOUNTED && h->mount_id == fact->mount_id ? h : NULL;
}

static void confirmed(Job *job, sd_bus_message *reply) {
        _cleanup_(node_done) Node node = { 0 };
        const Holder *h;
        int r = 0;

        if (!reply && job->failure.kind != FAILURE_INVALID_TARGET) {
                job_conclude(job);
                return;
        }
        if (reply) {
                r = worker_read_node(reply, &node);
                if (r >= 0)
                        r = worker_read_outcome(reply, &job->outcome);
                if (r >= 0)
                        r = manager_take_node(job->manager, &node);
        }
        if (r < 0) {
                job_fail(job, r);
                job_conclude(job);
                return;
        }

        h = find_confirmed(job, reply ? &job->outcome.fact : NULL);
        if (!h) {
                failure_done(&job->failure);
                mount_outcome_done(&job->outcome);
                observe(job);
                return;
        }
        job->repeated = true;
        r = plan_from_record(job, volumes_find(&job->manager->volumes, job->request.volume), h);
        if (r < 0)
                job_fail(job, r);
        job_conclude(job);
}

void job_mount_begin(Job *job) {
        const Request *q = &job->request;
        _cleanup_free_ char *spec = request_spec(q);
        Holder *h = NULL;
        int r;

        r = spec ? job_check_target(job, &h) : -ENOMEM;
        if (r == 0 && h && !streq(h->spec, spec))
                r = failure_set(&job->failure, FAILURE_INCOMPATIBLE,
                                "%s is mounted at the target already, for another request: unmount it first.",
                                q->volume);
        if (r < 0) {
                job_fail(job, r);
                job_conclude(job);
                return;
        }
        if (r > 0) {
                conclude_refused(job);
                return;
        }

        if (h)
                job_call_worker(job, confirmed, WORKER_INSPECT, WORKER_INSPECT_IN, q->target);
        else
                observe(job);
}

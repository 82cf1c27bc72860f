/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "model/context.h"
#include "wire/protocol.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/notify.h"
#include "daemon/worker-client.h"

/* AdoptVolume:
 *
 *   observe the superblock → inspect the mount → plan → record intent → mark the volume, change the files →
 * record → conclude
 *
 * The files are changed where they are, as the mount is there already. */

static int check_root(Job *job) {
        const char *wanted = job->plan.context, *actual = job->outcome.root_context;

        if (job->plan.strategy != STRATEGY_CONTEXT_MOUNT || streq(wanted, actual))
                return 0;
        return failure_set(&job->failure, FAILURE_LABEL_MISMATCH,
                           "%s: the mount says %s, but its root is labelled %s.", job->request.volume, wanted,
                           isempty(actual) ? "not at all" : actual);
}

static Holder *find_holder(const Job *job) {
        const Volume *v = job_volume(job);

        return v ? volume_find_holder(v, job->request.target) : NULL;
}

/* What is there decides, so a holder of before is recorded anew; but not if it holds the volume for another context.
 */
static int check_holder(Job *job) {
        Volume *v = job_volume(job);
        Holder *old = find_holder(job);

        if (old && old->state == HOLDER_MOUNTED && old->mount_id != job->outcome.fact.mount_id) {
                manager_release_holder(job->manager, v, old);
                old = NULL;
        }
        if (old && old->state == HOLDER_MOUNTED && holder_is_mapped(old))
                return failure_set(&job->failure, FAILURE_INCOMPATIBLE,
                                   "%s: selvol has mounted it at the target itself, so that it shows group %" PRIu32
                                   " in the place of %" PRIu32 ": there is nothing to adopt.",
                                   v->id, old->fs_group, old->disk_gid);
        if (old && old->strategy == STRATEGY_RELABEL && job->plan.strategy == STRATEGY_RELABEL &&
            contexts_conflict(v->context, job->plan.context))
                return failure_set(&job->failure, FAILURE_INCOMPATIBLE,
                                   "%s is held at the target already, for context %s: unmount it first.", v->id,
                                   isempty(v->context) ? "of the runtime's choice" : v->context);
        return 0;
}

static void record_holder(Job *job) {
        Holder *h = find_holder(job);

        /* The intent is not to be saved as what was there before. */
        if (h && !job->intended) {
                volume_remove_holder(job_volume(job), h);
                h = NULL;
        }
        if (!h)
                h = job_record_holder(job, HOLDER_MOUNTED, true);
        if (h)
                job_record_outcome(job, h);
}

static void finish(Job *job) {
        if (job->failure.kind == FAILURE_NONE)
                record_holder(job);
        else if (job->intended) {
                /* The mount is there all the same, and what it does to labels goes on. */
                job->looked = true;
                job_revert_holder(job);
        }
        job_conclude(job);
}

static bool changes_files(const Job *job) {
        return job->plan.relabel_here || job_gives_group(job);
}

static void marked(Job *job, sd_bus_message *reply) {
        int r = reply ? job_take_record(job, reply) : 0;

        if (r < 0)
                job_fail(job, r);
        if (job->failure.kind == FAILURE_NONE && changes_files(job) && !job->plan.relabel_here)
                job_change_files(job, job->request.target, finish);
        else
                finish(job);
}

static void mark(Job *job) {
        if (job->failure.kind != FAILURE_NONE)
                finish(job);
        else
                job_call_worker(job, marked, WORKER_MARK, WORKER_MARK_IN, job->request.target,
                                job->outcome.fact.mount_id, record_effect_to_string(job->plan.effect));
}

/* A walk over labels ends with the effect on both records; one that was not needed leaves it to be noted. */
static void relabelled(Job *job) {
        if (job->failure.kind != FAILURE_NONE || job->walk.labels || job->plan.effect == EFFECT_KEEP) {
                finish(job);
                return;
        }
        job_apply_effect(job);
        job_then(job, mark);
}

/* The mount is there, and does to labels what it does, whatever becomes of a walk over groups. */
static void act(Job *job) {
        if (job->failure.kind != FAILURE_NONE)
                finish(job);
        else if (job->plan.relabel_here)
                job_change_files(job, job->request.target, relabelled);
        else if (job->plan.effect == EFFECT_KEEP)
                job_change_files(job, job->request.target, finish);
        else
                mark(job);
}

/* The driver was to give it to the group when it was mounted. If that can't be seen, nobody relies on it. */
static void check_option(Job *job) {
        if (job->plan.ownership == OWNERSHIP_OPTION && job->outcome.root_gid != job->plan.fs_group)
                job->plan.fs_group = GID_NONE;
}

/* What is only noted needs no intent. What the volume carries is taken over before the effect is noted, which then is
 * newer: if the volume can't be marked, what it goes on to carry is not believed. */
static void begin(Job *job) {
        int r;

        check_option(job);
        if (!changes_files(job) && job->plan.effect == EFFECT_KEEP) {
                finish(job);
                return;
        }
        if (!find_holder(job)) {
                if (!job_record_holder(job, HOLDER_MOUNTING, true)) {
                        job_conclude(job);
                        return;
                }
                job->intended = true;
        }
        r = job_take_record_text(job, job->found, job->found_text);
        if (r < 0) {
                job_fail(job, r);
                finish(job);
                return;
        }
        if (!job->plan.relabel_here)
                job_apply_effect(job);
        job_then(job, act);
}

static int take_inspected(Job *job, sd_bus_message *reply) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        r = worker_read_node(reply, &node);
        if (r >= 0)
                r = worker_read_outcome(reply, &job->outcome);
        if (r >= 0)
                r = worker_read_volume_record(reply, &job->found, &job->found_text);
        if (r >= 0)
                r = free_and_strdup(&job->request.source, job->outcome.fact.source);
        if (r >= 0)
                r = free_and_strdup(&job->observed.fs_type, job->outcome.fact.fs_type);
        return r;
}

static void inspected(Job *job, sd_bus_message *reply) {
        int r;

        if (!reply) {
                job_conclude(job);
                return;
        }
        r = take_inspected(job, reply);
        if (r < 0) {
                job_fail(job, r);
                job_conclude(job);
                return;
        }

        if (!job_make_plan(job, job->outcome.fact.seclabel, &job->outcome.fact)) {
                if (job->failure.kind == FAILURE_CONTEXT_CONFLICT)
                        notify_context_conflict(job->manager, job->request.volume, &job->plan);
                job_conclude(job);
                return;
        }
        r = check_root(job);
        if (r == 0)
                r = check_holder(job);
        if (r == 0) {
                begin(job);
                return;
        }
        if (r < 0)
                job_fail(job, r);
        job_conclude(job);
}

static void observed(Job *job, sd_bus_message *reply) {
        if (!job_take_observed(job, reply)) {
                job_conclude(job);
                return;
        }
        job_call_worker(job, inspected, WORKER_INSPECT, WORKER_INSPECT_IN, job->request.target);
}

void job_adopt_begin(Job *job) {
        Holder *h;
        int r;

        r = job_check_target(job, &h);
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                job_conclude(job);
                return;
        }

        job_call_worker(job, observed, WORKER_OBSERVE, WORKER_OBSERVE_IN, "", "", job->request.target);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/time-util.h"
#include "wire/protocol.h"
#include "daemon/commit.h"
#include "daemon/job-object.h"
#include "daemon/notify.h"
#include "daemon/record.h"

/* What is done to a volume's files, once its record has been taken over (job-record.c):
 *
 *   decide → (idmap what is staged) → record intent → walk → record outcome
 *
 * Labels and groups are decided on apart, and changed in one walk. */

static const char *const relabelled_table[RELABELLED_VALUES] = {
        [RELABELLED_NOT] = "",
        [RELABELLED_WALKED] = "walked",
        [RELABELLED_SKIPPED] = "skipped",
};
DEFINE_STRING_TABLE(relabelled, Relabelled);

/* The first ones, as many as are pleasant to read. The worker has escaped them. */
static char *name_issues(const WalkResult *result) {
        enum { TEXT_MAX = 2048 };
        char *text = strdup("");

        for (size_t i = 0; i < result->n_issues && text; i++) {
                char *longer = strdup_printf("%s%s%s: %s", text, i > 0 ? "; " : "", result->issues[i].path,
                                             result->issues[i].text);

                if (longer && strlen(longer) > TEXT_MAX) {
                        free(longer);
                        break;
                }
                free(text);
                text = longer;
        }
        return text;
}

static int set_entries_failed(Job *job) {
        const WalkCounts *c = &job->walk.result.counts;
        _cleanup_free_ char *issues = name_issues(&job->walk.result);

        if (!issues)
                return -ENOMEM;
        return failure_set(
                &job->failure, FAILURE_ENTRIES_FAILED,
                "%s: %llu of %llu entries could not be changed: %s. What is known of the files stays partial; call again when that is remedied.",
                job->request.volume, (unsigned long long) c->failed, (unsigned long long) c->done,
                isempty(issues) ? "none of them is named" : issues);
}

static int take_changed(Job *job, sd_bus_message *reply) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        _cleanup_free_ char *text = NULL;
        Volume *v = job_volume(job);
        RecordFound found;
        int r;

        r = worker_read_changed(reply, &result, &found, &text);
        if (r >= 0)
                r = walk_take_result(&job->walk, &result);
        if (r < 0)
                return r;
        if (job->walk.result.counts.failed > 0)
                return set_entries_failed(job);

        r = job_finish_record(job, found, text);
        if (r < 0)
                return r;
        job->walk.complete = true;
        if (job->walk.labels && v->record.label_state == STATE_COMPLETE)
                v->last_verified_usec = now_realtime_usec();
        v->inodes_used = job->walk.result.counts.done;
        return 0;
}

static void changed(Job *job, sd_bus_message *reply) {
        int r = 0;

        /* What else walks on this connection counts anew. */
        job->progress = sd_bus_slot_unref(job->progress);
        job->walk.duration_usec = now_monotonic_usec() - job->walk.started_usec;
        if (reply)
                r = take_changed(job, reply);
        if (r < 0)
                job_fail(job, r);
        job->walk.done(job);
}

static int append_change(const Job *job, sd_bus_message *call) {
        const Walk *w = &job->walk;

        return sd_bus_message_append(call, WORKER_CHANGE_IN, w->target, job->outcome.fact.mount_id,
                                     w->labels ? job->plan.context : "", w->groups ? w->gid : GID_NONE,
                                     w->groups ? w->disk_gid : GID_NONE, (int) job->plan.readers, (int) w->blind,
                                     w->generation, job->request.walk.entries_per_sec,
                                     record_effect_to_string(w->labels ? job->plan.effect : EFFECT_KEEP));
}

static void begin_walk(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        int r;

        if (job->failure.kind != FAILURE_NONE) {
                job->walk.done(job);
                return;
        }
        r = job_new_worker_call(job, WORKER_CHANGE, &call);
        if (r >= 0)
                r = append_change(job, call);
        if (r < 0) {
                job_fail(job, r);
                job->walk.done(job);
                return;
        }
        job_object_announce(job->object);
        /* From here on the answer is the job itself. */
        if (job->operation == OPERATION_RELABEL || job->operation == OPERATION_CHGRP) {
                job->acting = true;
                job_answer(job);
        }
        job_send_walk_call(job, changed, call);
}

static const char *device_of(const Job *job) {
        return isempty(job->outcome.fact.device) ? strempty(job->observed.device) : job->outcome.fact.device;
}

/* As far as is known: one of both may not have been looked at. */
static bool is_same_file_system(const Job *a, const Job *b) {
        const char *type = a->observed.fs_type;
        const FileSystem *fs = type ? settings_file_system(&a->manager->settings, type) : NULL;

        if (!isempty(device_of(a)) && streq(device_of(a), device_of(b)))
                return true;
        return !(fs && fs->source == SOURCE_NONE) && !isempty(a->request.source) &&
               streq_ptr(a->request.source, b->request.source);
}

static bool walks(const Job *job) {
        return job->walk.labels || job->walk.groups;
}

/* What it is about to mount, or has staged, is in no mount table that others see, so to change its files is no
 * conflict. */
static bool has_mount(const Job *job) {
        if (job->operation == OPERATION_MOUNT && job->observed.fs_type)
                return true;
        return job->operation != OPERATION_UNMOUNT && !isempty(job->outcome.fact.device);
}

static const Job *find_rival(const Job *job, bool (*is_rival)(const Job *other)) {
        const Job *other;

        DL_FOREACH (job->manager->jobs, other)
                if (other != job && !other->concluded && is_rival(other) && is_same_file_system(other, job))
                        return other;
        return NULL;
}

static int rival_failure(Job *job, const Job *other) {
        if (!other)
                return 0;
        return failure_set(
                &job->failure, FAILURE_BUSY,
                "%s: volume %s is on the same file system, and %s is running for it; call again when that has ended.",
                job->request.volume, other->request.volume, operation_to_string(other->operation));
}

int job_check_walks(Job *job) {
        return rival_failure(job, find_rival(job, walks));
}

/* What was seen to be wrong is not believed any more, also if nothing comes of it. */
static void disown(Job *job) {
        Volume *v = job_volume(job);

        if (volume_record_apply(&v->record, EFFECT_DISOWN))
                commit_volume(job->manager, v);
}

static int begin_change(Job *job) {
        const Volume *v = job_volume(job);
        Walk *w = &job->walk;
        int r = 0;

        if (w->groups)
                r = plan_check_group(&job->manager->volumes, v->id, job->request.target, &job->observed,
                                     job->outcome.fact.root, w->disk_gid, &job->plan, &job->failure);
        if (r != 0)
                return r;
        w->generation = v->record.generation;
        w->total = job->outcome.inodes_used;
        return job_begin_record(job);
}

/* The walk itself, or none. */
static void change(Job *job) {
        Walk *w = &job->walk;
        int r;

        if (!walks(job)) {
                w->done(job);
                return;
        }
        r = begin_change(job);
        if (r == 0) {
                job_then(job, begin_walk);
                return;
        }
        if (w->ownership.reason == OWNERSHIP_FILES_DIFFER)
                disown(job);
        w->groups = w->labels = false;
        w->relabelled = RELABELLED_NOT;
        w->ownership = (OwnershipDecision){ 0 };
        if (r < 0)
                job_fail(job, r);
        w->done(job);
}

/* Files stay as they are, and nobody relies on their group. */
static void leave_alone(Job *job) {
        job->walk.ownership = (OwnershipDecision){ OWNERSHIP_NONE, OWNERSHIP_READ_ONLY };
        job->plan.fs_group = GID_NONE;
}

/* What was to be swapped has to be walked over after all, unless it is read-only. */
static void walk_instead(Job *job, OwnershipReason reason) {
        Walk *w = &job->walk;

        if (job->plan.ownership == OWNERSHIP_MAP) {
                leave_alone(job);
                return;
        }
        w->ownership = (OwnershipDecision){ OWNERSHIP_WALK, reason };
        w->groups = true;
        w->gid = w->disk_gid = job->plan.fs_group;
}

static void take_mapped(Job *job, MapResult result) {
        switch (result) {
        case MAP_MAPPED:
                break;
        case MAP_DIFFERS:
                record_promise_broken(job->manager, job_volume(job), EFFECT_DISOWN, strempty(job->walk.why));
                if (job->plan.ownership == OWNERSHIP_MAP)
                        disown(job);
                walk_instead(job, OWNERSHIP_FILES_DIFFER);
                break;
        default:
                walk_instead(job, OWNERSHIP_NO_IDMAP);
        }
}

static void mapped(Job *job, sd_bus_message *reply) {
        Walk *w = &job->walk;
        _cleanup_free_ char *text = NULL;
        MapResult result = MAP_RESULTS;
        int r = reply ? worker_read_mapped(reply, &result, &text) : 0;

        if (r < 0)
                job_fail(job, r);
        if (!reply || r < 0) {
                w->done(job);
                return;
        }
        if (result != MAP_MAPPED) {
                free(w->why);
                w->why = TAKE_PTR(text);
        }
        take_mapped(job, result);
        change(job);
}

/* It takes as long as a few files are far from each other on the disk, and has its own time. */
static void map(Job *job) {
        const Walk *w = &job->walk;
        int r = 0;

        if (job->request.timeout_usec == 0)
                r = job_set_deadline(job, job->manager->settings.job_timeout_usec);
        if (r < 0) {
                job_fail(job, r);
                w->done(job);
                return;
        }
        job_call_worker(job, mapped, WORKER_MAP, WORKER_MAP_IN, w->disk_gid, job->plan.fs_group,
                        (int) job->plan.readers);
}

static void decide_labels(Job *job) {
        const Volume *v = job_volume(job);
        RelabelDecision d =
                relabel_decide(&v->record, job->outcome.root_context, job->plan.context, job->request.walk.force);

        job->walk.reason = d.reason;
        job->walk.relabelled = d.walk ? RELABELLED_WALKED : RELABELLED_SKIPPED;
        job->walk.labels = d.walk;
        job->walk.blind = d.blind;
}

static OwnershipDecision decide_ownership(const Job *job, const VolumeRecord *known, gid_t root_gid,
                                          mode_t root_mode) {
        const Settings *settings = &job->manager->settings;
        const Request *q = &job->request;
        const OwnershipInput in = {
                .known = known,
                .wanted = { .gid = job->plan.fs_group, .read_only = job->plan.readers },
                .root_gid = root_gid,
                .root_mode = root_mode,
                .gate = settings->gate_skip_fs_group,
                .policy = q->fs_group_change_policy >= 0      ? (FSGroupChangePolicy) q->fs_group_change_policy
                          : job->operation == OPERATION_CHGRP ? FS_GROUP_CHANGE_ON_ROOT_MISMATCH
                                                              : settings->default_fs_group_change_policy,
                .force = q->walk.force,
                .on_disk = job->operation == OPERATION_CHGRP,
                .user_namespace = q->user_namespace,
                .mounted = job->operation == OPERATION_ADOPT,
        };

        return ownership_decide(&in);
}

/* What the root has on disk. */
static gid_t unmap(const Job *job, gid_t gid) {
        gid_t shown = job->plan.fs_group, on_disk = job->share_disk_gid;

        if (on_disk == GID_NONE)
                return gid;
        return gid == shown ? on_disk : gid == on_disk ? shown : gid;
}

/* There is no walk for them. The clone of a mount that swaps these groups shows the wanted one in any case. */
static void spare_readers(Job *job) {
        if (job->walk.ownership.action != OWNERSHIP_WALK || job->plan.ownership != OWNERSHIP_MAP)
                return;
        if (job->share_disk_gid == GID_NONE)
                leave_alone(job);
        else
                job->walk.ownership = (OwnershipDecision){ OWNERSHIP_MAP, OWNERSHIP_OTHER_GROUP };
}

static void decide_groups(Job *job) {
        const Volume *v = job_volume(job);
        Walk *w = &job->walk;

        w->ownership = decide_ownership(job, &v->record, unmap(job, job->outcome.root_gid), job->outcome.root_mode);
        w->gid = job->plan.fs_group;
        w->disk_gid = w->ownership.action == OWNERSHIP_MAP ? v->record.gid : unmap(job, w->gid);
        spare_readers(job);
        w->groups = w->ownership.action == OWNERSHIP_WALK;
}

/* The clone of a mount that swaps the same groups does so too. */
static bool must_be_mapped(const Job *job) {
        return job->walk.ownership.action == OWNERSHIP_MAP && job->share_disk_gid == GID_NONE;
}

void job_change_files(Job *job, const char *target, JobCallback done) {
        Walk *w = &job->walk;
        int r = 0;

        w->done = done;
        w->target = target;
        if (job->plan.relabel_here || job_gives_group(job))
                r = rival_failure(job, find_rival(job, has_mount));
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                done(job);
                return;
        }
        if (job->plan.relabel_here)
                decide_labels(job);
        if (job_gives_group(job))
                decide_groups(job);
        if (must_be_mapped(job))
                map(job);
        else
                change(job);
}

int job_foretell_change(Job *job) {
        const Volume *v = job_volume(job);
        const VolumeRecord nothing = { 0 }, *known = v ? &v->record : &nothing;
        bool relabel = job->plan.relabel_here, owned = job_gives_group(job);
        Walk *w = &job->walk;

        /* The root is seen when it is mounted. */
        if (relabel) {
                RelabelDecision d = relabel_decide(known, known->context, job->plan.context, job->request.walk.force);

                w->relabelled = d.walk ? RELABELLED_WALKED : RELABELLED_SKIPPED;
                w->reason = d.reason;
        }
        if (owned)
                w->ownership = decide_ownership(job, known, known->gid, S_IFDIR | S_ISGID | 0777);
        spare_readers(job);
        if (job->plan.strategy != STRATEGY_RELABEL && w->ownership.action != OWNERSHIP_WALK)
                job->plan.entries = job->plan.usec = 0;
        if (!owned || w->ownership.action != OWNERSHIP_WALK)
                return 0;
        return plan_check_group(&job->manager->volumes, job->request.volume, job->request.target, &job->observed,
                                NULL, unmap(job, job->plan.fs_group), &job->plan, &job->failure);
}

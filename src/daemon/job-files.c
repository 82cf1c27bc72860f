/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/time-util.h"
#include "core/worker-protocol.h"
#include "daemon/commit.h"
#include "daemon/job-object.h"
#include "daemon/notify.h"
#include "daemon/record.h"

/* What is known of a volume's labels: the store's account and the volume's own are brought in line, the decision what
 * has to be done is taken on that, and the record follows what was done. */

static const char *const relabelled_table[RELABELLED_VALUES] = {
        [RELABELLED_NOT] = "",
        [RELABELLED_WALKED] = "walked",
        [RELABELLED_SKIPPED] = "skipped",
};
DEFINE_STRING_TABLE(relabelled, Relabelled);

RecordEffect job_effect(const Job *job) {
        return job->walk.relabelled == RELABELLED_WALKED ? EFFECT_KEEP : job->plan.effect;
}

void job_apply_effect(Job *job) {
        Volume *v = job_volume(job);

        if (volume_record_apply(&v->record, job_effect(job)))
                commit_volume(job->manager, v);
}

/* What was lost is worth a word, but where nothing was known nothing was lost. */
static bool is_notable(const VolumeRecord *stored, RecordVerdict verdict) {
        return verdict != VERDICT_STORE && verdict != VERDICT_AGREED &&
               (verdict != VERDICT_MISSING || stored->label_state != LABEL_UNKNOWN);
}

int job_take_record_text(Job *job, RecordFound found, const char *text) {
        Volume *v = job_volume(job);
        VolumeRecord known;
        RecordVerdict verdict;
        int r;

        r = volume_record_reconcile(&v->record, found, text, &known, &verdict);
        if (r < 0)
                return r;
        if (is_notable(&v->record, verdict))
                record_verdict(job->manager, v, verdict, text);
        job->looked = true;
        if (!volume_record_equal(&v->record, &known)) {
                volume_record_done(&v->record);
                v->record = known;
                commit_volume(job->manager, v);
        } else
                volume_record_done(&known);
        return 0;
}

int job_take_record(Job *job, sd_bus_message *reply) {
        _cleanup_free_ char *text = NULL;
        RecordFound found;
        int r;

        r = worker_read_volume_record(reply, &found, &text);
        return r < 0 ? r : job_take_record_text(job, found, text);
}

/* The next record of the volume: all files have the context, or some of them. */
static int set_record(Job *job, LabelState state) {
        Volume *v = job_volume(job);
        int r;

        r = free_and_strdup(&v->record.context, job->plan.context);
        if (r < 0)
                return r;
        v->record.label_state = state;
        v->record.tainted = v->record.tainted && state != LABEL_COMPLETE;
        v->record.generation = volume_record_next_generation(v->record.generation);
        commit_volume(job->manager, v);
        return 0;
}

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
                "%s: %llu of %llu entries could not be relabelled: %s. The label state stays partial; call "
                "again when that is remedied.",
                job->request.volume, (unsigned long long) c->failed, (unsigned long long) c->done,
                isempty(issues) ? "none of them is named" : issues);
}

/* Entries that were left alone, or missed as they moved, may have any label. */
static bool saw_all(const WalkCounts *c) {
        return c->skipped == 0 && c->unsettled == 0;
}

/* After the walk the volume's record is as far as the worker could take it, and newer than ours, or ours still: it is
 * taken over. A volume that keeps none has ours only. Who has the volume besides may go on to change labels. */
static int finish_record(Job *job, RecordFound found, const char *text) {
        Volume *v = job_volume(job);
        VolumeRecord known;
        RecordVerdict verdict;
        int r;

        if (found == RECORD_UNSUPPORTED && saw_all(&job->walk.result.counts)) {
                r = set_record(job, LABEL_COMPLETE);
                if (r < 0)
                        return r;
        }
        r = volume_record_reconcile(&v->record, found, text, &known, &verdict);
        if (r < 0)
                return r;
        if (known.label_state == LABEL_COMPLETE && !saw_all(&job->walk.result.counts)) {
                volume_record_done(&known);
                return -EBADMSG;
        }
        if (verdict != VERDICT_VOLUME && is_notable(&v->record, verdict))
                record_verdict(job->manager, v, verdict, text);
        volume_record_done(&v->record);
        v->record = known;
        if (known.label_state == LABEL_COMPLETE)
                (void) volume_record_apply(&v->record, job->plan.effect);
        commit_volume(job->manager, v);
        return 0;
}

static int take_relabelled(Job *job, sd_bus_message *reply) {
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        _cleanup_free_ char *text = NULL;
        Volume *v = job_volume(job);
        RecordFound found;
        int r;

        r = worker_read_relabelled(reply, &result, &found, &text);
        if (r >= 0)
                r = walk_take_result(&job->walk, &result);
        if (r < 0)
                return r;
        if (job->walk.result.counts.failed > 0)
                return set_entries_failed(job);

        r = finish_record(job, found, text);
        if (r < 0)
                return r;
        job->walk.complete = true;
        if (v->record.label_state == LABEL_COMPLETE)
                v->last_verified_usec = now_realtime_usec();
        v->inodes_used = job->walk.result.counts.done;
        return 0;
}

static void relabelled(Job *job, sd_bus_message *reply) {
        int r = 0;

        job->walk.duration_usec = now_monotonic_usec() - job->walk.started_usec;
        if (reply)
                r = take_relabelled(job, reply);
        if (r < 0)
                job_fail(job, r);
        job->walk.done(job);
}

static void begin_walk(Job *job) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        const WalkOptions *o = &job->request.walk;
        int r;

        if (job->failure.kind != FAILURE_NONE) {
                job->walk.done(job);
                return;
        }
        r = job_new_worker_call(job, WORKER_RELABEL, &call);
        if (r >= 0)
                r = sd_bus_message_append(call, WORKER_RELABEL_IN, job->walk.target, job->outcome.fact.mount_id,
                                          job->plan.context, (int) job->walk.blind, job->walk.generation, o->threads,
                                          o->entries_per_sec, (int) o->idle,
                                          record_effect_to_string(job->plan.effect));
        if (r < 0) {
                job_fail(job, r);
                job->walk.done(job);
                return;
        }
        job_object_announce(job->object);
        /* From here on the answer is the job itself. */
        if (job->operation == OPERATION_RELABEL) {
                job->acting = true;
                job_answer(job);
        }
        job_send_walk_call(job, relabelled, call);
}

/* What is staged is in no mount table that others see, so who relabels it is no conflict. */
static const Job *find_with_device(const Job *job) {
        const Job *other;

        DL_FOREACH (job->manager->jobs, other)
                if (other != job && !other->concluded && other->operation != OPERATION_UNMOUNT &&
                    !isempty(other->outcome.fact.device) &&
                    streq(other->outcome.fact.device, strempty(job->outcome.fact.device)))
                        return other;
        return NULL;
}

static bool is_same_source(const Job *a, const Job *b) {
        return streq_ptr(a->request.source, b->request.source) ||
               (a->observed.device && streq_ptr(a->observed.device, b->observed.device));
}

static const Job *find_walk_of_source(const Job *job) {
        const char *type = job->observed.fs_type;
        const FileSystem *fs = type ? settings_file_system(&job->manager->settings, type) : NULL;
        const Job *other;

        if (isempty(job->request.source) || (fs && fs->source == SOURCE_NONE))
                return NULL;
        DL_FOREACH (job->manager->jobs, other)
                if (other != job && !other->concluded && other->walk.relabelled == RELABELLED_WALKED &&
                    other->operation != OPERATION_PLAN && is_same_source(other, job))
                        return other;
        return NULL;
}

static int rival_failure(Job *job, const Job *other) {
        if (!other)
                return 0;
        return failure_set(&job->failure, FAILURE_BUSY,
                           "%s: volume %s is on the same file system, and %s is running for it; call again when that "
                           "has ended.",
                           job->request.volume, other->request.volume, operation_to_string(other->operation));
}

int job_check_walks(Job *job) {
        return rival_failure(job, find_walk_of_source(job));
}

void job_relabel_files(Job *job, const char *target, JobCallback done) {
        const Volume *v = job_volume(job);
        RelabelDecision d =
                relabel_decide(&v->record, job->outcome.root_context, job->plan.context, job->request.walk.force);
        Walk *w = &job->walk;
        int r;

        r = rival_failure(job, find_with_device(job));
        if (r != 0) {
                if (r < 0)
                        job_fail(job, r);
                done(job);
                return;
        }
        w->reason = d.reason;
        w->done = done;
        if (!d.walk) {
                w->relabelled = RELABELLED_SKIPPED;
                done(job);
                return;
        }
        w->relabelled = RELABELLED_WALKED;
        w->blind = d.blind;
        w->target = target;
        w->generation = v->record.generation;
        w->total = job->outcome.inodes_used;
        r = set_record(job, LABEL_PARTIAL);
        if (r < 0) {
                job_fail(job, r);
                done(job);
        } else
                job_then(job, begin_walk);
}

void job_foretell_relabel(Job *job) {
        const Volume *v = job_volume(job);
        const VolumeRecord nothing = { 0 }, *known = v ? &v->record : &nothing;
        /* The root is seen when it is mounted. */
        RelabelDecision d = relabel_decide(known, known->context, job->plan.context, job->request.walk.force);

        job->walk.relabelled = d.walk ? RELABELLED_WALKED : RELABELLED_SKIPPED;
        job->walk.reason = d.reason;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/record.h"

/* What is known of a volume's labels and group: the store's account and the volume's own are brought in line, and the
 * record follows what is done. */

RecordEffect job_effect(const Job *job) {
        return job->walk.labels ? EFFECT_KEEP : job->plan.effect;
}

void job_apply_effect(Job *job) {
        Volume *v = job_volume(job);

        if (volume_record_apply(&v->record, job_effect(job)))
                commit_volume(job->manager, v);
}

/* What was lost is worth a word, but where nothing was known nothing was lost. */
static bool is_notable(const VolumeRecord *stored, RecordVerdict verdict) {
        return verdict != VERDICT_STORE && verdict != VERDICT_AGREED &&
               (verdict != VERDICT_MISSING || stored->label_state != STATE_UNKNOWN ||
                stored->ownership_state != STATE_UNKNOWN);
}

/* What carries no record, and can be reached from other nodes, may have been changed there. */
static bool is_shared_unseen(const Job *job, RecordVerdict verdict) {
        const char *type = job->observed.fs_type;
        const FileSystem *fs = type ? settings_file_system(&job->manager->settings, type) : NULL;

        return verdict == VERDICT_STORE && fs && fs->source == SOURCE_NETWORK;
}

int job_take_record_text(Job *job, RecordFound found, const char *text) {
        Volume *v = job_volume(job);
        VolumeRecord known;
        RecordVerdict verdict;
        int r;

        r = volume_record_reconcile(&v->record, found, text, &known, &verdict);
        if (r < 0)
                return r;
        /* Until this job has seen to them. */
        if (!job->looked && is_shared_unseen(job, verdict))
                (void) volume_record_apply(&known, EFFECT_DISTRUST);
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

static RecordWork work_of(const Job *job) {
        return (RecordWork){
                .context = job->walk.labels ? job->plan.context : NULL,
                .gid = job->walk.groups ? job->walk.disk_gid : GID_NONE,
                .read_only = job->plan.readers,
        };
}

int job_begin_record(Job *job) {
        const RecordWork work = work_of(job);
        Volume *v = job_volume(job);
        int r;

        r = volume_record_begin(&v->record, &work);
        if (r >= 0)
                commit_volume(job->manager, v);
        return r;
}

/* Entries that were left alone, or missed as they moved, may have any label and group. */
static bool saw_all(const WalkCounts *c) {
        return c->skipped == 0 && c->unsettled == 0;
}

/* Whether a record claims that what was worked on is done. */
static bool claims_done(const VolumeRecord *r, const RecordWork *work) {
        return (work->context && r->label_state == STATE_COMPLETE) ||
               (work->gid != GID_NONE && !work->read_only && r->ownership_state == STATE_COMPLETE);
}

int job_finish_record(Job *job, RecordFound found, const char *text) {
        bool all = saw_all(&job->walk.result.counts);
        const RecordWork work = work_of(job);
        Volume *v = job_volume(job);
        VolumeRecord known;
        RecordVerdict verdict;
        int r;

        if (found == RECORD_UNSUPPORTED && all)
                volume_record_finish(&v->record, &work);
        r = volume_record_reconcile(&v->record, found, text, &known, &verdict);
        if (r < 0)
                return r;
        if (!all && claims_done(&known, &work)) {
                volume_record_done(&known);
                return -EBADMSG;
        }
        if (verdict != VERDICT_VOLUME && is_notable(&v->record, verdict))
                record_verdict(job->manager, v, verdict, text);
        volume_record_done(&v->record);
        v->record = known;
        /* Who has the volume besides may go on to change labels. */
        if (work.context && known.label_state == STATE_COMPLETE)
                (void) volume_record_apply(&v->record, job->plan.effect);
        commit_volume(job->manager, v);
        return 0;
}

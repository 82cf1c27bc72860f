/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "job/line.h"
#include "job/orphans.h"

typedef struct Orphan Orphan;
struct Orphan {
        Orphan *prev, *next;
        Jobs *jobs;
        pid_t pid;
        char *operation, *volume, *target;
        Claimant claims;
        bool listed; /* by the last look */
};

static Orphan *orphan_free(Orphan *o) {
        if (o) {
                claims_leave(&o->jobs->state->claims, &o->claims);
                free(o->operation);
                free(o->volume);
                free(o->target);
                free(o);
        }
        return NULL;
}
DEFINE_CLEANUP_FUNC(Orphan *, orphan_free);

static int fill(Orphan *o, const OrphanNote *note) {
        const char *volume = note->volume;
        Volume *v;

        if (isempty(volume) && volumes_find_target(&o->jobs->state->volumes, note->target, &v))
                volume = v->id;
        o->pid = note->pid;
        o->operation = strdup(note->operation);
        o->volume = strdup(volume);
        o->target = strdup(note->target);
        return o->operation && o->volume && o->target ? 0 : -ENOMEM;
}

/* A job that was there first has it for a while. */
static void note_listed(Orphan *o) {
        o->listed = true;
        (void) claims_take(&o->claims);
}

static int add(Jobs *jobs, const OrphanNote *note) {
        _cleanup_(orphan_freep) Orphan *o = calloc(1, sizeof(*o));
        int r;

        if (!o)
                return -ENOMEM;
        o->jobs = jobs;
        r = fill(o, note);
        if (r < 0)
                return r;
        r = line_claim(jobs->state, &o->claims, o->volume, o->target);
        if (r < 0)
                return r;
        note_listed(o);
        log_notice(
                "%s: worker process %i, from before selvold was restarted, still runs (%s%s%s); what it uses stays busy.",
                o->volume, (int) o->pid, o->operation, isempty(o->target) ? "" : " at ", o->target);
        DL_APPEND(jobs->orphans, o);
        TAKE_PTR(o);
        return 0;
}

static Orphan *find(const Jobs *jobs, pid_t pid) {
        Orphan *o;

        DL_FOREACH (jobs->orphans, o)
                if (o->pid == pid)
                        return o;
        return NULL;
}

static int take(Jobs *jobs, const OrphanNote *note) {
        Orphan *o = find(jobs, note->pid);

        if (!o)
                return add(jobs, note);
        note_listed(o);
        return 0;
}

static void forget_gone(Jobs *jobs) {
        Orphan *o, *next;

        DL_FOREACH_SAFE (jobs->orphans, o, next) {
                if (o->listed)
                        continue;
                log_info("%s: process %i, of a selvold that has ended, has gone.", o->volume, (int) o->pid);
                DL_DELETE(jobs->orphans, o);
                orphan_free(o);
                line_advance(jobs);
        }
}

int orphans_take(Jobs *jobs, const OrphanNote *notes, size_t n) {
        Orphan *o;

        DL_FOREACH (jobs->orphans, o)
                o->listed = false;
        for (size_t i = 0; i < n; i++) {
                int r = take(jobs, &notes[i]);

                if (r < 0)
                        return r;
        }
        forget_gone(jobs);
        return 0;
}

static const Orphan *find_in_front(const Job *job) {
        const Claimant *blocker = claims_find_blocker(&job->claims);
        const Orphan *o;

        DL_FOREACH (job->jobs->orphans, o)
                if (&o->claims == blocker)
                        return o;
        return NULL;
}

bool orphans_fail_busy(Job *job) {
        const Orphan *front = find_in_front(job);
        const char *of;

        if (!front)
                return false;
        /* The volume itself has been named. */
        of = streq_ptr(front->volume, job->request.volume) ? ""
             : isempty(front->volume)                      ? front->target
                                                           : front->volume;
        job_fail(
                job,
                failure_set(
                        &job->failure, FAILURE_BUSY,
                        "Volume %s is busy: %s%s%s by process %i of the worker, from before selvold was restarted, can't be ended, as its file system or server does not answer. Try again when it does.",
                        job->request.volume, front->operation, isempty(of) ? "" : " of ", of, (int) front->pid));
        return true;
}

void orphans_free(Jobs *jobs) {
        Orphan *o, *next;

        DL_FOREACH_SAFE (jobs->orphans, o, next)
                orphan_free(o);
        jobs->orphans = NULL;
}

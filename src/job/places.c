/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/path-util.h"
#include "job/job-log.h"
#include "job/job-queue.h"
#include "job/orphans.h"
#include "job/places.h"
#include "model/quota.h"

void places_take(Places *p, const Job *job) {
        if (p->n < ELEMENTSOF(p->running))
                p->running[p->n] = job;
        p->n++;
}

void places_count(Places *p, const Jobs *jobs) {
        const Job *job;

        p->n = 0;
        for (job = jobs->list; job; job = job->next)
                if (job->worker || (job->state >= JOB_LEAVING && job->state <= JOB_SETTLING))
                        places_take(p, job);
}

/* The jobs and orphans that take places which the job could have. */
typedef struct Taken {
        Quota all, source;
        size_t orphans;       /* part of all */
        const Orphan *orphan; /* one that is part of source */
        size_t of_source;     /* as many of them are */
} Taken;

/* Unmounts and other jobs count separately for a source. */
static Taken count_taken(const Places *p, const Job *job) {
        const bool unmounts = job->operation == OPERATION_UNMOUNT;
        const Orphan *o;
        Taken t = { 0 };

        for (size_t i = 0; i < p->n && i < ELEMENTSOF(p->running); i++) {
                const Job *other = p->running[i];
                const bool own = streq(other->caller.name, job->caller.name);

                quota_count(&t.all, 1, own);
                if (job->source && streq_ptr(other->source, job->source) &&
                    (other->operation == OPERATION_UNMOUNT) == unmounts)
                        quota_count(&t.source, 1, own);
        }
        DL_FOREACH (job->jobs->orphans, o) {
                quota_count(&t.all, 1, false);
                t.orphans++;
                if (!job->source || !streq(o->source, job->source) || orphan_unmounts(o) != unmounts)
                        continue;
                quota_count(&t.source, 1, false);
                t.orphan = o;
                t.of_source++;
        }
        return t;
}

static bool source_has_room(const Taken *t, const Job *job) {
        return quota_check(&t->source, LIMIT_SOURCE, 1, job->caller.trusted) == QUOTA_FITS;
}

static QuotaResult check_all(const Taken *t, const Job *job) {
        const LimitKind kind = job->operation == OPERATION_UNMOUNT ? LIMIT_JOBS_TO_UNMOUNT : LIMIT_JOBS;

        return quota_check(&t->all, kind, 1, job->caller.trusted);
}

bool places_have_room(const Places *p, const Job *job) {
        const Taken t = count_taken(p, job);

        return p->n < ELEMENTSOF(p->running) && check_all(&t, job) == QUOTA_FITS && source_has_room(&t, job);
}

/* "Mount of volume v at /target" */
static char *describe_orphan(const Orphan *o) {
        _cleanup_free_ char *target = string_escape(o->target, 200);

        return target ? strdup_printf("%s%s%s%s%s by process %i", o->operation,
                                      isempty(o->volume) ? "" : " of volume ", o->volume,
                                      isempty(target) ? "" : " at ", target, (int) o->pid)
                      : NULL;
}

/* Why the job waits, if children of an earlier selvold have the places that it needs; NULL: for another
 * reason, or out of memory. */
static char *describe_orphans(const Job *job) {
        _cleanup_free_ char *one = NULL, *source = NULL;
        Places places;
        Taken t;

        /* It would wait with a place, too. */
        if (job->state != JOB_QUEUED || claims_find_blocker(&job->claims) || queue_get_front(job))
                return NULL;
        places_count(&places, job->jobs);
        t = count_taken(&places, job);
        if (t.of_source > 0 && !source_has_room(&t, job)) {
                one = describe_orphan(t.orphan);
                source = string_escape(job->source, 200);
                return one && source
                               ? strdup_printf(
                                         "%zu processes of the worker, from before selvold was restarted, still wait for '%s' (%s), where no more than %i may be. They end when that device or server answers, or is removed (journalctl -k)",
                                         t.of_source, source, one, JOBS_OF_SOURCE_MAX)
                               : NULL;
        }
        if (t.orphans == 0 || check_all(&t, job) != QUOTA_ALL_IS_FULL)
                return NULL;
        one = describe_orphan(job->jobs->orphans);
        return one ? strdup_printf(
                             "%zu processes of the worker, from before selvold was restarted, still run (%s), and leave no place. They end when their devices and servers answer, or are removed (journalctl -k)",
                             t.orphans, one)
                   : NULL;
}

bool places_log_orphans(Job *job) {
        _cleanup_free_ char *why = describe_orphans(job);

        if (why)
                job_log_waiting(job, why);
        return why;
}

bool places_fail_busy(Job *job) {
        _cleanup_free_ char *why = describe_orphans(job);

        if (!why)
                return false;
        job_fail(job, failure_set(&job->failure, FAILURE_BUSY, "Volume %s has to wait: %s. Try again then.",
                                  job->request.volume, why));
        return true;
}

int places_source(const char *source, char **ret) {
        const char *end = NULL, *directory;
        char *s;

        if (source)
                end = source_tag(source, &directory)    ? source + strlen(source)
                      : source[0] != '/'                ? strstr(source, ":/")
                      : path_is_beneath(source, "/dev") ? source + strlen(source)
                                                        : strrchr(source, '/');
        if (!end) {
                *ret = NULL;
                return 0;
        }
        s = strndup(source, (size_t) (end - source));
        if (!s)
                return -ENOMEM;
        *ret = s;
        return 0;
}

/* A job counts with its bytes, too. */
static int check_waiting(const Quota *q, LimitKind kind, size_t amount, const char *of, bool trusted, Failure *f) {
        switch (quota_check(q, kind, amount, trusted)) {
        case QUOTA_ALL_IS_FULL:
                return failure_set(f, FAILURE_LIMIT_REACHED, "%zu %s run or wait: try again when some have ended.",
                                   q->all, of);
        case QUOTA_CALLER_IS_FULL:
                return failure_set(f, FAILURE_LIMIT_REACHED,
                                   "%zu %s of this caller run or wait: try again when some have ended.", q->caller,
                                   of);
        case QUOTA_FITS:
        default:
                return 0;
        }
}

int places_admit(const Jobs *jobs, Operation operation, const Request *request, const Caller *caller, Failure *f) {
        const bool unmounts = operation == OPERATION_UNMOUNT;
        Quota n = { 0 }, bytes = { 0 };
        const Job *job;
        int r;

        for (job = jobs->list; job; job = job->next)
                if (!job_is_over(job)) {
                        const bool own = streq(job->caller.name, caller->name);

                        quota_count(&n, 1, own);
                        quota_count(&bytes, job->bytes, own);
                }
        r = check_waiting(&n, unmounts ? LIMIT_WAITING_TO_UNMOUNT : LIMIT_WAITING, 1, "jobs", caller->trusted, f);
        if (r != 0)
                return r;
        return check_waiting(&bytes, unmounts ? LIMIT_WAITING_BYTES_TO_UNMOUNT : LIMIT_WAITING_BYTES,
                             request_count_bytes(request), "bytes of jobs", caller->trusted, f);
}

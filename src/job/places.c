/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
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

/* Unmounts and other jobs count separately for a source. */
bool places_have_room(const Places *p, const Job *job) {
        const bool unmounts = job->operation == OPERATION_UNMOUNT;
        const LimitKind kind = unmounts ? LIMIT_JOBS_TO_UNMOUNT : LIMIT_JOBS;
        Quota all = { 0 }, source = { 0 };

        if (p->n >= ELEMENTSOF(p->running))
                return false;
        for (size_t i = 0; i < p->n; i++) {
                const Job *other = p->running[i];

                quota_count(&all, 1, streq(other->caller.name, job->caller.name));
                if (job->source && streq_ptr(other->source, job->source) &&
                    (other->operation == OPERATION_UNMOUNT) == unmounts)
                        quota_count(&source, 1, false);
        }
        return quota_check(&all, kind, 1, job->caller.trusted) == QUOTA_FITS &&
               quota_check(&source, LIMIT_SOURCE, 1, job->caller.trusted) == QUOTA_FITS;
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

int places_admit(const Jobs *jobs, Operation operation, const Caller *caller, Failure *f) {
        const LimitKind kind = operation == OPERATION_UNMOUNT ? LIMIT_WAITING_TO_UNMOUNT : LIMIT_WAITING;
        Quota q = { 0 };
        const Job *job;

        for (job = jobs->list; job; job = job->next)
                if (!job_is_over(job))
                        quota_count(&q, 1, streq(job->caller.name, caller->name));
        switch (quota_check(&q, kind, 1, caller->trusted)) {
        case QUOTA_ALL_IS_FULL:
                return failure_set(f, FAILURE_LIMIT_REACHED, "%zu jobs run or wait: try again when some have ended.",
                                   q.all);
        case QUOTA_CALLER_IS_FULL:
                return failure_set(f, FAILURE_LIMIT_REACHED,
                                   "%zu jobs of this caller run or wait: try again when some have ended.", q.caller);
        case QUOTA_FITS:
        default:
                return 0;
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "job/places.h"

void places_take(Places *p, const Job *job) {
        if (p->n < ELEMENTSOF(p->running))
                p->running[p->n] = job;
        p->n++;
}

void places_count(Places *p, const Jobs *jobs) {
        const Job *job;

        p->n = 0;
        for (job = jobs->list; job; job = job->next)
                if (job->state != JOB_IN_LINE && job->state != JOB_PARKED && !job_is_over(job))
                        places_take(p, job);
}

static bool is_unmount(const Job *job) {
        return job->operation == OPERATION_UNMOUNT;
}

static size_t limit_in_all(const Job *job) {
        if (is_unmount(job))
                return JOBS_MAX + JOBS_TO_UNMOUNT;
        return job->caller.trusted ? JOBS_MAX : JOBS_MAX - JOBS_RESERVED;
}

/* What unmounts has its own room of a source, and all room of its caller. */
bool places_have_room(const Places *p, const Job *job) {
        size_t n_caller = 0, n_source = 0;

        if (p->n >= limit_in_all(job))
                return false;
        for (size_t i = 0; i < p->n; i++) {
                const Job *other = p->running[i];

                n_caller += streq(other->caller.name, job->caller.name);
                n_source +=
                        job->source && streq_ptr(other->source, job->source) && is_unmount(other) == is_unmount(job);
        }
        return n_source < JOBS_OF_SOURCE_MAX && (is_unmount(job) || n_caller < JOBS_OF_CALLER_MAX);
}

int places_source(const char *source, char **ret) {
        const char *end = NULL;
        char *s;

        if (source)
                end = source[0] != '/'                  ? strstr(source, ":/")
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
        size_t max = JOBS_WAITING_MAX, n = 0, n_caller = 0;
        const Job *job;

        if (operation == OPERATION_UNMOUNT)
                max += JOBS_WAITING_TO_UNMOUNT;
        if (!caller->trusted)
                max -= JOBS_WAITING_RESERVED;

        for (job = jobs->list; job; job = job->next) {
                if (job_is_over(job))
                        continue;
                n++;
                n_caller += streq(job->caller.name, caller->name);
        }
        if (n >= max)
                return failure_set(f, FAILURE_LIMIT_REACHED, "%zu jobs run or wait: try again when some have ended.",
                                   n);
        if (n_caller >= JOBS_WAITING_OF_CALLER_MAX && operation != OPERATION_UNMOUNT)
                return failure_set(f, FAILURE_LIMIT_REACHED,
                                   "%zu jobs of this caller run or wait: try again when some have ended.", n_caller);
        return 0;
}

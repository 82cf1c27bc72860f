/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/job.h"

/* A job as the bus shows it. Every job that may change something has an object, and every one that walks over files;
 * one that walked outlives its job, so that its result can be fetched. */

enum {
        JOB_OBJECTS_KEPT_MAX = 64, /* of those that have ended */
        JOB_OBJECT_KEPT_SEC = 600,
        CALLS_MAX = 64, /* that one job answers, and as many that wait for its end */
};

struct JobObject {
        JobObject *prev, *next;
        Manager *manager;
        Job *job; /* NULL: it has ended */
        uint64_t id;
        Operation operation;
        char *volume;
        char *context;            /* when it has ended; until then it is the job's */
        gid_t fs_group, disk_gid; /* likewise */
        uint64_t started_usec;    /* since the epoch */
        uint64_t ended_usec;      /* monotonic */
        bool announced;           /* it walks: its beginning was told, its end will be, and it is kept */
        FailureKind result;
        char *error;            /* what a failure says, when it has ended */
        Walk walk;              /* likewise */
        sd_bus_message **calls; /* Wait and Cancel */
        size_t n_calls;
};

/* Gives the job an object. Returns 0 or -ENOMEM. */
int job_object_new(Job *job);
JobObject *job_object_free(JobObject *o);
/* Tells that the job walks; once. */
void job_object_announce(JobObject *o);
/* Takes over from the job, which has ended and whose record is durable, and answers those who wait for that. */
void job_object_end(JobObject *o);
void job_objects_teardown(Manager *m);

JobObject *job_object_find(const Manager *m, uint64_t id);
/* The one that is at work on a volume, NULL if there is none. */
JobObject *job_object_find_running(const Manager *m, const char *volume);
/* Has a call of Wait or Cancel answered when the job has ended. Returns 0, -ENOMEM or LIMIT_REACHED. */
int job_object_wait(JobObject *o, sd_bus_message *call, Failure *f);

const Walk *job_object_walk(const JobObject *o);
const char *job_object_context(const JobObject *o);
/* "" while it runs, then "done" or the failure's name. */
const char *job_object_result(const JobObject *o);

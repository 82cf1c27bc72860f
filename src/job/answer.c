/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "job/answer.h"
#include "state/commit.h"

void job_show(Job *job) {
        if (job->shown)
                return;
        job->shown = true;
        event_emit(job->jobs->state, job_added, job);
}

void job_set_state(Job *job, JobState state) {
        job->state = state;
        if (job->shown)
                event_emit(job->jobs->state, job_changed, job);
}

static void answer_all(const Job *job, JobWaiter **waiters, size_t *n) {
        JobWaiter *list = TAKE_PTR(*waiters);
        size_t count = *n;

        *n = 0;
        for (size_t i = 0; i < count; i++)
                list[i].reply(job, list[i].userdata);
        free(list);
}

void job_answer(Job *job) {
        answer_all(job, &job->waiters, &job->n_waiters);
}

void job_answer_followers(Job *job) {
        answer_all(job, &job->followers, &job->n_followers);
}

/* Waits for a commit. */

typedef struct Commit {
        Job *job;
        void (*callback)(Job *job);
} Commit;

static void set_commit_failure(Job *job, int error) {
        const char *outcome = job->ended_usec > 0     ? "what was done is not recorded yet"
                              : job->identity.id != 0 ? "the volume was not mounted"
                                                      : "no file was changed";
        const State *s = job->jobs->state;
        int r;

        if (error == -ECANCELED)
                r = failure_set(&job->failure, FAILURE_CANCELED, "selvold is stopping: try again when it runs.");
        else
                r = failure_set(&job->failure, FAILURE_STORE_FAILED,
                                "The state could not be written to %s (%s), so %s. To fix that, %s, then try again.",
                                s->directory, strerror(-error), outcome, commit_remedy(error));
        job_fail(job, r);
}

/* Who only asks needs none, and what is unmounted the mount table tells a later selvold as well. */
static bool needs_record(const Job *job) {
        return operation_changes(job->operation) && job->operation != OPERATION_UNMOUNT;
}

static void on_committed(State *s, int error, void *userdata) {
        Commit *c = userdata;
        Job *job = c->job;
        void (*callback)(Job * job) = c->callback;

        free(c);
        if (error < 0 && !job_has_failed(job) && needs_record(job))
                set_commit_failure(job, error);
        callback(job);
}

/* A verify that has found the mark wrong changes the record, too. */
static bool has_changes(const Job *job) {
        return operation_changes(job->operation) || job->verified.reset != MARK_KEEP;
}

void job_then(Job *job, void (*callback)(Job *job)) {
        Commit *c;

        if (!has_changes(job)) {
                callback(job);
                return;
        }
        c = malloc(sizeof(*c));
        if (c)
                *c = (Commit){ job, callback };
        if (c && commit_then(job->jobs->state, on_committed, c) >= 0)
                return;
        free(c);
        if (needs_record(job))
                job_fail(job, -ENOMEM);
        callback(job);
}

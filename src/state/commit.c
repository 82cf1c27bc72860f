/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/epoll.h>

#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "wire/message-ids.h"
#include "state/commit.h"

enum { REWRITE_INTERVAL_USEC = 1000000, COMMIT_DELAY_MAX_USEC = 10000, LAST_COMMIT_SEC = 3 };

struct Deferred {
        Deferred *next;
        CommitCallback callback;
        void *userdata;
};

const char *commit_remedy(int error) {
        switch (-error) {
        case ENOSPC:
        case EDQUOT:
                return "make room on the file system of the state directory";
        case EROFS:
                return "make the file system of the state directory writable";
        case EIO:
                return "see 'journalctl -k' for errors of the disk that the state directory is on";
        case EACCES:
        case EPERM:
                return "give the state directory and what is in it to the user of selvold";
        case ENOMEM:
                return "free memory on the node";
        default:
                return "see the journal of selvold";
        }
}

static void call_back_all(State *s, Deferred **waiting, int error) {
        while (*waiting) {
                Deferred *d = *waiting;

                LL_DELETE(*waiting, d);
                d->callback(s, error, d->userdata);
                free(d);
        }
}

static void on_stored(void *userdata, int error) {
        State *s = userdata;
        uint64_t now = now_monotonic_usec();

        s->committing = false;
        if (error < 0) {
                s->next_rewrite_usec = now + (s->rewriting ? REWRITE_INTERVAL_USEC : 0);
                /* Logs only the first failure: until everything has been written again, every further commit
                 * fails for the same reason. */
                if (!s->store_failure_told) {
                        metrics_count(s->metrics, METRIC_STORE_ERRORS);
                        errno = -error;
                        log_fields(
                                LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_FAILED } }, 1,
                                "The state can't be written to %s: %m. Until it can be, calls that must record something are refused: %s.",
                                s->path, commit_remedy(error));
                }
                s->store_failure_told = true;
        } else {
                metrics_observe(s->metrics, METRIC_COMMIT_DURATION, now - s->commit_started_usec);
                if (s->rewriting)
                        log_fields(LOG_NOTICE, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_HEALED } }, 1,
                                   "The state can be written again: all of it has been written to %s.", s->path);
                s->store_failure_told = false;
        }
        call_back_all(s, &s->waiting, error);
}

static bool commit_is_due(const State *s) {
        if (s->committing)
                return false;
        return s->deferred || store_is_dirty(s->store) ||
               (store_get_error(s->store) < 0 && now_monotonic_usec() >= s->next_rewrite_usec);
}

/* The callbacks of one commit may make more changes, which then wait for the next commit. While the state
 * can't be written, each commit tries to write everything, at most once a second. */
static void commit_start(State *s) {
        while (commit_is_due(s)) {
                int error = store_get_error(s->store);

                /* A callback need not wait for the disk if nothing has changed, or nothing can be written. */
                if (error < 0 ? now_monotonic_usec() < s->next_rewrite_usec : !store_is_dirty(s->store)) {
                        Deferred *waiting = TAKE_PTR(s->deferred);

                        store_drop_changes(s->store);
                        call_back_all(s, &waiting, error);
                        continue;
                }
                s->committing = true;
                s->rewriting = error < 0;
                s->commit_started_usec = now_monotonic_usec();
                s->waiting = TAKE_PTR(s->deferred);
                if (s->rewriting)
                        store_put_job_numbers(s->store, s->job_numbers);
                if (s->rewriting)
                        store_hand_over_anew(s->store, &s->volumes, s->boot_id, on_stored, s);
                else
                        store_hand_over(s->store, on_stored, s);
        }
}

/* Runs when no other source is ready, or when the changes have waited long enough. */
static int on_commit_post(sd_event_source *source, void *userdata) {
        commit_start(userdata);
        return 0;
}

static int on_store(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        State *s = userdata;

        store_dispatch(s->store);
        return 0;
}

/* The source yields to all ready sources, so that the changes of several calls become one commit. But not for
 * long, because some source may always be ready. */
static int on_commit_prepare(sd_event_source *source, void *userdata) {
        State *s = userdata;
        uint64_t now;

        if (!commit_is_due(s)) {
                s->uncommitted_since_usec = 0;
                return sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IDLE);
        }
        now = now_monotonic_usec();
        if (s->uncommitted_since_usec == 0)
                s->uncommitted_since_usec = now;
        if (now - s->uncommitted_since_usec < COMMIT_DELAY_MAX_USEC)
                return 0;
        return sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
}

int commit_setup(State *s) {
        int r;

        r = sd_event_add_post(s->event, &s->commit_source, on_commit_post, s);
        if (r < 0)
                return r;
        r = sd_event_source_set_priority(s->commit_source, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;
        r = sd_event_source_set_prepare(s->commit_source, on_commit_prepare);
        if (r < 0)
                return r;
        return sd_event_add_io(s->event, &s->store_source, store_get_fd(s->store), EPOLLIN, on_store, s);
}

void commit_teardown(State *s) {
        while (s->waiting || s->deferred) {
                call_back_all(s, &s->waiting, -ECANCELED);
                call_back_all(s, &s->deferred, -ECANCELED);
        }
        s->commit_source = sd_event_source_disable_unref(s->commit_source);
        s->store_source = sd_event_source_disable_unref(s->store_source);
}

void commit_volume(State *s, Volume *v) {
        store_put_volume(s->store, v);
        event_emit(s, volume_changed, v);
}

void commit_holder(State *s, Volume *v, const Holder *h) {
        v->last_used_usec = now_realtime_usec();
        store_put_volume(s->store, v);
        store_put_holder(s->store, v, h);
        event_emit(s, volume_changed, v);
}

Holder *commit_release(State *s, Volume *v, Holder *h) {
        store_delete_holder(s->store, h->target);
        volume_take_holder(v, h);
        /* Without holders, selvold no longer knows who mounts the volume, unless the last unmount left a
         * fingerprint. */
        if (!v->holders && streq(v->fingerprint.text, FINGERPRINT_MOUNTED))
                v->fingerprint = (Fingerprint){ 0 };
        v->last_used_usec = now_realtime_usec();
        s->ephemeral_unused = s->ephemeral_unused || (v->ephemeral && !v->holders);
        commit_volume(s, v);
        return h;
}

void commit_removal(State *s, Volume *v) {
        store_delete_volume(s->store, v->id);
        event_emit(s, volume_removed, v);
        volumes_remove(&s->volumes, v);
}

static void record_job_numbers(State *s) {
        s->job_numbers = s->last_job + JOB_NUMBERS;
        store_put_job_numbers(s->store, s->job_numbers);
}

void commit_job_numbers(State *s, uint64_t used) {
        s->last_job = used;
        record_job_numbers(s);
}

uint64_t commit_next_job(State *s) {
        if (s->job_numbers - s->last_job <= JOB_NUMBERS / 2)
                record_job_numbers(s);
        return ++s->last_job;
}

int commit_then(State *s, CommitCallback callback, void *userdata) {
        Deferred *d = malloc(sizeof(*d));

        if (!d)
                return -ENOMEM;
        *d = (Deferred){ .callback = callback, .userdata = userdata };
        LL_APPEND(s->deferred, d);
        return 0;
}

int commit_now(State *s) {
        do {
                commit_start(s);
                store_wait(s->store);
        } while (commit_is_due(s));
        return store_get_error(s->store);
}

int commit_last(State *s) {
        const uint64_t end = now_monotonic_usec() + LAST_COMMIT_SEC * USEC_PER_SEC;

        do {
                commit_start(s);
                if (store_wait_until(s->store, end) < 0)
                        return log_error_errno(
                                -ETIMEDOUT,
                                "The last changes could not be written to %s in %i seconds: ending without them. At its next start selvold compares the record with the mount table.",
                                s->path, LAST_COMMIT_SEC);
        } while (commit_is_due(s));
        return 0;
}

int commit_get_error(const State *s) {
        return store_get_error(s->store);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "wire/message-ids.h"
#include "state/commit.h"

enum { REWRITE_INTERVAL_USEC = 1000000, COMMIT_DELAY_MAX_USEC = 10000 };

struct Deferred {
        Deferred *next;
        CommitCallback callback;
        void *userdata;
};

static int commit_transaction(State *s) {
        uint64_t start = now_monotonic_usec();
        int r;

        if (!store_is_dirty(s->store) && !store_is_failed(s->store))
                return 0;

        r = store_commit(s->store);
        if (r >= 0) {
                metrics_observe(s->metrics, METRIC_COMMIT_DURATION, now_monotonic_usec() - start);
                return 0;
        }

        /* Said once: until it has been written anew, every further commit fails for the same reason. */
        if (s->store_failure_told)
                return r;
        s->store_failure_told = true;
        metrics_count(s->metrics, METRIC_STORE_ERRORS);
        errno = -r;
        log_fields(
                LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_FAILED } }, 1,
                "The state can't be written to %s: %m. Calls that change anything are refused until a new file could be written.",
                s->path);
        return r;
}

static bool has_something_to_do(const State *s) {
        return s->deferred || store_is_dirty(s->store) || (store_is_failed(s->store) && !s->store_failure_told);
}

/* Runs when no other source is ready, or it has waited long enough. What is called back may change something and wait in
 * its turn, and no other source may run for long, so it goes on until nothing is left. */
static int on_post(sd_event_source *source, void *userdata) {
        State *s = userdata;

        while (has_something_to_do(s)) {
                Deferred *waiting = s->deferred;
                int r;

                s->deferred = NULL;
                r = commit_transaction(s);
                while (waiting) {
                        Deferred *d = waiting;

                        LL_DELETE(waiting, d);
                        d->callback(s, r, d->userdata);
                        free(d);
                }
        }
        return 0;
}

/* It gives way to all that is ready, so that what several calls have changed is one commit; but not for long: somebody may
 * always have something to say. */
static int on_prepare(sd_event_source *source, void *userdata) {
        State *s = userdata;
        uint64_t now;

        if (!has_something_to_do(s)) {
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

        r = sd_event_add_post(s->event, &s->commit_source, on_post, s);
        if (r < 0)
                return r;
        r = sd_event_source_set_priority(s->commit_source, SD_EVENT_PRIORITY_IDLE);
        if (r < 0)
                return r;
        return sd_event_source_set_prepare(s->commit_source, on_prepare);
}

void commit_teardown(State *s) {
        while (s->deferred) {
                Deferred *d = s->deferred;

                LL_DELETE(s->deferred, d);
                d->callback(s, -ECANCELED, d->userdata);
                free(d);
        }
        s->commit_source = sd_event_source_unref(s->commit_source);
}

void commit_volume(State *s, Volume *v) {
        store_put_volume(s->store, v);
        event_emit(s, volume_changed, v);
}

void commit_holder(State *s, Volume *v, const Holder *h) {
        store_put_volume(s->store, v);
        store_put_holder(s->store, v, h);
        event_emit(s, volume_changed, v);
}

Holder *commit_release(State *s, Volume *v, Holder *h) {
        store_delete_holder(s->store, h->target);
        volume_take_holder(v, h);
        /* Who mounts it from now on is not known, unless that was noted. */
        if (!v->holders && streq(v->fingerprint.text, FINGERPRINT_MOUNTED))
                v->fingerprint = (Fingerprint){ 0 };
        commit_volume(s, v);
        return h;
}

void commit_removal(State *s, Volume *v) {
        store_delete_volume(s->store, v->id);
        event_emit(s, volume_removed, v);
        volumes_remove(&s->volumes, v);
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
        return commit_transaction(s);
}

bool commit_is_possible(State *s) {
        uint64_t now = now_monotonic_usec();
        int r;

        if (!store_is_failed(s->store))
                return true;
        if (now < s->next_rewrite_usec)
                return false;

        s->next_rewrite_usec = now + REWRITE_INTERVAL_USEC;
        r = store_rewrite(s->store, &s->volumes, s->boot_id);
        if (r < 0) {
                log_error_errno(r, "Failed to write the state anew to %s: %m", s->path);
                return false;
        }
        s->store_failure_told = false;
        log_notice("The state has been written anew to %s.", s->path);
        return true;
}

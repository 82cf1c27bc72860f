/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "state/messages.h"
#include "daemon/commit.h"
#include "daemon/notify.h"

enum { REWRITE_INTERVAL_USEC = 1000000 };

struct Deferred {
        Deferred *next;
        CommitCallback callback;
        void *userdata;
};

static int commit_transaction(Manager *m) {
        uint64_t start = now_monotonic_usec();
        int r;

        if (!store_is_dirty(m->store) && !store_is_failed(m->store))
                return 0;

        r = store_commit(m->store);
        if (r >= 0) {
                metrics_observe(m->metrics, METRIC_COMMIT_DURATION, now_monotonic_usec() - start);
                return 0;
        }

        /* Said once: until it has been written anew, every further commit fails for the same reason. */
        if (m->store_failure_told)
                return r;
        m->store_failure_told = true;
        metrics_count(m->metrics, METRIC_STORE_ERRORS);
        errno = -r;
        log_fields(
                LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_STORE_FAILED } }, 1,
                "The state can't be written to %s: %m. Calls that change anything are refused until a new file could be written.",
                m->state_path);
        return r;
}

static bool has_something_to_do(const Manager *m) {
        return m->deferred || store_is_dirty(m->store) || (store_is_failed(m->store) && !m->store_failure_told);
}

/* Runs after all other sources of an iteration. What is called back may change something and wait in its turn, and no
 * other source may run for long, so it goes on until nothing is left. */
static int on_post(sd_event_source *source, void *userdata) {
        Manager *m = userdata;

        while (has_something_to_do(m)) {
                Deferred *waiting = m->deferred;
                int r;

                m->deferred = NULL;
                r = commit_transaction(m);
                while (waiting) {
                        Deferred *d = waiting;

                        LL_DELETE(waiting, d);
                        d->callback(m, r, d->userdata);
                        free(d);
                }
        }
        return 0;
}

int commit_setup(Manager *m) {
        return sd_event_add_post(m->event, &m->commit_source, on_post, m);
}

void commit_teardown(Manager *m) {
        while (m->deferred) {
                Deferred *d = m->deferred;

                LL_DELETE(m->deferred, d);
                d->callback(m, -ECANCELED, d->userdata);
                free(d);
        }
        sd_event_source_unref(m->commit_source);
}

void commit_volume(Manager *m, Volume *v) {
        store_put_volume(m->store, v);
        notify_volume_changed(m, v);
}

void commit_removal(Manager *m, Volume *v) {
        store_delete_volume(m->store, v->id);
        notify_volume_removed(m, v);
        volumes_remove(&m->volumes, v);
}

int commit_then(Manager *m, CommitCallback callback, void *userdata) {
        Deferred *d = malloc(sizeof(*d));

        if (!d)
                return -ENOMEM;
        *d = (Deferred){ .callback = callback, .userdata = userdata };
        LL_APPEND(m->deferred, d);
        return 0;
}

int commit_now(Manager *m) {
        return commit_transaction(m);
}

bool commit_is_possible(Manager *m) {
        uint64_t now = now_monotonic_usec();
        int r;

        if (!store_is_failed(m->store))
                return true;
        if (now < m->next_rewrite_usec)
                return false;

        m->next_rewrite_usec = now + REWRITE_INTERVAL_USEC;
        r = store_rewrite(m->store, &m->volumes, m->boot_id);
        if (r < 0) {
                log_error_errno(r, "Failed to write the state anew to %s: %m", m->state_path);
                return false;
        }
        m->store_failure_told = false;
        log_notice("The state has been written anew to %s.", m->state_path);
        return true;
}

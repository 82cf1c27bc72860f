/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "wire/message-ids.h"
#include "wire/protocol.h"
#include "state/reconcile.h"
#include "state/watch.h"
#include "wire/messages.h"
#include "wire/peer.h"

enum { FIRST_LOOK_SEC = 10, RETRY_SEC_MAX = 5 };

struct WorkerWatch {
        sd_bus *worker;
        sd_event_source *retry;
        unsigned retry_sec;
        uint64_t asked_usec;       /* request time of the oldest pending snapshot; 0: none; CLOCK_MONOTONIC */
        bool compared;             /* the first look since selvold's start is done */
        bool heard;                /* the last request was answered; the connection has not failed since */
        uint64_t n_expected;       /* mounts recorded so far */
        uint64_t n_expected_asked; /* n_expected at the request of the snapshot */
        uint64_t *asked;           /* ids of mounts whose Expect has no answer yet */
        size_t n_asked;
};

static void watch_again_later(State *s);

const char *state_selinux_mode(const State *s) {
        return !s->node.selinux ? "disabled" : s->node.enforcing ? "enforcing" : "permissive";
}

bool state_take_node(State *s, Node *node) {
        bool changed = !s->node_known || s->node.selinux != node->selinux || s->node.enforcing != node->enforcing;

        node_done(&s->node);
        s->node = TAKE_STRUCT(*node);
        s->node_known = true;
        if (changed) {
                log_info("SELinux is %s on this node.", state_selinux_mode(s));
                event_emit(s, node_changed);
        }
        return changed;
}

bool state_worker_differs(const State *s) {
        return s->worker_settings != 0 && s->worker_settings != s->settings.digest;
}

static void take_worker_settings(State *s, uint64_t digest) {
        bool known = state_worker_differs(s);

        s->worker_settings = digest;
        if (known != state_worker_differs(s))
                event_emit(s, node_changed);
        if (!known && state_worker_differs(s))
                log_fields(LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_CONFIG_DIFFERS } }, 1, "%s",
                           CONFIG_DIFFERS_TEXT);
}

static int take_snapshot(State *s, sd_bus_message *reply) {
        _cleanup_(watched_done) Watched w = { 0 };
        int r;

        r = watched_read(reply, &w);
        if (r < 0)
                return r;
        take_worker_settings(s, w.settings);
        r = s->take_orphans(s->userdata, w.orphans, w.n_orphans);
        if (r < 0)
                return r;
        (void) state_take_node(s, &w.node);
        r = reconcile(s, &w, !s->watch->compared);
        if (r < 0)
                return r;
        s->watch->compared = true;
        r = unrecorded_take(s, w.mounts, w.n_mounts);
        /* Foreign mounts may have gone while nobody watched. */
        if (r >= 0 && s->mount_gone)
                s->mount_gone(s->userdata, NULL);
        return r;
}

static void compare_holder(State *s, Volume *v, Holder *h, const MountFact *fact) {
        const WorkerWatch *w = s->watch;

        if (h->state != HOLDER_MOUNTED)
                return;
        /* Until the worker has answered Expect, its reports about this id are about an earlier mount. */
        for (size_t i = 0; i < w->n_asked; i++)
                if (w->asked[i] == h->mount_id)
                        return;
        if (fact)
                holder_notice_others(s, h, fact);
        if (target_is_claimed(s, h->target))
                s->recheck_needed = true;
        else
                reconcile_holder(s, v, h, fact);
}

/* The kernel reuses mount ids, so a new mount may have the id of the removed one. Returns whether a holder
 * has the id. */
static bool take_removed(State *s, uint64_t mount_id, const MountChanges *changes) {
        const MountFact *came = NULL;
        Holder *h, *next_holder;
        Volume *v, *next;
        bool held = false;

        for (size_t i = 0; !came && i < changes->n_came; i++)
                if (changes->came[i].mount_id == mount_id)
                        came = &changes->came[i];
        HASH_ITER (hh, s->volumes.table, v, next)
                LL_FOREACH_SAFE (v->holders, h, next_holder) {
                        if (h->mount_id != mount_id)
                                continue;
                        held = true;
                        compare_holder(s, v, h, came);
                }
        return held;
}

static int on_mounts_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        _cleanup_(mount_changes_done) MountChanges changes = { 0 };
        State *s = userdata;
        int r;

        r = mount_changes_read(signal, &changes);
        if (r < 0) {
                log_error_errno(
                        r,
                        "Failed to parse a change of the mount table from selvol-worker (see journalctl -u selvol-worker): %m");
                watch_recheck(s);
                return 0;
        }
        for (size_t i = 0; i < changes.n_went; i++) {
                unrecorded_drop(s, changes.went[i].id);
                if (!take_removed(s, changes.went[i].id, &changes) && s->mount_gone)
                        s->mount_gone(s->userdata, NULL);
        }
        /* selvol expects its own new mounts. The mount of a holder may have changed. */
        for (size_t i = 0; i < changes.n_came; i++) {
                const MountFact *fact = &changes.came[i];
                Volume *v;
                Holder *h = volumes_find_target(&s->volumes, fact->target, &v);

                if (h && h->mount_id == fact->mount_id)
                        compare_holder(s, v, h, fact);
                else if (unrecorded_came(s, fact) < 0)
                        watch_recheck(s);
        }
        return 0;
}

static int on_node_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        _cleanup_(node_done) Node node = { 0 };
        State *s = userdata;
        int r;

        r = node_read(signal, &node);
        if (r < 0)
                log_error_errno(
                        r,
                        "Failed to parse what selvol-worker says of SELinux (see journalctl -u selvol-worker): %m");
        else
                (void) state_take_node(s, &node);
        return 0;
}

static int on_orphan_ended(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        watch_recheck(userdata);
        return 0;
}

static void watch_failed(State *s) {
        s->watch->heard = false;
        metrics_count(s->metrics, METRIC_WORKER_FAILURES, "watch");
        watch_again_later(s);
}

static int on_watch_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        State *s = userdata;

        log_notice("The worker has ended its watch of the mount table; asking again.");
        watch_failed(s);
        return 0;
}

static void log_unanswered(const char *why) {
        log_fields(LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_WORKER_FAILED } }, 1,
                   "%s Until selvol-worker tells the mount table, holders are as they were recorded; trying again.",
                   why);
}

/* This and on_expected() may close the connection. After a time-out sd-bus goes on with a connection whose
 * callback has returned 0, and aborts if that is closed. */
static int on_snapshot(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_failure_ Failure why = { 0 };
        State *s = userdata;
        int r;

        s->watch->asked_usec = 0;
        if (sd_bus_message_is_method_error(reply, NULL)) {
                /* The first times: it may go on for long. */
                if (s->watch->retry_sec < RETRY_SEC_MAX && peer_error_read(sd_bus_message_get_error(reply), &why) > 0)
                        log_unanswered(why.message);
                watch_failed(s);
                return 1;
        }
        /* The snapshot may be older than a mount that was recorded meanwhile. */
        if (s->watch->n_expected != s->watch->n_expected_asked) {
                watch_recheck(s);
                return 0;
        }
        r = take_snapshot(s, reply);
        if (r < 0) {
                log_error_errno(r, "The worker's mount table can't be read: %m");
                watch_failed(s);
                return 0;
        }
        s->watch->retry_sec = 0;
        s->watch->heard = true;
        return 0;
}

/* High priority: selvold must know a removed mount before a job reports a new one, which may have the same
 * id. */
static int open_connection(State *s, sd_bus **ret) {
        static const struct {
                const char *name;
                sd_bus_message_handler_t callback;
        } signals[] = {
                { WORKER_CHANGED, on_mounts_changed },
                { WORKER_NODE, on_node_changed },
                { WORKER_ORPHAN, on_orphan_ended },
        };
        _cleanup_(peer_disconnectp) sd_bus *worker = NULL;
        int r;

        r = peer_connect(s->worker_socket, NULL, &worker);
        if (r < 0)
                return r;
        r = sd_bus_attach_event(worker, s->event, SD_EVENT_PRIORITY_IMPORTANT);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                r = sd_bus_match_signal(worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, signals[i].name,
                                        signals[i].callback, s);
                if (r < 0)
                        return r;
        }
        r = sd_bus_match_signal_async(worker, NULL, NULL, "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                      "Disconnected", on_watch_disconnected, NULL, s);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(worker);
        return 0;
}

/* Returns 0, a negative errno, or WORKER_FAILED with f filled. */
static int connect_watch(State *s, bool wait, Failure *f) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
        _cleanup_(peer_disconnectp) sd_bus *worker = NULL;
        int r;

        r = open_connection(s, &worker);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(worker, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_WATCH);
        if (r < 0)
                return r;
        r = sd_bus_message_append(call, "t", s->settings.digest);
        if (r < 0)
                return r;
        if (wait) {
                r = peer_wait(worker, FIRST_LOOK_SEC * USEC_PER_SEC);
                if (r < 0)
                        return r;
                r = sd_bus_call(worker, call, FIRST_LOOK_SEC * USEC_PER_SEC, &error, &reply);
                if (r < 0)
                        return peer_error_read(&error, f);
                r = take_snapshot(s, reply);
                s->watch->heard = r >= 0;
        } else {
                s->watch->n_expected_asked = s->watch->n_expected;
                r = sd_bus_call_async(worker, NULL, call, on_snapshot, s, FIRST_LOOK_SEC * USEC_PER_SEC);
                if (s->watch->asked_usec == 0)
                        s->watch->asked_usec = now_monotonic_usec();
        }
        if (r < 0)
                return r;

        s->watch->worker = TAKE_PTR(worker);
        return 0;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        _cleanup_failure_ Failure f = { 0 };
        State *s = userdata;

        if (connect_watch(s, false, &f) != 0)
                watch_failed(s);
        return 0;
}

static void watch_again_later(State *s) {
        WorkerWatch *w = s->watch;

        w->worker = peer_disconnect(w->worker);
        w->n_asked = 0;
        w->retry_sec = w->retry_sec == 0 ? 1 : w->retry_sec * 2 > RETRY_SEC_MAX ? RETRY_SEC_MAX : w->retry_sec * 2;
        w->retry = sd_event_source_disable_unref(w->retry);
        (void) sd_event_add_time_relative(s->event, &w->retry, CLOCK_MONOTONIC, w->retry_sec * USEC_PER_SEC, 0,
                                          on_retry, s);
}

int watch_start(State *s) {
        _cleanup_failure_ Failure f = { 0 };
        int r;

        s->watch = calloc(1, sizeof(*s->watch));
        if (!s->watch)
                return -ENOMEM;

        r = connect_watch(s, true, &f);
        if (r == 0)
                return 0;
        if (r < 0)
                r = failure_set(&f, FAILURE_WORKER_FAILED,
                                "The worker can't be reached (%s): see 'systemctl status selvol-worker.socket'.",
                                strerror(-r));
        if (r < 0)
                return r;
        log_unanswered(f.message);
        watch_failed(s);
        return 0;
}

/* The worker answers these calls in order. */
static int on_expected(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        State *s = userdata;
        WorkerWatch *w = s->watch;

        if (w->n_asked > 0)
                memmove(w->asked, w->asked + 1, --w->n_asked * sizeof(uint64_t));
        if (sd_bus_message_is_method_error(reply, NULL))
                watch_recheck(s);
        return 1;
}

static int send_expect(State *s, const MountFact *fact) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL;
        WorkerWatch *w = s->watch;
        uint64_t *grown = reallocarray(w->asked, w->n_asked + 1, sizeof(uint64_t));
        int r;

        if (!grown)
                return -ENOMEM;
        w->asked = grown;
        w->asked[w->n_asked++] = fact->mount_id;
        r = sd_bus_message_new_method_call(w->worker, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_EXPECT);
        if (r < 0)
                return r;
        r = mount_fact_append(call, fact);
        if (r < 0)
                return r;
        return sd_bus_call_async(w->worker, NULL, call, on_expected, s, 0);
}

void watch_expect(State *s, const MountFact *fact) {
        unrecorded_drop(s, fact->mount_id);
        s->watch->n_expected++;
        /* Without a connection nothing is needed: the next one begins with a full look. */
        if (s->watch->worker && send_expect(s, fact) < 0)
                watch_recheck(s);
}

void watch_recheck(State *s) {
        /* The pending look comes after this call, so it is enough. */
        if (!s->watch->worker && s->watch->retry)
                return;
        /* A worker that hangs does not report changes either, even if it is asked again before each request
         * times out. */
        if (s->watch->asked_usec > 0 && now_monotonic_usec() - s->watch->asked_usec > USEC_PER_SEC)
                s->watch->heard = false;
        s->watch->retry_sec = 0;
        watch_again_later(s);
}

bool watch_is_heard(const State *s) {
        return s->watch && s->watch->heard;
}

void watch_stop(State *s) {
        if (!s->watch)
                return;
        peer_disconnect(s->watch->worker);
        sd_event_source_disable_unref(s->watch->retry);
        free(s->watch->asked);
        free(s->watch);
        s->watch = NULL;
}

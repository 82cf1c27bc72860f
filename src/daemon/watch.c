/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "state/messages.h"
#include "wire/protocol.h"
#include "daemon/job.h"
#include "daemon/reconcile.h"
#include "daemon/watch.h"
#include "daemon/worker-client.h"

enum { FIRST_LOOK_SEC = 10, RETRY_SEC_MAX = 5 };

struct Watch {
        sd_bus *worker;
        sd_event_source *retry;
        unsigned retry_sec;
        uint64_t n_expected;       /* mounts recorded so far */
        uint64_t n_expected_asked; /* when the snapshot under way was asked for */
        uint64_t *asked;           /* ids of mounts that the worker has not heard of yet */
        size_t n_asked;
};

static void retry_later(Manager *m);

static void facts_free(MountFact *facts, size_t n) {
        for (size_t i = 0; i < n; i++)
                mount_fact_done(&facts[i]);
        free(facts);
}

static int take_snapshot(Manager *m, sd_bus_message *reply) {
        _cleanup_(node_done) Node node = { 0 };
        MountFact *facts;
        size_t n;
        int r;

        r = worker_read_node(reply, &node);
        if (r >= 0)
                r = worker_read_facts(reply, &facts, &n);
        if (r < 0)
                return r;

        r = manager_take_node(m, &node);
        reconcile(m, facts, n);
        facts_free(facts, n);
        return r;
}

/* The kernel gives an id anew once it is free, so the same id may have gone from one target and come to another. */
static bool has_come(const MountFact *came, size_t n, const Holder *h) {
        for (size_t i = 0; i < n; i++)
                if (came[i].mount_id == h->mount_id && streq(came[i].target, h->target))
                        return true;
        return false;
}

/* What the worker says of an id before it has heard that it was recorded is of an earlier mount. */
static bool is_asked(const Watch *w, uint64_t mount_id) {
        for (size_t i = 0; i < w->n_asked; i++)
                if (w->asked[i] == mount_id)
                        return true;
        return false;
}

/* Only what went matters: what came, came through us, or is nobody's until it is adopted. */
static void take_removed(Manager *m, uint64_t mount_id, const MountFact *came, size_t n_came) {
        Volume *v, *next;
        Holder *h, *next_holder;

        HASH_ITER (hh, m->volumes.table, v, next)
                LL_FOREACH_SAFE (v->holders, h, next_holder)
                        if (h->mount_id == mount_id && h->state == HOLDER_MOUNTED && !has_come(came, n_came, h) &&
                            !is_asked(m->watch, mount_id) && !job_is_running_at(m, h->target))
                                manager_release_holder(m, v, h);
}

static int on_changed(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        MountFact *came = NULL;
        size_t n_came = 0;
        uint64_t id;
        int r;

        r = worker_read_facts(signal, &came, &n_came);
        if (r >= 0)
                r = sd_bus_message_enter_container(signal, 'a', "t");
        while (r >= 0 && (r = sd_bus_message_read(signal, "t", &id)) > 0)
                take_removed(m, id, came, n_came);
        facts_free(came, n_came);
        if (r < 0)
                log_error_errno(r, "The worker's news of the mount table can't be read: %m");
        return 0;
}

static int on_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;

        log_notice("The worker has ended its watch of the mount table; asking again.");
        retry_later(m);
        return 0;
}

static int on_snapshot(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        int r;

        if (sd_bus_message_is_method_error(reply, NULL)) {
                retry_later(m);
                return 0;
        }
        /* It may be older than a mount that was recorded meanwhile. */
        if (m->watch->n_expected != m->watch->n_expected_asked) {
                watch_recheck(m);
                return 0;
        }
        r = take_snapshot(m, reply);
        if (r < 0) {
                log_error_errno(r, "The worker's mount table can't be read: %m");
                retry_later(m);
        } else
                m->watch->retry_sec = 0;
        return 0;
}

static int connect_watch(Manager *m, bool wait) {
        _cleanup_(worker_disconnectp) sd_bus *worker = NULL;
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *call = NULL, *reply = NULL;
        int r;

        r = worker_connect(m->options.worker_socket, NULL, &worker);
        /* What went must be heard of before what a job says that came: it may have the same id. */
        if (r >= 0)
                r = sd_bus_attach_event(worker, m->event, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_bus_match_signal(worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_CHANGED, on_changed,
                                        m);
        if (r >= 0)
                r = sd_bus_match_signal_async(worker, NULL, NULL, "/org/freedesktop/DBus/Local",
                                              "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, NULL, m);
        if (r >= 0)
                r = sd_bus_message_new_method_call(worker, &call, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_WATCH);
        if (r < 0)
                return r;

        if (wait) {
                r = sd_bus_call(worker, call, FIRST_LOOK_SEC * USEC_PER_SEC, NULL, &reply);
                if (r >= 0)
                        r = take_snapshot(m, reply);
        } else {
                m->watch->n_expected_asked = m->watch->n_expected;
                r = sd_bus_call_async(worker, NULL, call, on_snapshot, m, FIRST_LOOK_SEC * USEC_PER_SEC);
        }
        if (r < 0)
                return r;

        m->watch->worker = TAKE_PTR(worker);
        return 0;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Manager *m = userdata;

        if (connect_watch(m, false) < 0)
                retry_later(m);
        return 0;
}

static void retry_later(Manager *m) {
        Watch *w = m->watch;

        w->worker = worker_disconnect(w->worker);
        w->n_asked = 0;
        w->retry_sec = w->retry_sec == 0 ? 1 : w->retry_sec * 2 > RETRY_SEC_MAX ? RETRY_SEC_MAX : w->retry_sec * 2;
        w->retry = sd_event_source_disable_unref(w->retry);
        (void) sd_event_add_time_relative(m->event, &w->retry, CLOCK_MONOTONIC, w->retry_sec * USEC_PER_SEC, 0,
                                          on_retry, m);
}

int watch_start(Manager *m) {
        int r;

        m->watch = calloc(1, sizeof(*m->watch));
        if (!m->watch)
                return -ENOMEM;

        r = connect_watch(m, true);
        if (r < 0) {
                errno = -r;
                log_fields(
                        LOG_ERR, (LogField[]){ { "MESSAGE_ID", MESSAGE_WORKER_FAILED } }, 1,
                        "The worker can't be asked for the mount table at %s: %m. Trying again; until then holders are as they were recorded.",
                        m->options.worker_socket);
                retry_later(m);
        }
        return 0;
}

/* They are answered in their order. */
static int on_expected(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Manager *m = userdata;
        Watch *w = m->watch;

        if (w->n_asked > 0)
                memmove(w->asked, w->asked + 1, --w->n_asked * sizeof(uint64_t));
        if (sd_bus_message_is_method_error(reply, NULL))
                watch_recheck(m);
        return 0;
}

static int note_asked(Watch *w, uint64_t mount_id) {
        uint64_t *grown = reallocarray(w->asked, w->n_asked + 1, sizeof(uint64_t));

        if (!grown)
                return -ENOMEM;
        w->asked = grown;
        w->asked[w->n_asked++] = mount_id;
        return 0;
}

void watch_expect(Manager *m, const MountFact *fact) {
        m->watch->n_expected++;
        if (m->watch->worker && note_asked(m->watch, fact->mount_id) < 0) {
                watch_recheck(m);
                return;
        }
        /* Without a connection the next one begins with a full look. */
        if (m->watch->worker &&
            sd_bus_call_method_async(m->watch->worker, NULL, NULL, WORKER_PATH, WORKER_INTERFACE, WORKER_EXPECT,
                                     on_expected, m, WORKER_EXPECT_IN, fact->mount_id, fact->target, fact->source,
                                     fact->fs_type, fact->device, fact->root, fact->context, (int) fact->seclabel,
                                     (int) fact->read_only) < 0)
                watch_recheck(m);
}

void watch_recheck(Manager *m) {
        m->watch->retry_sec = 0;
        retry_later(m);
}

void watch_stop(Manager *m) {
        if (!m->watch)
                return;
        worker_disconnect(m->watch->worker);
        sd_event_source_disable_unref(m->watch->retry);
        free(m->watch->asked);
        free(m->watch);
        m->watch = NULL;
}

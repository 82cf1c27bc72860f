/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/settings.h"
#include "plan/plan.h"
#include "state/claims.h"
#include "state/metrics.h"
#include "store/store.h"
#include "wire/messages.h"

typedef struct Deferred Deferred;
typedef struct Job Job;
typedef struct WorkerWatch WorkerWatch;
typedef struct Unrecorded Unrecorded;

/* Events. The api registers these functions at start to emit signals; calls come from below. */
typedef struct Events {
        void (*volume_added)(void *userdata, const Volume *v);
        void (*volume_changed)(void *userdata, const Volume *v);
        void (*volume_removed)(void *userdata, const Volume *v);
        /* The last holder has gone. */
        void (*volume_released)(void *userdata, const Volume *v, const Holder *last);
        /* Others have done something to a holder's mount, which the text tells. */
        void (*mount_changed)(void *userdata, const Volume *v, const Holder *h, const char *text);
        /* Refused because of holders, which the plan names: a CONTEXT_CONFLICT or GROUP_CONFLICT. */
        void (*conflict)(void *userdata, const char *volume, FailureKind kind, const Plan *plan);
        /* A job that walks or waits in line is shown from now on; it changed; it has ended, and its result
         * is kept; it is forgotten. */
        void (*job_added)(void *userdata, const Job *job);
        void (*job_changed)(void *userdata, const Job *job);
        void (*job_ended)(void *userdata, const Job *job);
        void (*job_removed)(void *userdata, const Job *job);
        void *userdata;
} Events;

/* event_emit(state, volume_changed, v): nothing is called before the api has registered. */
#define event_emit(state, event, ...)                                                   \
        do {                                                                            \
                const Events *_events_ = &(state)->events;                              \
                if (_events_->event)                                                    \
                        _events_->event(_events_->userdata __VA_OPT__(, ) __VA_ARGS__); \
        } while (0)

/* What selvold knows. */
typedef struct State {
        Settings settings;
        char *settings_mistake; /* of the files as they were last read, and so not in force; NULL: none */
        char *textfile_failure; /* why the metrics could not be written the last time; NULL: they could */
        sd_event *event;
        char *directory;
        char *worker_socket;
        char *boot_id;
        char *path; /* of the store's file */
        Store *store;
        Volumes volumes;
        Claims claims;
        Metrics *metrics;
        Node node; /* as the worker saw it last */
        bool node_known;
        Events events;
        /* Called when a holder has gone, or a mount of somebody else (target NULL), so that who waits for
         * that looks again. */
        void (*mount_gone)(void *userdata, const char *target);
        /* Called with a look at the mount table, for the children of the worker that it names, before
         * holders are compared with it. Returns 0 or a negative errno. */
        int (*take_orphans)(void *userdata, const OrphanNote *notes, size_t n);
        void *userdata; /* of these */
        WorkerWatch *watch;
        Unrecorded *unrecorded; /* by target */
        bool recheck_needed;    /* the mount table changed where a job was at work */
        /* commit.c */
        Deferred *deferred;           /* who waits for what is collecting */
        Deferred *waiting;            /* for the transaction under way */
        bool committing;              /* there is one */
        bool rewriting;               /* it writes everything anew */
        uint64_t commit_started_usec; /* CLOCK_MONOTONIC */
        sd_event_source *commit_source;
        sd_event_source *store_source;
        uint64_t uncommitted_since_usec; /* 0: since no iteration of the event loop; CLOCK_MONOTONIC */
        uint64_t next_rewrite_usec;      /* not before, if the store is failed; CLOCK_MONOTONIC */
        bool store_failure_told;
} State;

/* "enforcing", "permissive" or "disabled". */
static inline const char *state_selinux_mode(const State *s) {
        return !s->node.selinux ? "disabled" : s->node.enforcing ? "enforcing" : "permissive";
}

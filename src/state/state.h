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

/* Callbacks that api registers at start, to emit signals. */
typedef struct Events {
        void (*volume_added)(void *userdata, const Volume *v);
        void (*volume_changed)(void *userdata, const Volume *v);
        void (*volume_removed)(void *userdata, const Volume *v);
        /* The last holder is gone. */
        void (*volume_released)(void *userdata, const Volume *v, const Holder *last);
        /* Another program has changed a holder's mount, as the text says. */
        void (*mount_changed)(void *userdata, const Volume *v, const Holder *h, const char *text);
        /* A call was refused with CONTEXT_CONFLICT or GROUP_CONFLICT; the plan names the conflicting
         * holders. */
        void (*conflict)(void *userdata, const char *volume, FailureKind kind, const Plan *plan);
        /* SELinux was turned on or off, or its mode was set. */
        void (*node_changed)(void *userdata);
        /* A job that walks or waits is on the bus from now on; it has changed; it has ended, and its result
         * is kept; it is forgotten. */
        void (*job_added)(void *userdata, const Job *job);
        void (*job_changed)(void *userdata, const Job *job);
        void (*job_ended)(void *userdata, const Job *job);
        void (*job_removed)(void *userdata, const Job *job);
        void *userdata;
} Events;

/* event_emit(state, volume_changed, v). Does nothing before api has registered. */
#define event_emit(state, event, ...)                                                   \
        do {                                                                            \
                const Events *_events_ = &(state)->events;                              \
                if (_events_->event)                                                    \
                        _events_->event(_events_->userdata __VA_OPT__(, ) __VA_ARGS__); \
        } while (0)

/* Everything that selvold knows. */
typedef struct State {
        Settings settings;
        char *settings_mistake;   /* error in the files as last read, so they are not in force; NULL: none */
        uint64_t worker_settings; /* digest of the worker's configuration, when a watch began; 0: not known */
        char *textfile_failure;   /* error of the last write of the metrics; NULL: none */
        sd_event *event;
        char *directory;
        char *worker_socket;
        char *boot_id;
        char *path; /* of the store's file */
        Store *store;
        Volumes volumes;
        Claims claims;
        Metrics *metrics;
        Node node; /* as the worker reported last */
        bool node_known;
        Events events;
        /* Called when a holder, or a foreign mount (target NULL), is gone: wakes jobs that wait for that. */
        void (*mount_gone)(void *userdata, const char *target);
        /* Called with the worker's children that a look at the mount table lists, before holders are compared
         * with the look. Returns 0 or a negative errno. */
        int (*take_orphans)(void *userdata, const OrphanInfo *list, size_t n);
        void *userdata; /* of mount_gone and take_orphans */
        WorkerWatch *watch;
        Unrecorded *unrecorded; /* by target */
        Unrecorded *foreign;    /* by target; see unrecorded_take() */
        bool ephemeral_unused;  /* an ephemeral volume may have lost its last holder */
        bool recheck_needed;    /* the mount table has changed at a target where a job works */
        /* commit.c */
        Deferred *deferred;           /* callbacks that wait for the open transaction */
        Deferred *waiting;            /* callbacks that wait for the transaction being written */
        bool committing;              /* a transaction is being written */
        bool rewriting;               /* that transaction writes everything */
        uint64_t commit_started_usec; /* CLOCK_MONOTONIC */
        sd_event_source *commit_source;
        sd_event_source *store_source;
        uint64_t uncommitted_since_usec; /* a commit is due since then; 0: none is due; CLOCK_MONOTONIC */
        uint64_t next_rewrite_usec;      /* earliest next attempt after the store failed; CLOCK_MONOTONIC */
        bool store_failure_told;
        uint64_t last_job;    /* the number of the last job */
        uint64_t job_numbers; /* the last number that is recorded as used */
} State;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/settings.h"
#include "state/claims.h"
#include "state/events.h"
#include "state/metrics.h"
#include "store/store.h"
#include "wire/messages.h"

typedef struct Deferred Deferred;
typedef struct Watch Watch;
typedef struct Unrecorded Unrecorded;

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
        /* Called when a holder has gone, or a mount of somebody else (target NULL), so that who waits for that looks
         * again. */
        void (*mount_gone)(void *userdata, const char *target);
        /* Called with a look at the mount table, for the children of the worker that it names, before holders are compared
         * with it. Returns 0 or a negative errno. */
        int (*take_orphans)(void *userdata, const OrphanNote *notes, size_t n);
        void *userdata; /* of these */
        Watch *watch;
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

/* Takes over what the worker said of the node. Returns whether the mode of SELinux is another one than before. */
bool state_take_node(State *s, Node *node);
/* "enforcing", "permissive" or "disabled". */
const char *state_selinux_mode(const State *s);

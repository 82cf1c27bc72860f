/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "state/metrics.h"
#include "model/observed.h"
#include "model/settings.h"
#include "model/volume.h"
#include "store/store.h"
#include "wire/names.h"

typedef struct Job Job;
typedef struct JobObject JobObject;
typedef struct Watch Watch;
typedef struct Deferred Deferred;
typedef struct AuthQuery AuthQuery;

/* What the command line sets; the rest comes from the configuration. */
typedef struct Options {
        const char *state_directory;
        const char *worker_socket;
        const char *usr_config, *etc_config; /* NULL: the installed places */
        uid_t trusted_uid;                   /* passes without polkit: root, but for tests */
} Options;

typedef struct Manager {
        Options options;
        Settings settings;
        sd_event *event;
        sd_bus *bus;
        char *boot_id;
        char *state_path;
        Store *store;
        Volumes volumes;
        Metrics *metrics;
        Node node;
        bool node_known;
        Watch *watch;
        Job *jobs;
        size_t n_jobs;
        JobObject *job_objects; /* of those that run and those that have ended, the oldest first */
        uint64_t last_job_id;
        sd_event_source *job_expiry;
        AuthQuery *queries;
        char *last_sender; /* whose uid the bus was asked for last */
        uid_t last_uid;
        /* commit.c */
        Deferred *deferred;
        sd_event_source *commit_source;
        uint64_t next_rewrite_usec;
        bool store_failure_told;
        /* notify.c */
        char **changed; /* paths of objects whose properties changed */
        sd_event_source *changed_source;
        /* metrics-export.c */
        sd_event_source *export_source;
        bool export_failed;
} Manager;

/* Loads configuration and state and connects to bus and worker. Returns 0 or a negative errno; everything that went
 * wrong has been logged. */
int manager_new(const Options *options, Manager **ret);
Manager *manager_free(Manager *m);
DEFINE_CLEANUP_FUNC(Manager *, manager_free);

/* Returns 0 when told to end, something else when it can't go on: the bus has gone. */
int manager_run(Manager *m);

/* Takes over what the worker said of the node. */
int manager_take_node(Manager *m, Node *node);
/* "enforcing", "permissive" or "disabled". */
const char *manager_selinux_mode(const Manager *m);

/* Removes a holder whose mount is gone, and tells of it if it was the last. Invalidates h. */
void manager_drop_holder(Manager *m, Volume *v, Holder *h);
/* The same for a mount that went away behind our back. */
void manager_release_holder(Manager *m, Volume *v, Holder *h);

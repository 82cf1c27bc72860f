/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/connect.h"
#include "daemon/metrics-export.h"
#include "state/load.h"

/* What the command line sets; the rest comes from the configuration. */
typedef struct Options {
        const char *state_directory;
        const char *worker_socket;
        const char *usr_config, *etc_config; /* NULL: the installed places */
        uid_t trusted_uid;                   /* passes without polkit: root, but for tests */
        unsigned polkit_timeout;             /* seconds, for tests; 0: the usual time */
        bool check_config;                   /* and nothing else */
} Options;

/* What selvold is made of. */
typedef struct Manager {
        Options options;
        sd_event *event;
        State *state;
        Api *api;
        MetricsExport metrics_export;
} Manager;

/* Loads configuration and state and connects to bus and worker. Returns 0, a negative errno, or INVALID_OPTION for a
 * mistake in the configuration; everything that went wrong has been logged. */
int manager_new(const Options *options, Manager **ret);
Manager *manager_free(Manager *m);
DEFINE_CLEANUP_FUNC(Manager *, manager_free);

/* Returns 0 when told to end, a negative errno when it can't go on: the bus has gone. */
int manager_run(Manager *m);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/observed.h"
#include "model/settings.h"

/* A process that serves one connection of selvold's, which is one job. It may block for as long as a volume's server
 * likes: its parent ends it when the peer hangs up. */
typedef struct Child {
        const Settings *settings;
        const char *stage_directory;
        bool propagating; /* mounts made here reach the host */
        int fd;           /* the connection; belongs to bus */
        sd_bus *bus;
        sd_event *event;
        struct Watch *watch;   /* NULL until asked for */
        struct Staged *staged; /* NULL unless something is */
} Child;

/* Serves the connection until the peer hangs up. Takes the descriptor over. Returns 0 or a negative errno. */
int child_run(int fd, const Settings *settings, const char *stage_directory, bool propagating) _warn_unused_;

/* Ends a verb: r is 0, a negative errno, or a failure kind with f filled. Logs an error, once, and fills error.
 * Returns what a bus method is to return. target may be NULL. */
int child_finish(const char *verb, const char *target, int r, const Failure *f, sd_bus_error *error);

/* Fails with NOT_PROPAGATING if what is mounted here stays here. */
int child_check_propagation(const Child *c, Failure *f) _warn_unused_;
bool child_peer_is_gone(void *userdata);

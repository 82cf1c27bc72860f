/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "mount/stage-spec.h"
#include "worker/children.h"

/* The process that runs one operation. It may block for as long as a volume's server likes: its parent ends it when the
 * peer hangs up. */
typedef struct Child {
        const Settings *settings;
        const Staging *staging;
        Children *children;
        bool propagating; /* mounts made here reach the host */
        sd_bus *bus;
        sd_event *event;
        struct Watch *watch; /* NULL until asked for */
} Child;

/* Fails with NOT_PROPAGATING if what is mounted here stays here. */
int child_check_propagation(const Child *c, Failure *f) _warn_unused_;

/* The process at the other end of the connection; 0 if it can't be told. */
pid_t child_peer_pid(const Child *c);

/* Whether selvold has hung up; userdata is the Child. */
bool child_peer_is_gone(void *userdata);

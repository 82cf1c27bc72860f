/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/request.h"

/* What the verbs Mount and Stage are called with. */
typedef struct MountCall {
        Request request;
        bool publish;      /* there is a target */
        char *context;     /* checked; "" for none */
        const char *share; /* belongs to the message */
        uint64_t share_id;
} MountCall;

#define MOUNT_CALL_INIT ((MountCall){ .request = REQUEST_INIT })

void mount_call_done(MountCall *c);

/* Reads WORKER_STAGE_IN. Returns 0 or a negative errno. */
int mount_call_read(sd_bus_message *m, MountCall *ret) _warn_unused_;

/* The checks that selvold has made already; it isn't trusted to have. Returns 0, a negative errno, or a failure kind.
 */
int mount_call_check(MountCall *c, const Settings *settings, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "job/jobs.h"
#include "wire/names.h"

typedef struct AuthQuery AuthQuery;
typedef struct Call Call;

/* What the bus sees. */
typedef struct Api {
        State *state;
        Jobs *jobs;
        sd_bus *bus;
        uid_t trusted_uid; /* passes without polkit: root, but for tests */
        Call *calls;       /* that wait for a job */
        /* authorize.c */
        AuthQuery *queries;
        struct Sender *senders; /* whose uids the bus was asked for */
        /* signals.c */
        char **changed; /* paths of objects whose properties changed */
        sd_event_source *changed_source;
} Api;

/* Sets the D-Bus error that a failure stands for and counts it as refused before there was a job. Returns what a
 * method's handler returns then; r may also be a negative errno. */
int api_refuse(Api *api, int r, const Failure *f, sd_bus_error *error);

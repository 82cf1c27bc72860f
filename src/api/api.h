/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "job/jobs.h"
#include "wire/names.h"

typedef struct AuthQuery AuthQuery;
typedef struct Call Call;
typedef struct Sender Sender;
typedef struct Turns Turns;

/* What the bus sees. */
typedef struct Api {
        State *state;
        Jobs *jobs;
        sd_bus *bus;
        uid_t trusted_uid;       /* passes without polkit: root, but for tests */
        unsigned polkit_timeout; /* seconds, for tests; 0: as long as it takes a program, or a person */
        Call *calls;             /* that wait for a job */
        /* authorize.c */
        AuthQuery *queries;
        /* callers.c */
        Sender *senders; /* whose uids the bus was asked for */
        sd_bus *lookup;  /* on which it is asked */
        Turns *turns;
        /* connect.c */
        sd_event_source *leave;
        sd_event_source *stalled; /* runs while the bus takes no messages */
        sd_event_source *post;
        /* signals.c */
        char **changed; /* paths of objects whose properties changed */
        sd_event_source *changed_source;
} Api;

/* Leaves the bus, and connects again, as soon as the event loop gets to it: a reply can't be sent, and the
 * bus tells those who wait for one that there will be none. Jobs go on. */
void api_leave(Api *api, const char *why);

/* Sets the D-Bus error that a failure stands for and counts it as refused before there was a job. Returns
 * what a method's handler returns then; r may also be a negative errno. */
int api_refuse(Api *api, int r, const Failure *f, sd_bus_error *error);

/* Object paths, owned by the caller; NULL on lack of memory. */
char *volume_path(const char *id);
char *job_path(uint64_t id);

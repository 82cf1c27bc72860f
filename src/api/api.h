/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "job/jobs.h"
#include "plan/plan.h"
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

/* Writes a{sv} into a message. After an error nothing more is written, and it is told at the end: as with
 * stdio(3), only dict->error has to be looked at, once. */
typedef struct Dict {
        sd_bus_message *m;
        int error; /* 0 or a negative errno */
} Dict;

/* Containers, as sd_bus_message_open_container(3). */
void dict_open(Dict *d, char type, const char *contents);
void dict_close(Dict *d);

/* An entry with a value of a basic type. */
void dict_put(Dict *d, const char *key, const char *type, ...);
/* An entry whose value is a container: its contents follow, then dict_close_entry(). */
void dict_open_entry(Dict *d, const char *key, const char *type);
void dict_close_entry(Dict *d);

/* Entries that are left out where they don't apply: NULL or "", false, 0, GID_NONE, an empty list. */
void dict_put_string(Dict *d, const char *key, const char *value);
void dict_put_true(Dict *d, const char *key, bool value);
void dict_put_u64(Dict *d, const char *key, uint64_t value);
void dict_put_gid(Dict *d, const char *key, gid_t gid);
void dict_put_strv(Dict *d, const char *key, char *const *l);

/* aa{sv} of conflicts, and of a volume's holders: one shape. */
void dict_append_conflicts(Dict *d, const Plan *p);
void dict_append_holders(Dict *d, const Volume *v);

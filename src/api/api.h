/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "job/jobs.h"
#include "model/limits.h"
#include "plan/plan.h"
#include "wire/names.h"

typedef struct AuthQuery AuthQuery;
typedef struct Call Call;
typedef struct Sender Sender;
typedef struct Turns Turns;

/* selvold's side of the bus. */
/* The denied calls of a user. */
typedef struct Denials {
        uid_t uid;
        uint64_t logged_usec; /* when the journal got a record; CLOCK_MONOTONIC; 0: unused */
        unsigned more;        /* denied since then */
} Denials;

typedef struct Api {
        State *state;
        Jobs *jobs;
        sd_bus *bus;
        uid_t trusted_uid;       /* the uid that passes without polkit: root, but for tests */
        unsigned polkit_timeout; /* seconds, for tests; 0: POLKIT_SEC or INTERACTIVE_SEC */
        Call *calls;             /* calls that wait for a job */
        /* authorize.c */
        AuthQuery *queries;
        Denials denials[DENIALS_MAX];
        /* callers.c */
        Sender *senders; /* senders whose uids are known */
        sd_bus *lookup;  /* the connection for questions about senders */
        Turns *turns;
        /* connect.c */
        sd_event_source *leave;
        sd_event_source *stalled; /* a timer; runs while the bus takes no messages */
        sd_event_source *post;
        /* signals.c */
        char **changed; /* paths of objects whose properties changed */
        sd_event_source *changed_source;
} Api;

/* Leaves the bus, and connects again, as soon as the event loop gets to it: a reply can't be sent, and the
 * bus tells the waiting callers that they get no reply. Jobs go on. */
void api_leave(Api *api, const char *why);

/* Sets the D-Bus error of the failure and counts the call as refused before it had a job. r may also be a
 * negative errno. Returns a value for the method's handler to return. */
int api_refuse(Api *api, int r, const Failure *f, sd_bus_error *error);

/* Object paths, owned by the caller. NULL: out of memory. */
char *volume_path(const char *id);
char *job_path(uint64_t id);

/* Writes a{sv} into a message. After an error the dict_ functions write nothing more: as with stdio(3), the
 * caller checks dict->error once, at the end. */
typedef struct Dict {
        sd_bus_message *m;
        int error; /* 0 or a negative errno */
} Dict;

/* Containers, see sd_bus_message_open_container(3). */
void dict_open(Dict *d, char type, const char *contents);
void dict_close(Dict *d);

/* An entry with a value of a basic type. */
void dict_put(Dict *d, const char *key, const char *type, ...);
/* An entry whose value is a container: the caller adds its contents, then calls dict_close_entry(). */
void dict_open_entry(Dict *d, const char *key, const char *type);
void dict_close_entry(Dict *d);

/* These leave the entry out if the value is NULL or "", false, 0, GID_NONE, or an empty list. */
void dict_put_string(Dict *d, const char *key, const char *value);
void dict_put_true(Dict *d, const char *key, bool value);
void dict_put_u64(Dict *d, const char *key, uint64_t value);
void dict_put_gid(Dict *d, const char *key, gid_t gid);
void dict_put_strv(Dict *d, const char *key, char *const *l);

/* aa{sv} of conflicts, and of a volume's holders: both have the same shape. */
void dict_append_conflicts(Dict *d, const Conflict *conflicts, size_t n);
void dict_append_holders(Dict *d, const Volume *v);

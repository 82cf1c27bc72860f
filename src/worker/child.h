/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "model/settings.h"
#include "mount/stage-source.h"
#include "wire/messages.h"
#include "wire/protocol.h"

/* --- the table that the server and its children share --- */

/* The server and its children share a table of the children's work, so a new selvold learns which children
 * still work for an earlier selvold, and so that mounts that hang leave connections to unmounts. */

typedef struct Children Children;

/* Makes a table for n children. *ret lives as long as the process. Returns 0 or a negative errno. */
int children_new(size_t n, Children **ret) _warn_unused_;

/* Called by the parent when the child is gone, with its helpers. */
void children_leave(Children *c, pid_t pid);

/* Whether a child was refused (child_enter()), and the next one would be, too. */
bool children_refused(Children *c);

/* Finds the next child, from *index on, that works for another process than peer. The strings belong to the
 * table. Returns whether there is one. */
bool children_next_orphan(const Children *c, pid_t peer, size_t *index, OrphanInfo *ret);
bool children_has(const Children *c, pid_t pid);

/* --- the configuration --- */

/* The server and each child have a copy of the configuration of their own. The worker and selvold never
 * work with different configurations: each call has the digest of selvold's, and a child with another one
 * reads the files again. If the files don't have selvold's configuration, the child refuses the call. selvold
 * never reads the files for the worker's sake, so a child that an attacker controls can't choose the time. */
typedef struct Configuration {
        const char *usr_dir, *etc_dir; /* NULL: the default ones */
        Settings settings;
        bool propagating; /* mounts beneath the roots reach the host */
} Configuration;

/* Reads the files, and keeps the earlier configuration after an error. Returns 0, a negative errno, or
 * INVALID_OPTION. */
int configuration_read(Configuration *c, Failure *f) _warn_unused_;
void configuration_done(Configuration *c);

/* --- a child --- */

/* The process that runs one operation at a time. A child may block as long as a volume's server blocks: the
 * parent ends the child when the peer hangs up. */
typedef struct Child {
        pid_t parent;
        Configuration *configuration;
        const Settings *settings; /* in the configuration */
        const Staging *staging;
        Children *children;
        sd_bus *bus;
        sd_event *event;
        struct Watch *watch;  /* NULL before Watch is called */
        sd_bus_message *call; /* of the operation that the child is for; NULL: none yet */
        sd_bus_message_handler_t operation;
        bool succeeded; /* the operation, and the reply says so */
} Child;

/* For whom an operation opens a source. */
SourceUser child_user(const CallOrigin *origin) _pure_;

/* Prepares a child before the child has a connection. Returns 0 or a negative errno. */
int serve_prepare(Child *c) _warn_unused_;
/* Serves a connection in the child: one call and its reply, or a watch until the peer hangs up. Takes fd over
 * and releases what serve_prepare() made. Returns 0 or a negative errno. */
int serve_connection(Child *c, int fd) _warn_unused_;

/* Returns the process at the other end of the connection; 0 if unknown. */
pid_t child_peer_pid(const Child *c);
/* Whether selvold has hung up; userdata is the Child. */
bool child_peer_is_gone(void *userdata);

/* Enters the child in the table, before the operation looks at anything that may hang, so a later selvold
 * learns of the operation. operation: as in OrphanInfo; target: "" or NULL if there is none. Returns 0,
 * -ENOMEM, or BUSY if so many others are in the table that the rest is kept for unmounts and the like. */
int child_enter(const Child *c, const char *operation, const CallOrigin *origin, const char *target,
                Failure *f) _warn_unused_;

/* The child's questions and signals to selvold during an operation, on the connection that the child serves
 * (wire/protocol.h). A signal is sent completely before the function returns. All return 0 or a negative
 * errno; -ECANCELED ends the operation without a reply: selvold wants none, or has hung up. */

/* Also returns WORKER_FAILED if selvold has no answer. *ret has the step PLAN_GO; or PLAN_LOOK, if the
 * question has mounts_unknown. */
int ask_plan(Child *c, const PlanQuestion *question, PlanAnswer *ret, Failure *f) _warn_unused_;
int ask_walk(Child *c, const WalkQuestion *question, Failure *f) _warn_unused_;
int ask_ready(Child *c, const ReadyQuestion *question, Failure *f) _warn_unused_;

int tell_at(Child *c, WorkerAt at) _warn_unused_;
int tell_progress(Child *c, const WalkCounts *counts, uint64_t total) _warn_unused_;

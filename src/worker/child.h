/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "mount/stage-source.h"
#include "wire/protocol.h"
#include "worker/children.h"

/* The process that runs one operation. It may block for as long as a volume's server likes: its parent ends
 * it when the peer hangs up. */
typedef struct Child {
        const Settings *settings;
        const Staging *staging;
        Children *children;
        bool propagating; /* mounts made here reach the host */
        sd_bus *bus;
        sd_event *event;
        struct Watch *watch; /* NULL until asked for */
} Child;

/* Fills in what a child needs to serve, before it has a connection. Returns 0 or a negative errno. */
int serve_prepare(Child *c) _warn_unused_;
/* Serves a connection, in a process of its own: one call, after whose reply it ends, or a watch until the
 * peer hangs up. Takes the descriptor over, and takes down what was prepared. Returns 0 or a negative
 * errno. */
int serve_connection(Child *c, int fd) _warn_unused_;

/* The process at the other end of the connection; 0 if it can't be told. */
pid_t child_peer_pid(const Child *c);
/* Whether selvold has hung up; userdata is the Child. */
bool child_peer_is_gone(void *userdata);

/* From here on something may be changed, also when selvold is gone: says what, see children_enter(). */
void child_enter(const Child *c, const char *operation, const char *volume, const char *target);

/* Questions and news of the child to selvold while an operation runs, on the connection that it serves
 * (wire/protocol.h). News has left when a function returns. All return 0 or a negative errno; -ECANCELED
 * ends the operation without a reply: selvold wants none, or has hung up. */

/* Also WORKER_FAILED if selvold has no answer. *ret is of PLAN_GO; or of PLAN_LOOK, if the question has
 * mounts_unknown. */
int ask_plan(Child *c, const PlanQuestion *question, PlanAnswer *ret, Failure *f) _warn_unused_;
int ask_walk(Child *c, const WalkNote *note, Failure *f) _warn_unused_;
int ask_ready(Child *c, const ReadyNote *note, Failure *f) _warn_unused_;

int tell_marked(Child *c, const Mark *mark) _warn_unused_;
int tell_progress(Child *c, const WalkCounts *counts, uint64_t total) _warn_unused_;

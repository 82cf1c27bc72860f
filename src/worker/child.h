/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "mount/stage-source.h"
#include "wire/messages.h"
#include "wire/protocol.h"

/* --- the table that the server and its children share --- */

/* The work of each child is in memory of them all, so that a selvold that starts learns which children of an
 * earlier selvold are at work. */

typedef struct Children Children;

/* Room for n children. *ret is never released: it is there as long as the process. Returns 0 or a negative
 * errno. */
int children_new(size_t n, Children **ret) _warn_unused_;

/* By the parent: the child has gone. */
void children_leave(Children *c, pid_t pid);

/* The next child, from *index on, that is at work for another process than the peer. The strings are those
 * of the table. Returns whether there is one. */
bool children_next_orphan(const Children *c, pid_t peer, size_t *index, OrphanNote *ret);
/* Whether a child with the pid is at work. It is one until its parent has reaped it, so nobody else has the
 * pid then. */
bool children_has(const Children *c, pid_t pid);

/* The server hands a connection that it has accepted over to a child that was forked before and waits
 * (unix(7), SCM_RIGHTS). */

/* Sends a copy of fd. Returns 0 or a negative errno: -EPIPE if the child is gone. */
int hand_over(int socket, int fd) _warn_unused_;
/* Waits for one. Returns a descriptor; -ENOTCONN if the parent wants no more of it; or another negative
 * errno. */
int hand_over_receive(int socket) _warn_unused_;

/* --- a child --- */

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

/* From here on something may be changed, also when selvold is gone: the table says what, and for which
 * process. operation is the name of the method; volume and target are "" or NULL if not known. */
void child_enter(const Child *c, const char *operation, const char *volume, const char *target);

/* Questions and news of the child to selvold while an operation runs, on the connection that it serves
 * (wire/protocol.h). News has left when a function returns. All return 0 or a negative errno; -ECANCELED
 * ends the operation without a reply: selvold wants none, or has hung up. */

/* Also WORKER_FAILED if selvold has no answer. *ret is of PLAN_GO; or of PLAN_LOOK, if the question has
 * mounts_unknown. */
int ask_plan(Child *c, const PlanQuestion *question, PlanAnswer *ret, Failure *f) _warn_unused_;
int ask_walk(Child *c, const WalkNote *note, Failure *f) _warn_unused_;
int ask_ready(Child *c, const ReadyNote *note, Failure *f) _warn_unused_;

int tell_progress(Child *c, const WalkCounts *counts, uint64_t total) _warn_unused_;

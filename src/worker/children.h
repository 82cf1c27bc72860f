/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "wire/messages.h"

/* The table that the server and its children share. The work of each child is in memory of them all, so
 * that a selvold that starts learns which children of an earlier selvold are at work. The server hands a
 * connection that it has accepted over to a child that was forked before and waits (unix(7), SCM_RIGHTS). */

typedef struct Children Children;

/* Room for n children. *ret is never released: it is there as long as the process. Returns 0 or a negative
 * errno. */
int children_new(size_t n, Children **ret) _warn_unused_;

/* By a child that is about to change something: says what, and for which process. operation is the name of
 * the method; volume and target are "" if not known. */
void children_enter(Children *c, pid_t peer, const char *operation, const char *volume, const char *target);
/* By the parent: the child has gone. */
void children_leave(Children *c, pid_t pid);

/* The next child, from *index on, that is at work for another process than the peer. The strings are those
 * of the table. Returns whether there is one. */
bool children_next_orphan(const Children *c, pid_t peer, size_t *index, OrphanNote *ret);
/* Whether a child with the pid is at work. It is one until its parent has reaped it, so nobody else has the
 * pid then. */
bool children_has(const Children *c, pid_t pid);

/* Sends a copy of fd. Returns 0 or a negative errno: -EPIPE if the child is gone. */
int hand_over(int socket, int fd) _warn_unused_;
/* Waits for one. Returns a descriptor; -ENOTCONN if the parent wants no more of it; or another negative
 * errno. */
int hand_over_receive(int socket) _warn_unused_;

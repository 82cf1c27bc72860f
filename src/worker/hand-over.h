/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* A connection that the parent has accepted, for a child that was forked before and waits (unix(7), SCM_RIGHTS). */

/* Sends a copy of fd. Returns 0 or a negative errno: -EPIPE if the child is gone. */
int hand_over(int socket, int fd) _warn_unused_;

/* Waits for one. Returns a descriptor; -ENOTCONN if the parent wants no more of it; or another negative errno. */
int hand_over_receive(int socket) _warn_unused_;

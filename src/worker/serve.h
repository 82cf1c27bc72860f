/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "worker/child.h"

/* Fills in what a child needs to serve, before it has a connection. Returns 0 or a negative errno. */
int serve_prepare(Child *c) _warn_unused_;

/* Serves a connection, in a process of its own: one call, after whose reply it ends, or a watch until the peer hangs up.
 * Takes the descriptor over, and takes down what was prepared. Returns 0 or a negative errno. */
int serve_connection(Child *c, int fd) _warn_unused_;

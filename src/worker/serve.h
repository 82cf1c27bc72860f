/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "worker/child.h"

/* Serves a connection, in a process of its own: one call, after whose reply it ends, or a watch until the peer hangs up.
 * Takes the descriptor over. Returns 0 or a negative errno. */
int serve_connection(int fd, const Settings *settings, const Staging *staging, bool propagating) _warn_unused_;

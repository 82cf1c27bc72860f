/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/grpc-server.h"

/* Serves what connects to the listening socket, each connection in a thread: processes of root and of the
 * own user; others lose their connection. Further ones wait while there are 64. When stop can be read, no
 * connection is accepted any more, and the function returns when all calls that were under way have been
 * answered. The socket must not block. Returns 0 or a negative errno. */
int csi_listen(int fd, int stop, GrpcHandler handler, void *userdata) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* Answers GET and HEAD of /metrics with the file that selvold writes to MetricsTextfile=, on a listening
 * socket. Clients are limited: CONNECTIONS_MAX at once, each for CONNECTION_SEC at most, even if it keeps
 * sending, and with CONNECTION_MEMORY. Others wait for accept(2). Returns a negative errno if the server
 * fails. */
int serve_metrics(int fd, const char *path) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "volume-plugin/volumes.h"

/* Answers requests on a listening Unix socket, and only to processes of the plugin's own user. Each
 * connection has a thread of its own, because an answer takes as long as selvold's reply. Returns only if it
 * can't start: -EIO. */
int server_run(int fd, const Plugin *p) _warn_unused_;

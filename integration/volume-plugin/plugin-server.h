/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "volume-plugin/volumes.h"

/* Answers requests on a listening Unix socket, each connection in a thread of its own, as an answer may take
 * as long as selvold needs. Only processes of the plugin's own user are answered. Returns only if it can't
 * begin: -EIO. */
int server_run(int fd, const Plugin *p) _warn_unused_;

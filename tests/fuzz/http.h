/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <stdlib.h>

/* An HTTP server runs in a thread of the target. Each input has a connection of its own. */

/* Starts serve() in a thread with a listening socket, once. serve() never returns. */
void http_start(int (*serve)(int fd));

/* Sends a request and no more, and returns what was answered before the server closed the connection, with a
 * NUL behind it. The caller frees it. */
char *http_ask(const void *request, size_t size, size_t *ret_size);

/* Returns the status of an answer, after interim ones, and its body. 0: there is no answer. */
unsigned http_read(const char *answer, const char **ret_body);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* Answers GET and HEAD of /metrics on a listening socket with the contents of a file, for ever. What a client can take is limited:
 * CONNECTIONS_MAX of them are served at once, each for CONNECTION_SEC at most, however busy it keeps itself, and with
 * CONNECTION_MEMORY. Others wait for accept(2). Returns a negative errno. */
int server_run(int fd, const char *path);

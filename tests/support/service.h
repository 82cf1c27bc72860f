/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "program.h"

/* selvold, selvol-worker and the bus between selvold and its callers, all of the test's own. Each function returns when what
 * it has started serves. */

/* A file of the sources, and a program that was built from them. */
char *source_path(const char *name);
char *program_path(const char *name);

/* Of a private bus at unix:path=SOCKET; returns the test's own connection. */
GDBusConnection *bus_start(const Launch *how, const char *socket);
/* A further connection; NULL if nobody listens. */
GDBusConnection *bus_connect(const char *address);
bool bus_has_name(GDBusConnection *bus, const char *name);

/* Waits until the server listens there, or ends the test. It is not called for that, and so has nothing to serve. */
void socket_wait(GPid server, const Launch *how, const char *path);

/* The wrapper of a program that systemd starts with a socket, which is Launch's inherited. */
extern const char *const socket_activation[];
/* All that comes back until the server closes the connection, which it takes over. */
char *socket_receive(int fd);
/* The same after it has sent a request. */
char *socket_ask(int fd, const char *request, size_t size);

/* Where they are, and whom they serve. The shipped configuration is below etc's. */
typedef struct Service {
        const char *socket; /* of the worker */
        const char *etc;
        const char *state;      /* selvold's directory */
        uid_t trusted;          /* of whom selvold asks polkit nothing, or who may call the worker besides root */
        const char *polkit_sec; /* for which selvold waits for polkit; NULL: as always */
} Service;

GPid selvold_start(const Launch *how, const Service *s, GDBusConnection *bus);
GPid selvol_worker_start(const Launch *how, const Service *s);

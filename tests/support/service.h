/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "program.h"

/* A test starts selvold, selvol-worker, and a private bus. Each function returns when its program serves. */

/* Return the path of a file of the sources, and of a program in the directory of the build. */
char *source_path(const char *name);
char *program_path(const char *name);

/* Starts a private bus at unix:path=SOCKET, and returns a connection to it. */
GDBusConnection *bus_start(const Launch *how, const char *socket);
/* Returns a further connection; NULL if nobody listens. */
GDBusConnection *bus_connect(const char *address);
bool bus_has_name(GDBusConnection *bus, const char *name);

/* Returns the unique name of the owner of a name. */
char *bus_owner_of(GDBusConnection *bus, const char *name);
/* Returns the unique name of a connection of the program, but not the other name, which may be NULL. Returns
 * NULL if there is none. */
char *bus_name_of(GDBusConnection *bus, GPid pid, const char *other);
/* Sends many large signals that nobody asked for to a program's connection, and asserts that the program
 * reads them and keeps none. */
void bus_flood(GDBusConnection *bus, const char *name, GPid pid);

/* Waits until the server listens at that path, or ends the test. It connects to nobody: the server would
 * serve that. */
void socket_wait(GPid server, const Launch *how, const char *path);

/* The wrapper starts a program as systemd does, with Launch's inherited descriptor as its socket. */
extern const char *const socket_activation[];
/* Returns all that the server sends until it closes the connection; closes fd. */
char *socket_receive(int fd);
/* Sends a request, and returns the answer as socket_receive() does. */
char *socket_ask(int fd, const char *request, size_t size);

typedef struct Service {
        const char *socket;     /* the worker's */
        const char *etc;        /* the configuration here has precedence over the shipped one */
        const char *state;      /* selvold's directory */
        uid_t trusted;          /* selvold asks polkit nothing about this user, whom the worker serves, too */
        const char *polkit_sec; /* selvold waits so long for polkit; NULL: the default */
} Service;

GPid selvold_start(const Launch *how, const Service *s, GDBusConnection *bus);
GPid selvol_worker_start(const Launch *how, const Service *s);

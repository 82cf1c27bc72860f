/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include <systemd/sd-event.h>

#include "model/limits.h"
#include "mount/stage-source.h"
#include "worker/child.h"
#include "worker/spare.h"

/* The server accepts connections, gives each to a child that has no other one, and ends the child when the
 * peer hangs up. The server accesses no volume, so no volume can block it. */

typedef struct ServerConfig {
        const char *usr_dir, *etc_dir; /* NULL: the default ones */
        uid_t peer_uid;                /* allowed besides root; 0: nobody */
        const char *stage_directory;
        const char *locks;
} ServerConfig;

typedef struct Server {
        const ServerConfig *config;
        Configuration configuration;
        bool stopping;
        int fd; /* the listening socket */
        Staging staging;
        Children *children;
        Spares spares;
        sd_event *event;
        sd_event_source *accept_source, *spare_source, *trim_source;
        struct Connection *connections[SERVER_CONNECTIONS_MAX];
        size_t n_connections;
        bool told_full; /* the journal says that calls find no place */
        sd_event_source *calm_source;
} Server;

#define SERVER_INIT ((Server){ .fd = -EBADF, .staging.namespace = -EBADF })

/* Takes the listening socket over, reads the configuration, and prepares the event loop: SIGTERM and SIGINT
 * stop the server, SIGHUP reads the configuration again. The caller has blocked SIGTERM, SIGINT, SIGHUP and
 * SIGCHLD. Logs errors. Returns 0, a negative errno, or INVALID_OPTION for an error in the configuration. */
int server_start(Server *s, int fd, const ServerConfig *config) _warn_unused_;

/* Runs until the server is stopped and all children are gone. */
int server_run(Server *s) _warn_unused_;
void server_done(Server *s);

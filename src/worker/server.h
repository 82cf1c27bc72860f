/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include <systemd/sd-event.h>

#include "model/limits.h"
#include "mount/stage-source.h"
#include "worker/child.h"

/* Accepts connections, gives each to a child of its own, of which one is forked in advance, and ends the
 * child when the peer hangs up. Touches no volume itself, so that none can block it. */

typedef struct ServerConfig {
        const char *usr_dir, *etc_dir; /* NULL: the usual ones */
        uid_t peer_uid;                /* besides root; 0: nobody */
        const char *stage_directory;
        const char *locks;
} ServerConfig;

typedef struct Server {
        const ServerConfig *config;
        Settings settings;
        bool propagating;
        bool stopping;
        int fd; /* listening */
        Staging staging;
        Children *children;
        pid_t spare_pid; /* of a child that waits for the next connection; 0 if there is none */
        int spare_fd;    /* where it waits */
        sd_event *event;
        sd_event_source *accept_source, *spare_source;
        struct Connection *connections[SERVER_CONNECTIONS_MAX];
        size_t n_connections;
} Server;

#define SERVER_INIT ((Server){ .fd = -EBADF, .staging.namespace = -EBADF, .spare_fd = -EBADF })

/* Takes the listening socket over, reads the configuration, and sets the event loop up, with SIGTERM and
 * SIGINT to stop and SIGHUP to read the configuration again. SIGTERM, SIGINT, SIGHUP and SIGCHLD must be
 * blocked. Logs what is wrong. Returns 0, a negative errno, or INVALID_OPTION for an error in the
 * configuration. */
int server_start(Server *s, int fd, const ServerConfig *config) _warn_unused_;

/* Runs until stopped and all children are gone. */
int server_run(Server *s) _warn_unused_;
void server_done(Server *s);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>

#include "grpc/grpc-call.h"
#include "model/settings.h"

/* The proxy in front of a CSI driver: kubelet calls it in place of the driver. */

#define PROXY_DRIVER_DEFAULT "csi"

typedef struct Proxy {
        const char *driver;        /* its name */
        const char *driver_socket; /* NULL: as the settings say, or beneath kubelet's directory */
        const char *usr_config, *etc_config, *mountinfo; /* NULL: those of the system */
        int reload;                                      /* signals to read the configuration again */
        pthread_mutex_t mutex;                           /* of the settings */
        Settings settings;
} Proxy;

/* Reads the configuration. Returns 0, a negative errno or INVALID_OPTION; errors have been logged. */
int proxy_start(Proxy *p) _warn_unused_;
void proxy_done(Proxy *p);

/* Answers a call: a GrpcHandler with a Proxy as its userdata. */
int proxy_answer(const GrpcRequest *q, GrpcReply *ret, void *userdata);

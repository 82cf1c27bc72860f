/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/grpc-call.h"

/* The proxy in front of a CSI driver: kubelet calls it in place of the driver. */

typedef struct Proxy {
        const char *driver_socket;
} Proxy;

/* Answers a call: a GrpcHandler with a Proxy as its userdata. */
int proxy_answer(const GrpcRequest *q, GrpcReply *ret, void *userdata);

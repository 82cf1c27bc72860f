/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/grpc-call.h"
#include "model/settings.h"

/* A call of kubelet's that selvol-csi passes on to a driver. */

typedef struct CsiCall {
        const GrpcRequest *request;
        const char *driver;    /* its name */
        const char *mountinfo; /* the mount table; NULL: the own one */
        char *socket;          /* the driver's */
        Trait settings;        /* [Driver NAME], without its strings */
        uint64_t until_usec;   /* when kubelet should be answered, on the clock of now_monotonic_usec() */
} CsiCall;

/* Whether the driver is called and nothing else is done. */
static inline bool csi_call_is_plain(const CsiCall *c) {
        return c->settings.context == DRIVER_CONTEXT_IGNORE && c->settings.groups == DRIVER_GROUPS_KUBELET;
}

/* Calls the driver, as kubelet did, or with another message. Returns 0 or -ENOMEM. */
int csi_forward(const CsiCall *c, GrpcReply *ret) _warn_unused_;
int csi_forward_message(const CsiCall *c, const GrpcBytes *message, GrpcReply *ret) _warn_unused_;

/* Whether the driver itself has VOLUME_MOUNT_GROUP, because its file systems have options for that. Returns
 * 1, 0, or -ENOMEM; or a negative errno, with the reply set, if the driver could not be asked. */
int csi_driver_takes_group(const CsiCall *c, GrpcReply *ret) _warn_unused_;
/* NodeGetCapabilities: adds VOLUME_MOUNT_GROUP if selvol gives volumes to groups. */
int csi_answer_capabilities(const CsiCall *c, GrpcReply *ret) _warn_unused_;

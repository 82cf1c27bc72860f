/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "grpc/grpc-call.h"

/* selvol's own CSI driver, org.selvol.csi: kubelet has selvold mount devices and images of the node that
 * PersistentVolumes name. It has the services Identity and Node, and kubelet's Registration, all at one
 * socket: the answer to GetInfo names no other one. Nothing is staged, as each pod has a mount of its own. */

/* Answers a call: a GrpcHandler; userdata is unused. */
int driver_answer(const GrpcRequest *q, GrpcReply *ret, void *userdata);

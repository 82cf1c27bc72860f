/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "csi/csi-call.h"

/* Answer NodeStageVolume and NodePublishVolume: the driver mounts, and selvold records the mount. A context
 * that the driver dropped is repaired: selvol mounts the device anew, with the context. If that can't be, or
 * is not configured, the call fails with selvold's words, and the driver takes its mount back. Return 0 or a
 * negative errno. */
int csi_answer_stage(const CsiCall *c, GrpcReply *ret) _warn_unused_;
int csi_answer_publish(const CsiCall *c, GrpcReply *ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "csi/csi-call.h"
#include "csi/csi.pb-c.h"

/* Answer NodeUnpublishVolume and NodeUnstageVolume: who has mounted unmounts, and then selvold has no holder
 * there. They never fail because of selvold. Return 0 or -ENOMEM. */
int csi_answer_unpublish(const CsiCall *c, GrpcReply *ret) _warn_unused_;
int csi_answer_unstage(const CsiCall *c, GrpcReply *ret) _warn_unused_;

/* The same for a volume that the driver has mounted just now, and that kubelet is not told of. handle: in the
 * words of CSI. staged: by NodeStageVolume. */
int csi_undo(const CsiCall *c, const char *volume, const ProtobufCBinaryData *handle, const char *path, bool staged,
             GrpcReply *ret) _warn_unused_;

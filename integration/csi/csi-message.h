/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "csi/csi.pb-c.h"
#include "grpc/bytes.h"

/* Reads and writes the messages of csi.proto. They may have secrets, so all memory that a message had is
 * wiped. */

/* Reads a message of that type, csi__..._descriptor. Returns 0; -EBADMSG if it is none, if it has an
 * absurd number of fields, or for lack of memory. */
int csi_read(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
             ProtobufCMessage **ret) _warn_unused_;
void csi_free(ProtobufCMessage *m);
/* Appends a message, with the fields that csi.proto does not know behind the others. Returns 0 or -ENOMEM. */
int csi_write(const ProtobufCMessage *m, GrpcBytes *ret) _warn_unused_;

/* Returns a copy of a string of a message; "" if the message has none. -EINVAL: it has a NUL, or is not
 * UTF-8. */
int csi_text(const ProtobufCBinaryData *field, char **ret) _warn_unused_;
/* A string for a message that is written; it is borrowed. */
ProtobufCBinaryData csi_bytes(const char *s);

DEFINE_CLEANUP_FUNC(ProtobufCMessage *, csi_free);
#define _cleanup_csi_ _cleanup_(csi_freep)

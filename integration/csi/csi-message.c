/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <malloc.h>

#include "basic/string-util.h"
#include "csi/csi-message.h"

static void *allocate_memory(void *userdata, size_t size) {
        return malloc(size);
}

static void wipe_and_free(void *userdata, void *p) {
        if (p)
                explicit_bzero(p, malloc_usable_size(p));
        free(p);
}

static ProtobufCAllocator wiping_allocator = { .alloc = allocate_memory, .free = wipe_and_free };

int csi_read(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, ProtobufCMessage **ret) {
        ProtobufCMessage *m = protobuf_c_message_unpack(type, &wiping_allocator, size, data);

        if (!m)
                return -EBADMSG;
        *ret = m;
        return 0;
}

void csi_free(ProtobufCMessage *m) {
        protobuf_c_message_free_unpacked(m, &wiping_allocator);
}

int csi_write(const ProtobufCMessage *m, GrpcBytes *ret) {
        size_t size = protobuf_c_message_get_packed_size(m);
        int r;

        if (size == 0)
                return 0;
        r = grpc_bytes_reserve(ret, size);
        if (r < 0)
                return r;
        ret->size += protobuf_c_message_pack(m, ret->data + ret->size);
        return 0;
}

int csi_text(const ProtobufCBinaryData *field, char **ret) {
        _cleanup_free_ char *s = NULL;

        if (field->len > 0 && memchr(field->data, '\0', field->len))
                return -EINVAL;
        s = strndup(field->len > 0 ? (const char *) field->data : "", field->len);
        if (!s)
                return -ENOMEM;
        if (!utf8_is_valid(s))
                return -EINVAL;
        *ret = TAKE_PTR(s);
        return 0;
}

ProtobufCBinaryData csi_bytes(const char *s) {
        return (ProtobufCBinaryData){ .len = strlen(s), .data = (uint8_t *) s };
}

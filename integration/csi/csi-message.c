/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <malloc.h>

#include "basic/string-util.h"
#include "csi/csi-message.h"

/* Kubelet's requests have some dozens. */
enum { FIELDS_MAX = 16384 };

static void *allocate_memory(void *userdata, size_t size) {
        return malloc(size);
}

static void wipe_and_free(void *userdata, void *p) {
        if (p)
                explicit_bzero(p, malloc_usable_size(p));
        free(p);
}

static ProtobufCAllocator wiping_allocator = { .alloc = allocate_memory, .free = wipe_and_free };

/* Takes a number off the front. */
static int take_number(const uint8_t **p, const uint8_t *end, uint64_t *ret) {
        uint64_t n = 0;

        for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
                uint8_t byte = *(*p)++;

                n |= (uint64_t) (byte & 0x7f) << shift;
                if (byte < 0x80) {
                        *ret = n;
                        return 0;
                }
        }
        return -EBADMSG;
}

/* Takes the value of a field off the front, and returns where it begins, for one with a length behind that.
 * NULL: it is cut, or of a kind that is not in use any more. */
static const uint8_t *take_value(unsigned kind, const uint8_t **p, const uint8_t *end) {
        const uint8_t *begin = *p;
        uint64_t size;

        switch (kind) {
        case PROTOBUF_C_WIRE_TYPE_VARINT:
                return take_number(p, end, &size) < 0 ? NULL : begin;
        case PROTOBUF_C_WIRE_TYPE_64BIT:
                size = 8;
                break;
        case PROTOBUF_C_WIRE_TYPE_32BIT:
                size = 4;
                break;
        case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
                if (take_number(p, end, &size) < 0)
                        return NULL;
                begin = *p;
                break;
        default:
                return NULL;
        }
        if (size > (uint64_t) (end - *p))
                return NULL;
        *p += size;
        return begin;
}

/* protobuf-c needs memory for each field, however small it is, and merges messages of one field, for which
 * it takes the square of their number. So a message has so many fields at most, and one message for a field
 * that is not repeated: others write no other ones. */
static bool has_few_fields(const ProtobufCMessageDescriptor *type, const uint8_t *p, const uint8_t *end,
                           unsigned *left) {
        uint64_t seen = 0, key;

        while (p < end) {
                const ProtobufCFieldDescriptor *field;
                const uint8_t *value;
                uint64_t bit;

                if (take_number(&p, end, &key) < 0 || key >> 3 == 0 || key > UINT32_MAX || (*left)-- == 0)
                        return false;
                value = take_value(key & 7, &p, end);
                if (!value)
                        return false;
                field = protobuf_c_message_descriptor_get_field(type, (unsigned) (key >> 3));
                if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE)
                        continue;
                bit = UINT64_C(1) << (field - type->fields);
                if (field->label != PROTOBUF_C_LABEL_REPEATED && (seen & bit))
                        return false;
                seen |= bit;
                if (!has_few_fields(field->descriptor, value, p, left))
                        return false;
        }
        return true;
}

int csi_read(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, ProtobufCMessage **ret) {
        unsigned left = FIELDS_MAX;
        ProtobufCMessage *m;

        if (size > 0 && !has_few_fields(type, data, data + size, &left))
                return -EBADMSG;
        m = protobuf_c_message_unpack(type, &wiping_allocator, size, data);
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

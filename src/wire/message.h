/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>

#include "basic/string-util.h"
#include "model/mark.h"

/* The engine of the messages. For each struct that one process sends to the other, a table lists its members.
 * The functions here append the struct to a message, read it, and release it by this table alone.
 *
 * Neither process trusts the other. Append: strings that are not UTF-8, which D-Bus can't carry, are escaped;
 * NULL becomes "". Read: -EBADMSG is an unknown word, a string or number that its field refuses, more
 * elements than are ever sent, or members that contradict each other. The length of the message limits memory
 * and time.
 *
 * The signature is written next to the struct, because sd-bus vtables need a constant. sd-bus compares each
 * value with the signature, so a table that differs from its signature fails at once
 * (tests/unit/test-wire.c). */

/* The kinds of fields. If the member is the plain D-Bus value, the kind is the D-Bus type. */
typedef enum FieldKind {
        KIND_BOOL = SD_BUS_TYPE_BOOLEAN,
        KIND_INT = SD_BUS_TYPE_INT32,
        KIND_U32 = SD_BUS_TYPE_UINT32,
        KIND_U64 = SD_BUS_TYPE_UINT64,
        KIND_TEXT = SD_BUS_TYPE_STRING,
        KIND_WORD = 'W',        /* enum, as a string */
        KIND_FINGERPRINT = 'F', /* as a string */
        KIND_IDENTITY = 'Y',    /* as a string */
        KIND_STRV = 'S',
        KIND_STRUCT = SD_BUS_TYPE_STRUCT,
        KIND_ARRAY = SD_BUS_TYPE_ARRAY, /* of structs */
} FieldKind;

typedef struct MessageField {
        FieldKind kind;
        bool or_null;                   /* TEXT: "" is read as NULL */
        size_t offset, count_offset;    /* count_offset: of the ARRAY's size_t */
        size_t max;                     /* STRV, ARRAY: elements */
        int least, most;                /* INT */
        bool (*is_good)(const char *s); /* TEXT, STRV; NULL: any text is */
        const StringTable *words;       /* WORD */
        const struct MessageType *type; /* STRUCT, ARRAY */
} MessageField;

typedef struct MessageType {
        const char *signature; /* "(...)" */
        size_t size;
        const MessageField *fields;
        size_t n_fields;
        /* Whether the members that were read agree; NULL: no check. */
        bool (*is_good)(const void *object);
        /* Clears meaningless members in a shallow copy, which is appended instead of the struct; may be
         * NULL. */
        void (*tidy)(void *copy);
} MessageType;

/* Returns 0 or a negative errno. */
int message_append(sd_bus_message *m, const MessageType *type, const void *object) _warn_unused_;
/* Overwrites *ret without releasing it; *ret is untouched after an error. Members that are not in the message
 * are 0. Returns 0 or a negative errno. */
int message_read(sd_bus_message *m, const MessageType *type, void *ret) _warn_unused_;
/* Reads a string array of at most max elements. A longer array is -E2BIG: a message may carry millions of
 * strings, and the time of sd_bus_message_read_strv() grows with the square of their number. *ret is
 * untouched after an error. */
int message_read_strv(sd_bus_message *m, size_t max, char ***ret) _warn_unused_;
/* Releases the contents of the members and sets *object to 0. */
void message_done(const MessageType *type, void *object);

/* Checks of strings: one line without control characters, for users and logs; a canonical context, or ""; a
 * volume's id, or "". */
bool message_line_is_good(const char *s) _pure_;
bool message_context_is_good(const char *s);
bool message_volume_is_good(const char *s);

/* The fields of a table. The compiler checks the C type of the member. */

#define MEMBER_OF(Struct, member, Type) offsetof(Struct, member) + _Generic(&((Struct *) NULL)->member, Type * : 0)

#define FIELD_BOOL(Struct, member) \
        { .kind = KIND_BOOL, .offset = MEMBER_OF(Struct, member, bool) }
#define FIELD_INT(Struct, member, from, to) \
        { .kind = KIND_INT, .offset = MEMBER_OF(Struct, member, int), .least = from, .most = to }
#define FIELD_U32(Struct, member) \
        { .kind = KIND_U32, .offset = MEMBER_OF(Struct, member, uint32_t) }
#define FIELD_U64(Struct, member) \
        { .kind = KIND_U64, .offset = MEMBER_OF(Struct, member, uint64_t) }

#define FIELD_STRING(Struct, member, good, null) \
        { .kind = KIND_TEXT, .offset = MEMBER_OF(Struct, member, char *), .is_good = good, .or_null = null }
#define FIELD_TEXT(Struct, member)            FIELD_STRING(Struct, member, NULL, false)
#define FIELD_TEXT_OR_NULL(Struct, member)    FIELD_STRING(Struct, member, NULL, true)
#define FIELD_LINE(Struct, member)            FIELD_STRING(Struct, member, message_line_is_good, false)
#define FIELD_LINE_OR_NULL(Struct, member)    FIELD_STRING(Struct, member, message_line_is_good, true)
#define FIELD_CONTEXT(Struct, member)         FIELD_STRING(Struct, member, message_context_is_good, false)
#define FIELD_CONTEXT_OR_NULL(Struct, member) FIELD_STRING(Struct, member, message_context_is_good, true)
#define FIELD_VOLUME(Struct, member)          FIELD_STRING(Struct, member, message_volume_is_good, false)
#define FIELD_STRV(Struct, member, limit) \
        { .kind = KIND_STRV, .offset = MEMBER_OF(Struct, member, char **), .max = limit }
#define FIELD_LINES(Struct, member, limit)                                                     \
        {                                                                                      \
                .kind = KIND_STRV, .offset = MEMBER_OF(Struct, member, char **), .max = limit, \
                .is_good = message_line_is_good                                                \
        }

#define FIELD_FINGERPRINT(Struct, member) \
        { .kind = KIND_FINGERPRINT, .offset = MEMBER_OF(Struct, member, Fingerprint) }
#define FIELD_IDENTITY(Struct, member) \
        { .kind = KIND_IDENTITY, .offset = MEMBER_OF(Struct, member, Identity) }
/* name: as in DECLARE_STRING_TABLE(). */
#define FIELD_WORD(Struct, member, name)                                                                    \
        {                                                                                                   \
                .kind = KIND_WORD, .offset = offsetof(Struct, member),                                      \
                .words = _Generic(name##_to_string, const char *(*) (__typeof__(((Struct *) NULL)->member)) \
                                  : &name##_words)                                                          \
        }
/* name: as in DECLARE_MESSAGE(). */
#define FIELD_STRUCT(Struct, member, name)                                           \
        {                                                                            \
                .kind = KIND_STRUCT, .offset = offsetof(Struct, member),             \
                .type = MESSAGE_TYPE_OF(name, __typeof__(((Struct *) NULL)->member)) \
        }
#define FIELD_ARRAY(Struct, member, count, name, limit)                               \
        {                                                                             \
                .kind = KIND_ARRAY, .offset = offsetof(Struct, member),               \
                .count_offset = MEMBER_OF(Struct, count, size_t), .max = limit,       \
                .type = MESSAGE_TYPE_OF(name, __typeof__(*((Struct *) NULL)->member)) \
        }
#define MESSAGE_TYPE_OF(name, Type) _Generic(name##_append, int (*)(sd_bus_message *, const Type *) : &name##_type)

/* Declares the functions above for one struct: NAME_append(), NAME_read(), and NAME_done() unless model has
 * it. */
#define DECLARE_MESSAGE_OF_MODEL(Type, name)                                    \
        extern const MessageType name##_type;                                   \
        int name##_append(sd_bus_message *m, const Type *object) _warn_unused_; \
        int name##_read(sd_bus_message *m, Type *ret) _warn_unused_
#define DECLARE_MESSAGE(Type, name)           \
        DECLARE_MESSAGE_OF_MODEL(Type, name); \
        void name##_done(Type *object)

/* Defines them, and NAME_type with the fields NAME_fields. The last arguments are its other members. */
#define DEFINE_MESSAGE_OF_MODEL(Type, name, type_signature, ...)                 \
        const MessageType name##_type = { .signature = type_signature,           \
                                          .size = sizeof(Type),                  \
                                          .fields = name##_fields,               \
                                          .n_fields = ELEMENTSOF(name##_fields), \
                                          __VA_ARGS__ };                         \
        int name##_append(sd_bus_message *m, const Type *object) {               \
                return message_append(m, &name##_type, object);                  \
        }                                                                        \
        int name##_read(sd_bus_message *m, Type *ret) {                          \
                return message_read(m, &name##_type, ret);                       \
        }                                                                        \
        struct name##_message_needs_a_semicolon
#define DEFINE_MESSAGE(Type, name, type_signature, ...)                   \
        DEFINE_MESSAGE_OF_MODEL(Type, name, type_signature, __VA_ARGS__); \
        void name##_done(Type *object) {                                  \
                message_done(&name##_type, object);                       \
        }                                                                 \
        struct name##_done_needs_a_semicolon

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "model/context.h"
#include "model/request.h"
#include "wire/message.h"

enum { LINE_MAX_BYTES = 16 * 1024 };

bool message_line_is_good(const char *s) {
        return text_is_clean(s) && strlen(s) <= LINE_MAX_BYTES;
}

bool message_context_is_good(const char *s) {
        _cleanup_failure_ Failure ignored = { 0 };
        _cleanup_free_ char *canonical = NULL;

        return isempty(s) || (context_canonicalize(s, &canonical, &ignored) == 0 && streq(canonical, s));
}

bool message_volume_is_good(const char *s) {
        _cleanup_failure_ Failure ignored = { 0 };

        return isempty(s) || volume_id_validate(s, &ignored) == 0;
}

/* sd-bus returns 0 at the end of a container, where a value is expected. */
static int expect_value(int r) {
        return r == 0 ? -EBADMSG : r < 0 ? r : 0;
}

/* The signature without its parentheses, on the stack. */
#define contents_of(type) strndupa((type)->signature + 1, strlen((type)->signature) - 2)

static int append_string(sd_bus_message *m, const char *s) {
        _cleanup_free_ char *escaped = NULL;

        s = strempty(s);
        if (!utf8_is_valid(s)) {
                escaped = string_escape(s, PATH_MAX);
                if (!escaped)
                        return -ENOMEM;
                s = escaped;
        }
        return sd_bus_message_append_basic(m, SD_BUS_TYPE_STRING, s);
}

static int append_array(sd_bus_message *m, const MessageField *f, const char *object) {
        void *const *list = (const void *) (object + f->offset);
        bool is_strv = f->kind == KIND_STRV;
        char **strings = is_strv ? *list : NULL;
        const char *structs = *list;
        size_t n = is_strv ? strv_length(strings) : *(const size_t *) (object + f->count_offset);
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, is_strv ? "s" : f->type->signature);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                r = is_strv ? append_string(m, strings[i]) : message_append(m, f->type, structs + i * f->type->size);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

int message_append(sd_bus_message *m, const MessageType *type, const void *object) {
        int r;

        if (type->tidy) {
                void *copy = memcpy(alloca(type->size), object, type->size);

                type->tidy(copy);
                object = copy;
        }
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_STRUCT, contents_of(type));
        for (const MessageField *f = type->fields; r >= 0 && f < type->fields + type->n_fields; f++) {
                const void *member = (const char *) object + f->offset;

                switch (f->kind) {
                case KIND_BOOL:
                        r = sd_bus_message_append_basic(m, SD_BUS_TYPE_BOOLEAN, &(int){ *(const bool *) member });
                        break;
                case KIND_INT:
                case KIND_U32:
                case KIND_U64:
                        r = sd_bus_message_append_basic(m, (char) f->kind, member);
                        break;
                case KIND_TEXT:
                        r = append_string(m, *(char *const *) member);
                        break;
                case KIND_WORD:
                        r = append_string(m, string_table_get(f->words, *(const unsigned *) member));
                        break;
                case KIND_FINGERPRINT:
                        r = append_string(m, ((const Fingerprint *) member)->text);
                        break;
                case KIND_IDENTITY:
                        r = append_string(m, ((const Identity *) member)->text);
                        break;
                case KIND_STRV:
                case KIND_ARRAY:
                        r = append_array(m, f, object);
                        break;
                case KIND_STRUCT:
                        r = message_append(m, f->type, member);
                        break;
                }
        }
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int message_read_strv(sd_bus_message *m, size_t max, char ***ret) {
        _cleanup_strv_ char **l = NULL;
        const char *s;
        size_t n = 0;
        int r;

        r = expect_value(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s"));
        if (r < 0)
                return r;
        while ((r = sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &s)) > 0) {
                if (++n > max)
                        return -E2BIG;
                r = strv_extend(&l, s);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(l);
        return 0;
}

/* The message has a string, the struct a text, a word, a fingerprint or an identity. */
static int read_string(sd_bus_message *m, const MessageField *f, void *member) {
        const char *s;
        int r;

        r = expect_value(sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &s));
        if (r < 0)
                return r;
        if (f->kind == KIND_FINGERPRINT)
                return fingerprint_from_string(s, member);
        if (f->kind == KIND_IDENTITY)
                return identity_from_string(s, member);
        if (f->kind == KIND_WORD) {
                r = string_table_find(f->words, s);
                if (r < 0)
                        return -EBADMSG;
                *(unsigned *) member = (unsigned) r;
                return 0;
        }
        if (f->is_good && !f->is_good(s))
                return -EBADMSG;
        if (f->or_null && isempty(s))
                return 0;
        return free_and_strdup(member, s);
}

static int read_strv(sd_bus_message *m, const MessageField *f, char ***ret) {
        int r;

        r = message_read_strv(m, f->max, ret);
        if (r < 0)
                return r == -E2BIG ? -EBADMSG : r;
        STRV_FOREACH (s, *ret)
                if (f->is_good && !f->is_good(*s))
                        return -EBADMSG;
        return 0;
}

static int read_struct(sd_bus_message *m, const MessageType *type, void *object);

/* After an error the caller releases the elements read before, as for read_struct(). */
static int read_array(sd_bus_message *m, const MessageField *f, char *object) {
        size_t *n = (size_t *) (object + f->count_offset), size = f->type->size;
        char **list = (char **) (object + f->offset);
        int r;

        r = expect_value(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, f->type->signature));
        if (r < 0)
                return r;
        while ((r = sd_bus_message_at_end(m, false)) == 0) {
                if (*n >= f->max)
                        return -EBADMSG;
                /* The list is doubled when n is 0 or a power of two: the other process decides on the
                 * length. */
                if ((*n & (*n - 1)) == 0) {
                        char *grown = reallocarray(*list, *n == 0 ? 1 : 2 * *n, size);

                        if (!grown)
                                return -ENOMEM;
                        *list = grown;
                }
                r = read_struct(m, f->type, memset(*list + (*n)++ * size, 0, size));
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

/* object is all 0. After an error the caller releases the members read before. */
static int read_struct(sd_bus_message *m, const MessageType *type, void *object) {
        int r, value;

        r = expect_value(sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT, contents_of(type)));
        for (const MessageField *f = type->fields; r >= 0 && f < type->fields + type->n_fields; f++) {
                void *member = (char *) object + f->offset;

                switch (f->kind) {
                case KIND_BOOL:
                        r = expect_value(sd_bus_message_read_basic(m, SD_BUS_TYPE_BOOLEAN, &value));
                        if (r >= 0)
                                *(bool *) member = value;
                        break;
                case KIND_INT:
                        r = expect_value(sd_bus_message_read_basic(m, SD_BUS_TYPE_INT32, member));
                        if (r >= 0 && (*(int *) member < f->least || *(int *) member > f->most))
                                r = -EBADMSG;
                        break;
                case KIND_U32:
                case KIND_U64:
                        r = expect_value(sd_bus_message_read_basic(m, (char) f->kind, member));
                        break;
                case KIND_TEXT:
                case KIND_WORD:
                case KIND_FINGERPRINT:
                case KIND_IDENTITY:
                        r = read_string(m, f, member);
                        break;
                case KIND_STRV:
                        r = read_strv(m, f, member);
                        break;
                case KIND_STRUCT:
                        r = read_struct(m, f->type, member);
                        break;
                case KIND_ARRAY:
                        r = read_array(m, f, object);
                        break;
                }
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        return type->is_good && !type->is_good(object) ? -EBADMSG : 0;
}

int message_read(sd_bus_message *m, const MessageType *type, void *ret) {
        void *object = memset(alloca(type->size), 0, type->size);
        int r;

        r = read_struct(m, type, object);
        if (r < 0) {
                message_done(type, object);
                return r;
        }
        memcpy(ret, object, type->size);
        return 0;
}

void message_done(const MessageType *type, void *object) {
        for (size_t i = 0; i < type->n_fields; i++) {
                const MessageField *f = &type->fields[i];
                void *member = (char *) object + f->offset;

                if (f->kind == KIND_TEXT)
                        free(*(char **) member);
                else if (f->kind == KIND_STRV)
                        strv_free(*(char ***) member);
                else if (f->kind == KIND_STRUCT)
                        message_done(f->type, member);
                else if (f->kind == KIND_ARRAY) {
                        char *list = *(char **) member;
                        size_t n = *(size_t *) ((char *) object + f->count_offset);

                        for (size_t k = 0; k < n; k++)
                                message_done(f->type, list + k * f->type->size);
                        free(list);
                }
        }
        memset(object, 0, type->size);
}

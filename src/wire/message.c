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

static int zero_or_error(int r) {
        return r < 0 ? r : 0;
}

/* sd-bus returns 0 at the end of a container, where there ought to be something. */
static int expect(int r) {
        return r == 0 ? -EBADMSG : zero_or_error(r);
}

/* A signature without its parentheses, on the stack. */
#define contents_of(type) strndupa((type)->signature + 1, strlen((type)->signature) - 2)

static int append_text(sd_bus_message *m, const char *s) {
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

static int append_strv(sd_bus_message *m, char **l) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, "s");
        if (r < 0)
                return r;
        STRV_FOREACH (s, l) {
                r = append_text(m, *s);
                if (r < 0)
                        return r;
        }
        return sd_bus_message_close_container(m);
}

static int append_array(sd_bus_message *m, const MessageType *type, const void *list, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, SD_BUS_TYPE_ARRAY, type->signature);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++) {
                r = message_append(m, type, (const char *) list + i * type->size);
                if (r < 0)
                        return r;
        }
        return zero_or_error(sd_bus_message_close_container(m));
}

static int append_field(sd_bus_message *m, const MessageField *f, const char *object) {
        const void *member = object + f->offset;

        switch (f->kind) {
        case KIND_BOOL:
                return sd_bus_message_append_basic(m, SD_BUS_TYPE_BOOLEAN, &(int){ *(const bool *) member });
        case KIND_INT:
        case KIND_U32:
        case KIND_U64:
                return sd_bus_message_append_basic(m, (char) f->kind, member);
        case KIND_TEXT:
                return append_text(m, *(char *const *) member);
        case KIND_WORD:
                return append_text(m, string_table_get(f->words, *(const unsigned *) member));
        case KIND_FINGERPRINT:
                return append_text(m, ((const Fingerprint *) member)->text);
        case KIND_STRV:
                return append_strv(m, *(char **const *) member);
        case KIND_STRUCT:
                return message_append(m, f->type, member);
        case KIND_ARRAY:
                return append_array(m, f->type, *(void *const *) member,
                                    *(const size_t *) (object + f->count_offset));
        default:
                return -EINVAL;
        }
}

int message_append(sd_bus_message *m, const MessageType *type, const void *object) {
        int r;

        if (type->tidy) {
                void *copy = memcpy(alloca(type->size), object, type->size);

                type->tidy(copy);
                object = copy;
        }
        r = sd_bus_message_open_container(m, SD_BUS_TYPE_STRUCT, contents_of(type));
        if (r < 0)
                return r;
        for (size_t i = 0; i < type->n_fields; i++) {
                r = append_field(m, &type->fields[i], object);
                if (r < 0)
                        return r;
        }
        return zero_or_error(sd_bus_message_close_container(m));
}

static int read_text(sd_bus_message *m, const MessageField *f, char **ret) {
        const char *s;
        int r;

        r = expect(sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &s));
        if (r < 0)
                return r;
        if (f->is_good && !f->is_good(s))
                return -EBADMSG;
        if (f->or_null && isempty(s))
                return 0;
        *ret = strdup(s);
        return *ret ? 0 : -ENOMEM;
}

static int read_bool(sd_bus_message *m, bool *ret) {
        int value, r;

        r = expect(sd_bus_message_read_basic(m, SD_BUS_TYPE_BOOLEAN, &value));
        if (r >= 0)
                *ret = value;
        return r;
}

static int read_word(sd_bus_message *m, const StringTable *words, unsigned *ret) {
        const char *s;
        int r;

        r = expect(sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &s));
        if (r < 0)
                return r;
        r = string_table_find(words, s);
        if (r < 0)
                return -EBADMSG;
        *ret = (unsigned) r;
        return 0;
}

static int read_fingerprint(sd_bus_message *m, Fingerprint *ret) {
        const char *s;
        int r;

        r = expect(sd_bus_message_read_basic(m, SD_BUS_TYPE_STRING, &s));
        return r < 0 ? r : fingerprint_from_string(s, ret);
}

int message_read_strv(sd_bus_message *m, size_t max, char ***ret) {
        _cleanup_strv_ char **l = NULL;
        const char *s;
        size_t n = 0;
        int r;

        r = expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, "s"));
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

/* Elements that were read before a failure are the caller's to release, as those of read_struct() are. */
static int read_elements(sd_bus_message *m, const MessageType *type, size_t max, void **list, size_t *n) {
        int r;

        r = expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_ARRAY, type->signature));
        if (r < 0)
                return r;
        while ((r = sd_bus_message_at_end(m, false)) == 0) {
                if (*n >= max)
                        return -EBADMSG;
                /* The list is doubled when it is full, at 0 or a power of two: the other end decides how
                 * long it gets. */
                if ((*n & (*n - 1)) == 0) {
                        void *grown = reallocarray(*list, *n == 0 ? 1 : 2 * *n, type->size);

                        if (!grown)
                                return -ENOMEM;
                        *list = grown;
                }
                r = read_struct(m, type, memset((char *) *list + (*n)++ * type->size, 0, type->size));
                if (r < 0)
                        return r;
        }
        return r < 0 ? r : zero_or_error(sd_bus_message_exit_container(m));
}

static int read_field(sd_bus_message *m, const MessageField *f, char *object) {
        void *member = object + f->offset;

        switch (f->kind) {
        case KIND_BOOL:
                return read_bool(m, member);
        case KIND_INT:
        case KIND_U32:
        case KIND_U64:
                return expect(sd_bus_message_read_basic(m, (char) f->kind, member));
        case KIND_TEXT:
                return read_text(m, f, member);
        case KIND_WORD:
                return read_word(m, f->words, member);
        case KIND_FINGERPRINT:
                return read_fingerprint(m, member);
        case KIND_STRV:
                return read_strv(m, f, member);
        case KIND_STRUCT:
                return read_struct(m, f->type, member);
        case KIND_ARRAY:
                return read_elements(m, f->type, f->max, member, (size_t *) (object + f->count_offset));
        default:
                return -EINVAL;
        }
}

/* object is all 0. What was read before a failure is the caller's to release. */
static int read_struct(sd_bus_message *m, const MessageType *type, void *object) {
        int r;

        r = expect(sd_bus_message_enter_container(m, SD_BUS_TYPE_STRUCT, contents_of(type)));
        if (r < 0)
                return r;
        for (size_t i = 0; i < type->n_fields; i++) {
                r = read_field(m, &type->fields[i], object);
                if (r < 0)
                        return r;
        }
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

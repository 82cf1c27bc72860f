/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/answer.h"
#include "wire/names.h"

enum { MEMBERS = 2 };

/* The arrays of structs, and the names for the members of a struct. */
static const struct {
        const char *key;
        const char *members[MEMBERS];
} structs[] = {
        { "Failures", { "Path", "Message" } },
        { "Mismatches", { "Path", "Message" } },
};

int answer_sort(json_t *array, int (*compare)(const void *a, const void *b)) {
        const size_t n = json_array_size(array);
        _cleanup_free_ json_t **elements = calloc(n + 1, sizeof(json_t *));

        if (!elements)
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                elements[i] = json_incref(json_array_get(array, i));
        qsort(elements, n, sizeof(json_t *), compare);
        for (size_t i = 0; i < n; i++)
                (void) json_array_set_new(array, i, elements[i]); /* fails only for an index beyond the end */
        return 0;
}

uint64_t job_number(const char *path) {
        const char *number = startswith(path, JOB_PREFIX "/");
        unsigned long long id;

        return number && parse_u64(number, &id) >= 0 ? id : 0;
}

static json_t *object_path(const char *path) {
        uint64_t job = job_number(path);

        if (job > 0)
                return json_integer((json_int_t) job);
        return streq(path, "/") ? json_null() : json_string(path);
}

static int read_basic(sd_bus_message *m, char type, json_t **ret) {
        union {
                uint8_t y;
                int b;
                int16_t n;
                uint16_t q;
                int32_t i;
                uint32_t u;
                int64_t x;
                uint64_t t;
                double d;
                const char *s;
        } v;
        json_t *value = NULL;
        int r;

        r = sd_bus_message_read_basic(m, type, &v);
        if (r < 0)
                return r;
        if (type == 'b')
                value = json_boolean(v.b);
        else if (type == 'd')
                value = json_real(v.d);
        else if (type == 'o')
                value = object_path(v.s);
        else if (type == 's' || type == 'g')
                value = json_string(v.s);
        else if (type == 't')
                value = json_integer(v.t < INT64_MAX ? (json_int_t) v.t : INT64_MAX);
        else if (type == 'x')
                value = json_integer(v.x);
        else if (type == 'u')
                value = json_integer(v.u);
        else if (type == 'i')
                value = json_integer(v.i);
        else if (type == 'q')
                value = json_integer(v.q);
        else if (type == 'n')
                value = json_integer(v.n);
        else if (type == 'y')
                value = json_integer(v.y);
        else
                return -EOPNOTSUPP;
        if (!value)
                return -ENOMEM;
        *ret = value;
        return 0;
}

static int read_element(sd_bus_message *m, json_t *array) {
        json_t *value;
        int r;

        r = answer_read(m, &value);
        if (r < 0)
                return r;
        return json_array_append_new(array, value) < 0 ? -ENOMEM : 0;
}

static int read_entry(sd_bus_message *m, json_t *object) {
        const char *contents, *key;
        json_t *value;
        int r;

        r = sd_bus_message_peek_type(m, NULL, &contents);
        if (r < 0)
                return r;
        if (contents[0] != 's' && contents[0] != 'o')
                return -EOPNOTSUPP;
        r = sd_bus_message_enter_container(m, 'e', contents);
        if (r < 0)
                return r;
        r = sd_bus_message_read_basic(m, contents[0], &key);
        if (r < 0)
                return r;
        /* selvold chooses the names, and selvolctl prints them unescaped. */
        if (!text_is_clean(key))
                return -EBADMSG;
        r = answer_read(m, &value);
        if (r < 0)
                return r;
        if (json_object_set_new(object, key, value) < 0)
                return -ENOMEM;
        return sd_bus_message_exit_container(m);
}

static int read_container(sd_bus_message *m, char type, const char *contents, json_t **ret) {
        bool dictionary = type == 'a' && contents[0] == '{';
        _cleanup_json_ json_t *value = dictionary ? json_object() : json_array();
        int r;

        if (!value)
                return -ENOMEM;
        r = sd_bus_message_enter_container(m, type, contents);
        if (r < 0)
                return r;
        while ((r = sd_bus_message_at_end(m, false)) == 0) {
                r = dictionary ? read_entry(m, value) : read_element(m, value);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        r = sd_bus_message_exit_container(m);
        if (r < 0)
                return r;
        *ret = type == 'v' ? json_incref(json_array_get(value, 0)) : TAKE_PTR(value);
        return 0;
}

int answer_read(sd_bus_message *m, json_t **ret) {
        const char *contents;
        char type;
        int r;

        r = sd_bus_message_peek_type(m, &type, &contents);
        if (r < 0)
                return r;
        if (r == 0)
                return -EBADMSG;
        return contents ? read_container(m, type, contents, ret) : read_basic(m, type, ret);
}

static int name_members(const json_t *array, const char *const names[static MEMBERS], json_t **ret) {
        _cleanup_json_ json_t *named = json_object();
        json_t *value;
        size_t i;

        json_array_foreach (array, i, value)
                if (i < MEMBERS && json_object_set(named, names[i], value) < 0)
                        return -ENOMEM;
        *ret = TAKE_PTR(named);
        return 0;
}

static int name_structs(json_t *object) {
        for (size_t i = 0; i < ELEMENTSOF(structs); i++) {
                json_t *array = json_object_get(object, structs[i].key), *element, *named;
                size_t k;

                json_array_foreach (array, k, element) {
                        int r;

                        r = name_members(element, structs[i].members, &named);
                        if (r < 0)
                                return r;
                        if (json_array_set_new(array, k, named) < 0)
                                return -ENOMEM;
                }
        }
        return 0;
}

int answer_add(json_t *object, const char *key, sd_bus_message *m) {
        _cleanup_json_ json_t *value = NULL;
        int r;

        r = answer_read(m, &value);
        if (r < 0)
                return r;
        if (!key && !json_is_object(value))
                return -EBADMSG;
        r = key ? json_object_set(object, key, value) : json_object_update(object, value);
        if (r < 0)
                return -ENOMEM;
        return name_structs(object);
}

const char *answer_string(const json_t *object, const char *key) {
        return strempty(json_string_value(json_object_get(object, key)));
}

uint64_t answer_number(const json_t *object, const char *key) {
        json_int_t n = json_integer_value(json_object_get(object, key));

        return n > 0 ? (uint64_t) n : 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "client/values.h"
#include "model/request.h"

int parse_gid(const char *s, gid_t *ret) {
        unsigned long long number;
        int r;

        r = parse_u64(s, &number);
        if (r < 0)
                return r;
        if (number >= GID_NONE)
                return -ERANGE;
        *ret = (gid_t) number;
        return 0;
}

int parse_word(const char *s, const char *words) {
        size_t n = strlen(s);

        for (const char *p = words; n > 0 && (p = strstr(p, s)); p += n)
                if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0') && !strchr(s, ' '))
                        return 0;
        return -EINVAL;
}

int parse_mount_options(const char *s, char ***list) {
        for (;;) {
                bool quoted = false;
                size_t n = 0;
                int r;

                for (; s[n] != '\0' && (quoted || s[n] != ','); n++)
                        if (s[n] == '"')
                                quoted = !quoted;
                if (quoted)
                        return -EINVAL;
                if (n > 0) {
                        r = strv_consume(list, strndup(s, n));
                        if (r < 0)
                                return r;
                }
                if (s[n] == '\0')
                        return 0;
                s += n + 1;
        }
}

/* The longest time that selvold accepts. */
#define WAIT_DEFAULT "1h"

static bool is_time(const RequestOption *o) {
        return strstr(o->name, "USec");
}

int value_parse(RequestOptionId id, const char *text, OptionValue *v) {
        const RequestOption *o = &request_options[id];
        unsigned long long number;
        gid_t gid;
        int r;

        v->set = true;
        switch (o->type[0]) {
        case 'b':
                r = text ? parse_boolean(text) : 1;
                v->number = r > 0;
                return r < 0 ? r : 0;
        case 'u':
                r = parse_gid(text, &gid);
                if (r >= 0)
                        v->number = gid;
                return r;
        case 't':
                if (is_time(o))
                        return parse_timespan(text ? text : WAIT_DEFAULT, &v->number);
                r = parse_u64(text, &number);
                if (r >= 0)
                        v->number = number;
                return r;
        case 'a':
                return utf8_is_valid(text) ? parse_mount_options(text, &v->list) : -EINVAL;
        default:
                v->string = text;
                return o->values ? parse_word(text, o->values) : utf8_is_valid(text) ? 0 : -EINVAL;
        }
}

void values_done(OptionValue values[static REQUEST_OPTIONS]) {
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                strv_free(values[i].list);
                values[i] = (OptionValue){ 0 };
        }
}

char *format_words(const char *words) {
        const char *last = strrchr(words, ' ');
        _cleanup_strv_ char **l = NULL;
        _cleanup_free_ char *first = NULL, *list = NULL;

        if (!last)
                return strdup(words);
        first = strndup(words, (size_t) (last - words));
        if (!first || strv_split(first, " ", &l) < 0)
                return NULL;
        list = strv_join(l, ", ");
        return list ? strdup_printf("%s or %s", list, last + 1) : NULL;
}

char *value_expected(RequestOptionId id) {
        const RequestOption *o = &request_options[id];

        switch (o->type[0]) {
        case 'b':
                return strdup("yes or no");
        case 'u':
                return strdup(GID_EXPECTED);
        case 't':
                return strdup(is_time(o) ? "a time such as 20s, 1min or 500ms" : "a number");
        case 'a':
                return strdup("UTF-8, with a closing quote for each opening one");
        default:
                return o->values ? format_words(o->values) : strdup("UTF-8");
        }
}

RequestOptionId option_find(const char *long_name, unsigned int methods) {
        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                if ((request_options[i].methods & methods) && streq(request_options[i].long_name, long_name))
                        return (RequestOptionId) i;
        return REQUEST_OPTIONS;
}

static bool any_is_set(const OptionValue *values, const RequestOptionId *ids, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (values[ids[i]].set)
                        return true;
        return false;
}

void values_prefer_context_mount(OptionValue values[static REQUEST_OPTIONS], const char *source) {
        static const RequestOptionId labels[] = { OPTION_SELINUX_LEVEL, OPTION_SELINUX_CONTEXT },
                                     choices[] = { OPTION_SELINUX_RELABEL_POLICY, OPTION_SELINUX_MOUNT_SUPPORTED,
                                                   OPTION_DRIVER, OPTION_VOLUME_TYPE };

        const char *directory;

        if (!any_is_set(values, labels, ELEMENTSOF(labels)) || any_is_set(values, choices, ELEMENTSOF(choices)) ||
            (source[0] != '/' && !source_tag(source, &directory) &&
             !streq(strempty(values[OPTION_FS_TYPE].string), "tmpfs")))
                return;
        values[OPTION_SELINUX_RELABEL_POLICY] = (OptionValue){ .set = true, .string = "OnVolumeMount" };
        values[OPTION_SELINUX_MOUNT_SUPPORTED] = (OptionValue){ .set = true, .number = true };
}

static int append_value(sd_bus_message *m, const RequestOption *o, const OptionValue *v) {
        int r;

        switch (o->type[0]) {
        case 'b':
                return sd_bus_message_append(m, "{sv}", o->name, "b", (int) v->number);
        case 't':
                return sd_bus_message_append(m, "{sv}", o->name, "t", v->number);
        case 'u':
                return sd_bus_message_append(m, "{sv}", o->name, "u", (uint32_t) v->number);
        case 'a':
                r = sd_bus_message_open_container(m, 'e', "sv");
                if (r >= 0)
                        r = sd_bus_message_append(m, "s", o->name);
                if (r >= 0)
                        r = sd_bus_message_open_container(m, 'v', "as");
                if (r >= 0)
                        r = sd_bus_message_append_strv(m, v->list);
                if (r >= 0)
                        r = sd_bus_message_close_container(m);
                if (r >= 0)
                        r = sd_bus_message_close_container(m);
                return r;
        default:
                return sd_bus_message_append(m, "{sv}", o->name, "s", v->string);
        }
}

int values_append(sd_bus_message *m, const OptionValue values[static REQUEST_OPTIONS]) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        if (r < 0)
                return r;
        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                if (!values[i].set)
                        continue;
                r = append_value(m, &request_options[i], &values[i]);
                if (r < 0)
                        return r;
        }
        r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

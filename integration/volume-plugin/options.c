/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "volume-plugin/options.h"

void volume_options_done(VolumeOptions *o) {
        values_done(o->values);
        free(o->default_holder);
}

static int refuse_value(const char *key, RequestOptionId id, const char *text, Failure *f) {
        _cleanup_free_ char *expected = value_expected(id), *escaped = string_escape(text, 200);

        if (!expected || !escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Option %s=%s: must be %s.", key, escaped, expected);
}

static int read_request_option(const char *key, const char *text, VolumeOptions *o, Failure *f) {
        /* podman's own option for what mount(8) calls so; it takes timeout= and the like out of it. */
        RequestOptionId id = streq(key, "o") ? OPTION_MOUNT_OPTIONS : option_find(key, METHOD_MOUNT);
        int r;

        if (id == REQUEST_OPTIONS)
                return failure_set_about(
                        f, FAILURE_INVALID_OPTION, key,
                        "There is no option '%s'. There are source, volume, and the options of 'selvolctl mount' without '--', see selvol-volume-plugin(8).");
        r = value_parse(id, isempty(text) && !request_options[id].argument ? NULL : text, &o->values[id]);
        return r == 0 || r == -ENOMEM ? r : refuse_value(key, id, text, f);
}

static int read_option(const char *key, const json_t *value, VolumeOptions *o, Failure *f) {
        const char *text = json_string_value(value);

        if (!text)
                return failure_set_about(f, FAILURE_INVALID_OPTION, key, "Option '%s' is not a string.");
        if (!utf8_is_valid(text))
                return failure_set_about(f, FAILURE_INVALID_OPTION, key,
                                         "Option '%s' has a noncharacter of Unicode, which D-Bus does not take.");
        if (streq(key, "source"))
                o->source = text;
        else if (streq(key, "volume"))
                o->volume = text;
        else
                return read_request_option(key, text, o, f);
        return 0;
}

static bool is_named(const OptionValue *v) {
        return v->set && !isempty(v->string);
}

/* Nobody else knows the label if it is selvold that has to relabel. */
static bool needs_label(const OptionValue *relabel_by) {
        return !relabel_by->set || streq(relabel_by->string, "service");
}

/* podman relabels no volume of a plugin's by itself, so selvold does where a context mount is not possible. */
static int set_defaults(const char *name, VolumeOptions *o, Failure *f) {
        OptionValue *relabel_by = &o->values[OPTION_RELABEL_BY], *holder = &o->values[OPTION_HOLDER];

        if (isempty(o->source))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "Pass --opt source=SOURCE: a device in /dev, an image, or what else 'selvolctl mount' takes.");
        if (!is_named(&o->values[OPTION_SELINUX_LEVEL]) && !is_named(&o->values[OPTION_SELINUX_CONTEXT]) &&
            needs_label(relabel_by))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "Pass --opt level=LEVEL, and the same one to the containers: --security-opt label=level:LEVEL. If they need no labels, pass --opt relabel-by=none.");
        values_prefer_context_mount(o->values, o->source);
        if (!relabel_by->set)
                *relabel_by = (OptionValue){ .set = true, .string = "service" };
        if (holder->set)
                return 0;
        o->default_holder = strdup_printf("podman:%s", name);
        if (!o->default_holder)
                return -ENOMEM;
        *holder = (OptionValue){ .set = true, .string = o->default_holder };
        return 0;
}

int volume_options_read(const char *name, const json_t *options, VolumeOptions *ret, Failure *f) {
        _cleanup_options_ VolumeOptions o = { .volume = name };
        const char *key;
        json_t *value;
        int r;

        json_object_foreach ((json_t *) options, key, value) {
                r = read_option(key, value, &o, f);
                if (r != 0)
                        return r;
        }
        r = set_defaults(name, &o, f);
        if (r != 0)
                return r;
        *ret = TAKE_STRUCT(o);
        return 0;
}

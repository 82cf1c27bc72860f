/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "flexvolume/volume-options.h"
#include "model/failure.h"
#include "model/limits.h"

#define KUBELET "kubernetes.io/"

/* The longest value that a message shows, in bytes. */
enum { SHOWN_MAX = 200 };

static int refuse_options(char **ret_why, char *why) {
        if (!why)
                return -ENOMEM;
        *ret_why = why;
        return 1;
}

static int set_value(FlexOptions *o, const char *name, RequestOptionId id, const char *value, char **ret_why) {
        _cleanup_free_ char *escaped = NULL, *expected = NULL;
        int r;

        r = value_parse(id, value, &o->values[id]);
        if (r == 0 || r == -ENOMEM)
                return r;
        escaped = string_escape(value, SHOWN_MAX);
        expected = value_expected(id);
        if (!escaped || !expected)
                return -ENOMEM;
        return refuse_options(ret_why, strdup_printf("Option %s: '%s' must be %s.", name, escaped, expected));
}

static const char *find_text(const FlexOptions *o, const char *key) {
        const char *value = json_string_value(json_object_get(o->json, key));

        return isempty(value) ? NULL : value;
}

/* Names the holder after the pod, because other pods' events show the name; the pod's UID is part of the
 * target. Cuts the name: a pod's may be longer than a holder's. */
static int find_holder(FlexOptions *o) {
        const char *namespace = find_text(o, KUBELET "pod.namespace"), *pod = find_text(o, KUBELET "pod.name");

        if (!pod)
                return 0;
        o->holder = strdup_printf("%s%s%s", strempty(namespace), namespace ? "/" : "", pod);
        if (!o->holder)
                return -ENOMEM;
        o->holder[utf8_length_within(o->holder, NAME_MAX_BYTES)] = '\0';
        o->values[OPTION_HOLDER] = (OptionValue){ .set = true, .string = o->holder };
        return 0;
}

/* Reads kubelet's own keys; kubelet leaves some of them empty. Ignores keys that are not here, secrets among
 * them. */
static int read_kubelet(FlexOptions *o, char **ret_why) {
        static const struct {
                const char *key;
                RequestOptionId id;
        } keys[] = {
                { KUBELET "fsType", OPTION_FS_TYPE },
                { KUBELET "mounterArgs.FsGroup", OPTION_FS_GROUP },
        };
        int r;

        o->volume = find_text(o, KUBELET "pvOrVolumeName");
        if (streq_ptr(find_text(o, KUBELET "readwrite"), "ro"))
                o->values[OPTION_READ_ONLY] = (OptionValue){ .set = true, .number = true };
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                const char *value = find_text(o, keys[i].key);

                if (!value)
                        continue;
                r = set_value(o, keys[i].key, keys[i].id, value, ret_why);
                if (r != 0)
                        return r;
        }
        return find_holder(o);
}

/* Reads an option of the user, which replaces kubelet's value. */
static int read_own(FlexOptions *o, const char *name, const char *value, char **ret_why) {
        _cleanup_free_ char *escaped = NULL;
        RequestOptionId id;

        if (streq(name, "volume")) {
                o->volume = value;
                return 0;
        }
        if (streq(name, "device") || streq(name, "source")) {
                if (o->source)
                        return refuse_options(ret_why,
                                              strdup("Options device and source mean the same: pass one of them."));
                o->source = value;
                return 0;
        }
        id = option_find(name, METHOD_MOUNT);
        if (id != REQUEST_OPTIONS)
                return set_value(o, name, id, value, ret_why);
        escaped = string_escape(name, SHOWN_MAX);
        if (!escaped)
                return -ENOMEM;
        return refuse_options(
                ret_why,
                strdup_printf("Unknown option '%s' of the volume: selvol-flexvolume(8) has all of them.", escaped));
}

static int check_string(const char *name, const json_t *value, char **ret_why) {
        _cleanup_free_ char *escaped = NULL;

        if (json_is_string(value) && utf8_is_valid(json_string_value(value)))
                return 0;
        escaped = string_escape(name, SHOWN_MAX);
        if (!escaped)
                return -ENOMEM;
        if (!json_is_string(value))
                return refuse_options(ret_why, strdup_printf("Option '%s' is not a string.", escaped));
        return refuse_options(
                ret_why,
                strdup_printf("Option '%s' has a noncharacter of Unicode, which D-Bus does not take.", escaped));
}

/* Kubelet relabels no files for this driver, so selvold has to relabel if a mount with the label is
 * impossible. */
static void set_kubelet_defaults(FlexOptions *o) {
        static const struct {
                RequestOptionId id;
                OptionValue value;
        } defaults[] = {
                { OPTION_VOLUME_TYPE, { .set = true, .string = "flexVolume" } },
                { OPTION_SELINUX_RELABEL_POLICY, { .set = true, .string = "OnVolumeMount" } },
                { OPTION_SELINUX_MOUNT_SUPPORTED, { .set = true, .number = true } },
                { OPTION_RELABEL_BY, { .set = true, .string = "service" } },
        };

        for (size_t i = 0; i < ELEMENTSOF(defaults); i++)
                if (!o->values[defaults[i].id].set)
                        o->values[defaults[i].id] = defaults[i].value;
}

int volume_options_parse(const char *text, FlexOptions *ret, char **ret_why) {
        _cleanup_(volume_options_done) FlexOptions o = { .json = json_loads(text, JSON_REJECT_DUPLICATES, NULL) };
        const char *name;
        json_t *value;
        int r;

        if (!json_is_object(o.json))
                return refuse_options(ret_why, strdup("The options of the volume are not one JSON object."));
        json_object_foreach (o.json, name, value) {
                r = check_string(name, value, ret_why);
                if (r != 0)
                        return r;
        }
        r = read_kubelet(&o, ret_why);
        if (r != 0)
                return r;
        json_object_foreach (o.json, name, value) {
                if (startswith(name, KUBELET))
                        continue;
                r = read_own(&o, name, json_string_value(value), ret_why);
                if (r != 0)
                        return r;
        }
        if (!o.volume)
                return refuse_options(
                        ret_why, strdup("Option volume is missing, and kubelet has passed no name of the volume."));
        if (!o.source)
                return refuse_options(
                        ret_why,
                        strdup("Option device is missing: pass the device or the image that the volume is on."));
        set_kubelet_defaults(&o);
        *ret = TAKE_STRUCT(o);
        return 0;
}

void volume_options_done(FlexOptions *o) {
        values_done(o->values);
        free(o->holder);
        json_decref(o->json);
        *o = (FlexOptions){ 0 };
}

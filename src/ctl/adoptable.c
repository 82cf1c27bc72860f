/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "client/values.h"
#include "ctl/adoptable.h"
#include "ctl/answer.h"

/* Positions counted from the last component, because kubelet's directory can be anything. */
enum { VOLUME_BACK = 1, PLUGIN_BACK, VOLUMES_BACK, POD_BACK, PODS_BACK };

/* Reads the pod and the volume from a path in which kubelet mounts volumes: pods/POD/volumes/PLUGIN/VOLUME,
 * with "mount" beneath for CSI drivers. Returns 1 and both, 0 for any other path, or -ENOMEM. */
static int kubelet_path_parse(const char *path, char **ret_volume, char **ret_pod) {
        _cleanup_free_ char *volume = NULL, *pod = NULL;
        _cleanup_strv_ char **parts = NULL;
        size_t n;
        int r;

        r = strv_split(path, "/", &parts);
        if (r < 0)
                return r;
        n = strv_length(parts);
        if (n > PODS_BACK && streq(parts[n - 1], "mount") && streq(parts[n - 1 - VOLUMES_BACK], "volumes"))
                n--;
        if (n < PODS_BACK || !streq(parts[n - VOLUMES_BACK], "volumes") || !streq(parts[n - PODS_BACK], "pods"))
                return 0;
        volume = strdup(parts[n - VOLUME_BACK]);
        pod = strdup(parts[n - POD_BACK]);
        if (!volume || !pod)
                return -ENOMEM;
        *ret_volume = TAKE_PTR(volume);
        *ret_pod = TAKE_PTR(pod);
        return 1;
}

/* Finds the value of context=, without the quotes; NULL if there is none. */
static int find_context(const Mount *m, char **ret) {
        _cleanup_free_ char *text = strdup(m->fs_options);
        _cleanup_strv_ char **options = NULL;
        int r;

        if (!text)
                return -ENOMEM;
        mountinfo_unescape(text);
        r = parse_mount_options(text, &options);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        STRV_FOREACH (option, options) {
                const char *value = startswith(*option, "context=");
                size_t n;

                if (!value)
                        continue;
                n = strlen(value);
                *ret = n >= 2 && value[0] == '"' && value[n - 1] == '"' ? strndup(value + 1, n - 2) : strdup(value);
                return *ret ? 0 : -ENOMEM;
        }
        return 0;
}

static int skip_mount(json_t *skipped, const Mount *m, const char *text) {
        return json_array_append_new(skipped, json_pack("{s:s, s:s}", "Target", m->target, "Text", text)) < 0
                       ? -ENOMEM
                       : 0;
}

/* Whether a mount with the same volume id has another source, as inline volumes of pods may have: then the id
 * does not identify a device. */
static bool has_other_source(const json_t *found, const char *volume, const char *source) {
        const json_t *other;
        size_t i;

        json_array_foreach (found, i, other)
                if (streq(answer_string(other, "Volume"), volume) && !streq(answer_string(other, "Source"), source))
                        return true;
        return false;
}

static int consider_mount(const Mount *m, const json_t *volumes, json_t *found, json_t *skipped) {
        const char *known = json_string_value(json_object_get(volumes, m->target));
        _cleanup_free_ char *volume = NULL, *pod = NULL, *context = NULL;
        json_t *mount;
        int r;

        if (!utf8_is_valid(m->target) || !utf8_is_valid(m->source))
                return 0;
        r = kubelet_path_parse(m->target, &volume, &pod);
        if (r < 0)
                return r;
        if (!known && !volume)
                return skip_mount(
                        skipped, m,
                        "no volume id follows from its path: adopt it with 'selvolctl adopt VOLUME TARGET'");
        if (!known && has_other_source(found, volume, m->source))
                return skip_mount(
                        skipped, m,
                        "another device is mounted with this volume id: adopt it with 'selvolctl adopt VOLUME TARGET'");
        r = find_context(m, &context);
        if (r < 0)
                return r;
        mount = json_pack("{s:s, s:s*, s:s, s:s, s:s, s:s*}", "Volume", known ? known : volume, "Holder", pod,
                          "Target", m->target, "Source", m->source, "FSType", m->fs_type, "Context", context);
        return json_array_append_new(found, mount) < 0 ? -ENOMEM : 0;
}

static bool is_found(const json_t *found, const char *target) {
        const json_t *mount;
        size_t i;

        json_array_foreach (found, i, mount)
                if (streq(answer_string(mount, "Target"), target))
                        return true;
        return false;
}

int adoptable_find(const MountTable *table, const char *root, const json_t *targets, const json_t *volumes,
                   json_t **ret, json_t **ret_skipped) {
        _cleanup_json_ json_t *found = json_array(), *skipped = json_array();

        if (!found || !skipped)
                return -ENOMEM;
        for (size_t i = 0; i < table->n; i++) {
                const Mount *m = &table->mounts[i];
                int r;

                if ((!streq(m->target, root) && !path_is_beneath(m->target, root)) ||
                    !startswith(m->source, "/dev/") || json_object_get(targets, m->target) ||
                    is_found(found, m->target))
                        continue;
                r = consider_mount(m, volumes, found, skipped);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(found);
        *ret_skipped = TAKE_PTR(skipped);
        return 0;
}

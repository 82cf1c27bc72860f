/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "ctl/follow.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

static const char *const columns[] = { "Volume", "?Holder", "Target", "Source", "FSType", "?Context", NULL };

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

static int skip_mount(json_t *skipped, const json_t *mount, const char *text) {
        return json_array_append_new(
                       skipped, json_pack("{s:O, s:s}", "Target", json_object_get(mount, "Target"), "Text", text)) < 0
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

/* Adds the mount to those that can be adopted, with volume and holder from its path if selvold does not know
 * them; or, with a reason, to the others. */
static int consider_mount(json_t *mount, json_t *found, json_t *skipped) {
        _cleanup_free_ char *volume = NULL, *pod = NULL;
        int r;

        r = kubelet_path_parse(answer_string(mount, "Target"), &volume, &pod);
        if (r < 0)
                return r;
        if (isempty(answer_string(mount, "Volume"))) {
                if (!volume)
                        return skip_mount(skipped, mount,
                                          "its path names no volume: adopt it with 'selvolctl adopt VOLUME TARGET'");
                if (has_other_source(found, volume, answer_string(mount, "Source")))
                        return skip_mount(
                                skipped, mount,
                                "another device is mounted with this volume id: adopt it with 'selvolctl adopt VOLUME TARGET'");
                if (json_object_set_new(mount, "Volume", json_string(volume)) < 0)
                        return -ENOMEM;
        }
        if (pod && json_object_set_new(mount, "Holder", json_string(pod)) < 0)
                return -ENOMEM;
        return json_array_append(found, mount) < 0 ? -ENOMEM : 0;
}

static int compare_targets(const void *a, const void *b) {
        return strcmp(answer_string(*(json_t *const *) a, "Target"), answer_string(*(json_t *const *) b, "Target"));
}

/* Asks selvold for the mounts without a holder, and sorts those at or beneath root. */
static int find_mounts(sd_bus *bus, const char *root, json_t *found, json_t *skipped) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *mounts = NULL;
        json_t *mount;
        size_t i;
        int r;

        r = bus_call_method(bus, NULL, &reply, MANAGER_PATH, MANAGER_INTERFACE, "ListUnheldMounts", NULL);
        if (r != 0)
                return r;
        r = answer_read(reply, &mounts);
        if (r != 0)
                return r;
        r = answer_sort(mounts, compare_targets);
        if (r < 0)
                return r;
        json_array_foreach (mounts, i, mount) {
                const char *target = answer_string(mount, "Target");

                if (!streq(target, root) && !path_is_beneath(target, root))
                        continue;
                r = consider_mount(mount, found, skipped);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void set_default(Args *a, RequestOptionId id, const char *string, uint64_t number) {
        if (!a->values[id].set)
                a->values[id] = (OptionValue){ .set = true, .string = string, .number = number };
}

/* Adopts one mount, with the options of the command line, and holder and context from the mount. */
static int adopt_mount(sd_bus *bus, const Args *a, const json_t *mount) {
        const char *volume = answer_string(mount, "Volume"), *target = answer_string(mount, "Target"),
                   *holder = answer_string(mount, "Holder"), *context = answer_string(mount, "Context");
        char *operands[] = { (char *) volume, (char *) target, NULL };
        _cleanup_message_ sd_bus_message *reply = NULL;
        Args one = *a; /* owns nothing */

        one.operands = operands;
        one.n_operands = 2;
        if (!isempty(holder))
                set_default(&one, OPTION_HOLDER, holder, 0);
        if (!isempty(context)) {
                set_default(&one, OPTION_SELINUX_CONTEXT, context, 0);
                set_default(&one, OPTION_SELINUX_RELABEL_POLICY, "OnVolumeMount", 0);
                set_default(&one, OPTION_SELINUX_MOUNT_SUPPORTED, NULL, true);
        }
        return follow_request(bus, &one, "adopt", &reply, "AdoptVolume", "ss", volume, target);
}

/* Adopts all mounts. Prints an error for each mount that can't be adopted, and continues. */
static int adopt_each(sd_bus *bus, const Args *a, const json_t *mounts) {
        _cleanup_json_ json_t *adopted = json_array();
        json_t *mount;
        int code = 0, r;
        size_t i;

        if (!adopted)
                return -ENOMEM;
        bus_collect_errors(a, adopted);
        json_array_foreach (mounts, i, mount) {
                r = adopt_mount(bus, a, mount);
                if (r < 0 || r > EXIT_SIGNAL)
                        return r;
                if (r > 0)
                        code = r;
                else if (json_array_append(adopted, mount) < 0)
                        return -ENOMEM;
        }
        r = args_have(a, SWITCH_QUIET) ? 0 : print_list(a, adopted, columns, "adopted mount");
        return r != 0 ? r : code;
}

static int print_plan(const Args *a, const json_t *mounts) {
        _cleanup_free_ char *note = NULL, *word = NULL;
        int r;

        r = print_list(a, mounts, columns, "mount");
        if (r != 0)
                return r;
        if (json_array_size(mounts) == 0)
                return 0;
        word = shell_quote(a->operands[0]);
        note = word ? strdup_printf("Nothing was adopted. To adopt these: selvolctl adopt --all %s --yes", word)
                    : NULL;
        if (!note)
                return -ENOMEM;
        report_note(NULL, note);
        return 0;
}

int adopt_all_check(const Args *a) {
        if (a->n_operands != 1 || !path_is_normalized(a->operands[0]))
                return report_usage(
                        "adopt --all takes one directory, an absolute path without '.', '..' and extra slashes.");
        return 0;
}

int adopt_all(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *mounts = json_array(), *skipped = json_array();
        const json_t *mount;
        size_t i;
        int r;

        if (!mounts || !skipped)
                return -ENOMEM;
        r = find_mounts(bus, a->operands[0], mounts, skipped);
        if (r != 0)
                return r;
        json_array_foreach (skipped, i, mount)
                report_note(answer_string(mount, "Target"), answer_string(mount, "Text"));
        return args_have(a, SWITCH_YES) ? adopt_each(bus, a, mounts) : print_plan(a, mounts);
}

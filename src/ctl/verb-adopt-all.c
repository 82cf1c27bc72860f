/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/string-util.h"
#include "ctl/adoptable.h"
#include "ctl/follow.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

static const char *const columns[] = { "Volume", "?Holder", "Target", "Source", "FSType", "?Context", NULL };

/* Adds the targets of all holders. */
static int get_targets(sd_bus *bus, json_t *targets) {
        _cleanup_json_ json_t *volumes = NULL, *holders = NULL;
        const json_t *holder;
        size_t i;
        int r;

        r = volumes_get(bus, &volumes, &holders);
        if (r != 0)
                return r;
        json_array_foreach (holders, i, holder)
                if (json_object_set_new(targets, answer_string(holder, "Target"), json_true()) < 0)
                        return -ENOMEM;
        return 0;
}

/* Adds the volumes of mounts whose record was lost, by their targets. */
static int get_unrecorded(sd_bus *bus, json_t *volumes) {
        _cleanup_json_ json_t *manager = NULL;
        json_t *mount;
        size_t i;
        int r;

        r = object_get(bus, MANAGER_PATH, MANAGER_INTERFACE, NULL, &manager);
        if (r != 0)
                return r;
        json_array_foreach (json_object_get(manager, "UnrecordedMounts"), i, mount)
                if (json_object_set(volumes, strempty(json_string_value(json_array_get(mount, 1))),
                                    json_array_get(mount, 0)) < 0)
                        return -ENOMEM;
        return 0;
}

static int find_mounts(sd_bus *bus, const char *root, json_t **ret, json_t **ret_skipped) {
        _cleanup_json_ json_t *targets = json_object(), *volumes = json_object();
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        if (!targets || !volumes)
                return -ENOMEM;
        r = get_targets(bus, targets);
        if (r != 0)
                return r;
        r = get_unrecorded(bus, volumes);
        if (r != 0)
                return r;
        r = mount_table_read(NULL, &table);
        return r < 0 ? r : adoptable_find(table, root, targets, volumes, ret, ret_skipped);
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
        _cleanup_json_ json_t *mounts = NULL, *skipped = NULL;
        const json_t *mount;
        size_t i;
        int r;

        r = find_mounts(bus, a->operands[0], &mounts, &skipped);
        if (r != 0)
                return r;
        json_array_foreach (skipped, i, mount)
                report_note(answer_string(mount, "Target"), answer_string(mount, "Text"));
        return args_have(a, SWITCH_YES) ? adopt_each(bus, a, mounts) : print_plan(a, mounts);
}

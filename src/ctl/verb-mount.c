/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/follow.h"
#include "ctl/namespaces.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "model/context.h"

/* Adds the rest of the reply, an a{sv}, to answer, and prints it. Takes answer over. */
static int print_result(const Args *a, json_t *answer, sd_bus_message *reply) {
        _cleanup_json_ json_t *result = answer;
        int r;

        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        return r < 0 ? r : print_answer(a, result);
}

/* Prints the reply of MountVolume and AdoptVolume, even if there is no flag: a container that gets a flag
 * nevertheless would not start. */
static int print_mounted(const Args *a, const char *target, sd_bus_message *reply) {
        const char *context, *flag, *none = args_have(a, SWITCH_JSON) ? NULL : "none";
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        return print_result(a,
                            json_pack("{s:s, s:s, s:s*, s:s?}", "Volume", a->operands[0], "Target", target, "Context",
                                      isempty(context) ? NULL : context, "RuntimeFlag", isempty(flag) ? none : flag),
                            reply);
}

/* Returns a copy that owns nothing. */
static Args with_defaults(const Args *a, const char *source) {
        Args copy = *a;

        values_prefer_context_mount(copy.values, source);
        return copy;
}

/* --- the directory of the target --- */

/* Marks a directory that this program has made, and so removes when nothing is mounted there any more. */
#define MADE_XATTR "user.selvol.made"

/* Makes the target of a call that names none: in selvol's own directory, the volume's id, in which %XX
 * stands for a byte that would lead elsewhere or needs quotes. Returns 0, EXIT_USAGE after a message, or
 * -ENOMEM. */
static int make_default_target(const char *id, char **ret) {
        /* Tests have another one. */
        const char *directory = getenv("SELVOL_VOLUMES") ?: "/var/lib/selvol-volumes";
        _cleanup_free_ char *target = malloc(strlen(directory) + 1 + 3 * strlen(id) + 1);
        char *name, *end;

        if (!target)
                return -ENOMEM;
        name = end = stpcpy(stpcpy(target, directory), "/");
        for (const char *c = id; *c; c++) {
                /* selvol-volume-plugin has podman's volumes in a directory of that name. */
                const bool first = c == id && (*c == '.' || streq(id, "podman"));

                if (first || (uint8_t) *c <= ' ' || *c == 0x7f || strchr("/%", *c))
                        end += sprintf(end, "%%%02X", (uint8_t) *c);
                else
                        *end++ = *c;
        }
        *end = '\0';
        if (end - name > NAME_MAX || end == name)
                return report_usage("The id of the volume can't be the name of a directory: pass TARGET.");
        *ret = TAKE_PTR(target);
        return 0;
}

/* Makes the directory if it is missing. Returns 1 if it was, 0, or a negative errno. */
static int make_directory(const char *target) {
        if (mkdir(target, 0755) < 0)
                return errno == EEXIST ? 0 : -errno;
        /* Without the mark, the directory stays. */
        (void) lsetxattr(target, MADE_XATTR, "1", 1, 0);
        return 1;
}

/* Removes a directory that make_directory() has made, if it is empty and nothing is mounted there. */
static void remove_made_directory(const char *target) {
        if (lgetxattr(target, MADE_XATTR, NULL, 0) >= 0)
                (void) rmdir(target);
}

/* Fills in operands with those of mount and plan. made: also make the directory if that is asked for, and
 * tell whether it was missing; NULL: don't. Returns 0, an exit code after a message, or -ENOMEM. */
static int prepare_target(const Args *a, char *operands[static 4], char **target, bool *made) {
        int r;

        r = a->n_operands < 3 ? make_default_target(a->operands[0], target) : free_and_strdup(target, a->operands[2]);
        if (r != 0)
                return r;
        operands[0] = a->operands[0];
        operands[1] = a->operands[1];
        operands[2] = *target;
        operands[3] = NULL;
        if (!made || (a->n_operands == 3 && !args_have(a, SWITCH_MKDIR)))
                return 0;
        r = make_directory(*target);
        if (r < 0) {
                _cleanup_free_ char *text = strdup_printf("Can't make the directory: %s.", strerror(-r));

                return text ? report_failure(a, *target, "InvalidTarget", text) : -ENOMEM;
        }
        *made = r > 0;
        return 0;
}

/* --- mount and plan --- */

/* Prints the options for a container: the level, which is then typed only once. */
static int print_flags(const char *target, sd_bus_message *reply) {
        _cleanup_free_ char *level = NULL;
        const char *context, *flag;
        int r;

        r = sd_bus_message_read(reply, "ss", &context, &flag);
        if (r < 0)
                return r;
        level = context_part(context, CONTEXT_LEVEL);
        if (!level)
                return -ENOMEM;
        if (isempty(level)) {
                report_note(target, "The label has no level, so the container needs no option for it.");
                return 0;
        }
        printf("--security-opt label=level:%s\n", level);
        if (!isempty(flag))
                report_note(target,
                            "The container runtime has to relabel the files: pass the volume with the flag Z.");
        return 0;
}

/* Adds the conflicts of a refusal, with their full contexts, if the caller may see a plan. */
static int add_conflicts(sd_bus *bus, const Args *a, json_t *error) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *plan = json_object();
        int r;

        if (!plan)
                return -ENOMEM;
        (void) sd_bus_set_allow_interactive_authorization(bus, false);
        r = call_manager(bus, a->values, 0, &reply, NULL, "PlanVolume", "sss", a->operands[0], a->operands[1],
                         a->operands[2]);
        if (r >= 0)
                r = answer_add(plan, NULL, reply);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return json_object_get(plan, "Conflicts") &&
                               json_object_set(error, "Conflicts", json_object_get(plan, "Conflicts")) < 0
                       ? -ENOMEM
                       : 0;
}

/* Prints an error of mount: with --json as an object, otherwise with --verbose the conflicts below it. */
static int print_refusal(sd_bus *bus, const Args *a, const json_t *errors, int code) {
        json_t *error = json_array_get(errors, 0);
        _cleanup_json_ json_t *verbose = json_object();
        int r;

        if (!verbose)
                return -ENOMEM;
        if (!args_have(a, SWITCH_JSON) && !args_have(a, SWITCH_VERBOSE))
                return code;
        r = code == EXIT_CONFLICT ? add_conflicts(bus, a, error ?: verbose) : 0;
        if (r >= 0 && (error || json_object_size(verbose) > 0))
                r = error ? print_json(a, error) : print_text(a, verbose);
        return r < 0 ? r : code;
}

int verb_mount(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *errors = json_array();
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_free_ char *target = NULL;
        Args with = with_defaults(a, a->operands[1]);
        char *operands[4];
        bool made = false;
        int code;

        if (!errors)
                return -ENOMEM;
        code = prepare_target(a, operands, &target, &made);
        if (code != 0)
                return code;
        with.operands = operands;
        with.n_operands = 3;
        bus_collect_errors(a, errors);
        code = follow_request(bus, &with, "mount", &reply, "MountVolume", "sss", operands[0], operands[1], target);
        bus_collect_errors(a, NULL);
        if (code == 0)
                return args_have(a, SWITCH_PRINT_FLAGS) ? print_flags(target, reply)
                                                        : print_mounted(a, target, reply);
        if (made && code < EXIT_SIGNAL)
                remove_made_directory(target);
        return code < 0 ? code : print_refusal(bus, &with, errors, code);
}

int adopt_check(const Args *a) {
        if (args_have(a, SWITCH_ALL))
                return adopt_all_check(a);
        if (a->n_operands != 2 || args_have(a, SWITCH_YES))
                return report_usage(
                        "'adopt' takes VOLUME TARGET, or --all ROOT [--yes]. See 'selvolctl adopt --help'.");
        return 0;
}

int verb_adopt(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        /* The mount has a source, whichever it is. */
        const Args with = with_defaults(a, "/");
        int r;

        if (args_have(a, SWITCH_ALL))
                return adopt_all(bus, a);
        r = follow_request(bus, &with, "adopt", &reply, "AdoptVolume", "ss", a->operands[0], a->operands[1]);
        return r != 0 ? r : print_mounted(a, a->operands[1], reply);
}

int mount_check(const Args *a) {
        if (args_have(a, SWITCH_PRINT_FLAGS) && args_have(a, SWITCH_JSON))
                return report_usage("'mount' takes either --print-flags or --json. See 'selvolctl mount --help'.");
        return 0;
}

int unmount_check(const Args *a) {
        const bool target = a->n_operands == 2 || (a->n_operands == 1 && operand_is_target(a, a->operands[0]));

        if (a->n_operands == 0 && !args_have(a, SWITCH_HOLDER))
                return report_usage(
                        "'unmount' takes VOLUME, TARGET, VOLUME TARGET or --holder=NAME. See 'selvolctl unmount --help'.");
        if (target && (args_have(a, SWITCH_ALL) || args_have(a, SWITCH_HOLDER)))
                return report_usage(
                        "'unmount' takes either a target, or --all or --holder. See 'selvolctl unmount --help'.");
        return 0;
}

/* Adds who has the device of the answer mounted, if this process can see that. */
static int add_users(json_t *answer) {
        _cleanup_(namespaces_done) Namespaces all = { 0 };
        _cleanup_free_ char *users = NULL;
        dev_t device;
        int r;

        if (geteuid() != 0 || device_parse(answer_string(answer, "Device"), &device) < 0)
                return 0;
        r = namespaces_read(&all);
        if (r >= 0)
                r = namespaces_describe(&all, &device, 1, &users);
        if (r < 0)
                return r == -ENOMEM ? r : 0;
        return users && json_object_set_new(answer, "MountedBy", json_string(users)) < 0 ? -ENOMEM : 0;
}

static void report_still_open(const char *target, const char *users) {
        report_note(
                target,
                !isempty(users)
                        ? "The device is still in use: a process has it mounted in its own mount namespace. If the volume is to be used otherwise, or elsewhere, end that process, or stop its container."
                : geteuid() == 0
                        ? "The device is still in use, but not by a mount in another mount namespace: by another mount here (findmnt), or by a program that has it open alone (fuser -v DEVICE)."
                        : "The device is still in use, most likely in another mount namespace: 'selvolctl doctor', run by root, names the process.");
}

/* volume NULL: whichever is held at the target. collect: takes the answer with --json; NULL: print it. */
static int unmount_one(sd_bus *bus, const Args *a, const char *volume, const char *target, json_t *collect) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *answer = json_pack("{s:s*, s:s}", "Volume", volume, "Target", target);
        char *operands[] = { (char *) (volume ?: target), (char *) target, NULL };
        Args one = *a; /* owns nothing */
        int r;

        if (!answer)
                return -ENOMEM;
        one.operands = operands;
        one.n_operands = 2;
        one.values[OPTION_HOLDER] = (OptionValue){ 0 };
        r = follow_request(bus, &one, "unmount", &reply, "UnmountVolume", "ss", strempty(volume), target);
        if (r != 0)
                return r;
        r = answer_add(answer, NULL, reply);
        if (r < 0)
                return r;
        remove_made_directory(target);
        if (json_is_true(json_object_get(answer, "StillOpen"))) {
                r = add_users(answer);
                if (r < 0)
                        return r;
        }
        if (collect && args_have(a, SWITCH_JSON))
                return json_array_append(collect, answer) < 0 ? -ENOMEM : 0;
        r = print_answer(a, answer);
        if (r < 0 || !json_is_true(json_object_get(answer, "StillOpen")))
                return r;
        report_still_open(target, answer_string(answer, "MountedBy"));
        return 0;
}

/* Finds the holders of a volume (NULL: of all), or those with the name of --holder=. */
static int find_holders(sd_bus *bus, const Args *a, const char *id, json_t *found) {
        const char *name = args_have(a, SWITCH_HOLDER) ? a->values[OPTION_HOLDER].string : NULL;
        _cleanup_json_ json_t *volumes = NULL;
        json_t *volume, *holder;
        size_t i, k;
        int r;

        r = objects_get(bus, VOLUME_INTERFACE, &volumes);
        if (r != 0)
                return r;
        json_array_foreach (volumes, i, volume) {
                if (id && !streq(answer_string(volume, "Id"), id))
                        continue;
                json_array_foreach (json_object_get(volume, "Holders"), k, holder)
                        if ((!name || streq(answer_string(holder, "Holder"), name)) &&
                            json_array_append_new(found,
                                                  json_pack("{s:O, s:O}", "Volume", json_object_get(volume, "Id"),
                                                            "Target", json_object_get(holder, "Target"))) < 0)
                                return -ENOMEM;
        }
        return 0;
}

/* Unmounts for the volume's only holder, all of its holders (--all), or the holders of that name. */
static int unmount_holders(sd_bus *bus, const Args *a) {
        const char *id = a->n_operands > 0 ? a->operands[0] : NULL;
        const bool many = args_have(a, SWITCH_ALL) || args_have(a, SWITCH_HOLDER);
        _cleanup_json_ json_t *found = json_array(), *answers = json_array();
        _cleanup_free_ char *text = NULL;
        const json_t *holder;
        size_t n, i;
        int code = 0, r;

        if (!found || !answers)
                return -ENOMEM;
        r = find_holders(bus, a, id, found);
        if (r != 0)
                return r;
        n = json_array_size(found);
        if (n == 0) {
                text = id ? strdup_printf("Nobody holds volume %s. 'selvolctl list --all' shows all volumes.", id)
                          : strdup_printf("There is no holder %s. 'selvolctl list' shows all holders.",
                                          a->values[OPTION_HOLDER].string);
                return text ? report_failure(a, id, ERROR_PREFIX "NoSuchVolume", text) : -ENOMEM;
        }
        if (n > 1 && !many)
                return report_usage(
                        "Volume %s has %zu holders. Name a target ('selvolctl list %s' shows them), or pass --all.",
                        id, n, id);
        if (many)
                bus_collect_errors(a, answers);
        json_array_foreach (found, i, holder) {
                r = unmount_one(bus, a, answer_string(holder, "Volume"), answer_string(holder, "Target"),
                                many ? answers : NULL);
                if (r < 0 || r > EXIT_SIGNAL)
                        return r;
                code = r > 0 ? r : code;
        }
        r = many && args_have(a, SWITCH_JSON) ? print_json(a, answers) : 0;
        return r < 0 ? r : code;
}

int verb_unmount(sd_bus *bus, const Args *a) {
        if (a->n_operands == 2)
                return unmount_one(bus, a, a->operands[0], a->operands[1], NULL);
        if (a->n_operands == 1 && operand_is_target(a, a->operands[0]))
                return unmount_one(bus, a, NULL, a->operands[0], NULL);
        return unmount_holders(bus, a);
}

int verb_plan(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *reply = NULL;
        _cleanup_json_ json_t *plan = json_pack("{s:s}", "Volume", a->operands[0]);
        _cleanup_free_ char *target = NULL;
        Args with = with_defaults(a, a->operands[1]);
        char *operands[4];
        const char *error;
        int r;

        if (!plan)
                return -ENOMEM;
        r = prepare_target(a, operands, &target, NULL);
        if (r != 0)
                return r;
        with.operands = operands;
        with.n_operands = 3;
        r = follow_request(bus, &with, NULL, &reply, "PlanVolume", "sss", operands[0], operands[1], target);
        if (r != 0)
                return r;
        r = answer_add(plan, NULL, reply);
        if (r < 0)
                return r;
        r = print_answer(a, plan);
        if (r < 0)
                return r;
        error = answer_string(plan, "ErrorName");
        return isempty(error) ? 0 : exit_code_of(error);
}

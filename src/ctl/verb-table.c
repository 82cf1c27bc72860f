/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/terminal.h"
#include "ctl/verb-table.h"

enum { ANY_NUMBER = 0x10000, TAKERS_MAX = 6, HELP_INDENT = 38 };

#define POD    "/var/lib/kubelet/pods/A/volumes/v"
#define TABLES (SWITCH_JSON | SWITCH_OUTPUT)

const Verb verbs[] = {
        { GROUP_LOOK, "list", "ls", "[PATTERN...]", 0, ANY_NUMBER, 0, TABLES | SWITCH_ALL | SWITCH_SORT, verb_list,
          "List what is mounted where, and for whom (the default)", "list 'pvc-*' --sort=age" },
        { GROUP_LOOK, "show", NULL, "VOLUME|TARGET...", 1, ANY_NUMBER, 0, TABLES | SWITCH_VOLUME, verb_show,
          "Show volumes and their holders", "show pvc-1" },
        { GROUP_LOOK, "status", NULL, "", 0, 0, 0, SWITCH_JSON, verb_status,
          "Show what the service does, on one screen", "status" },
        { GROUP_LOOK, "history", NULL, "[VOLUME|TARGET]", 0, 1, 0,
          SWITCH_JSON | SWITCH_LINES | SWITCH_SINCE | SWITCH_UNTIL | SWITCH_FAILED | SWITCH_FOLLOW | SWITCH_VOLUME,
          NULL, "Print what was done to a volume, at a target, or to all", "history --failed --since=1h",
          verb_history },
        { GROUP_LOOK, "plan", NULL, "VOLUME SOURCE [TARGET]", 2, 3, METHOD_MOUNT, TABLES, verb_plan,
          "Explain what mount would do, and why", "plan pvc-1 /dev/vdb " POD " --level=s0:c10,c20", .paths = "vep" },
        { GROUP_LOOK, "verify", NULL, "VOLUME|PATH [CONTEXT]", 1, 2, METHOD_VERIFY, TABLES | SWITCH_VOLUME,
          verb_verify, "Compare labels and groups with the expected ones", "verify pvc-1 --depth=full" },

        { GROUP_CHANGE, "mount", NULL, "VOLUME SOURCE [TARGET]", 2, 3, METHOD_MOUNT,
          SWITCH_JSON | SWITCH_MKDIR | SWITCH_PRINT_FLAGS | SWITCH_VERBOSE, verb_mount, "Mount a volume",
          "mount pvc-1 /dev/vdb " POD " --level=s0:c10,c20 --wait", .check = mount_check, .paths = "vep" },
        { GROUP_CHANGE, "adopt", NULL, "VOLUME TARGET|--all ROOT", 1, 2, METHOD_ADOPT,
          TABLES | SWITCH_ALL | SWITCH_YES, verb_adopt, "Record a mount made by others", "adopt pvc-1 " POD,
          .check = adopt_check, .paths = "Vp" },
        { GROUP_CHANGE, "unmount", "umount", "[VOLUME] [TARGET]", 0, 2, METHOD_UNMOUNT,
          SWITCH_JSON | SWITCH_ALL | SWITCH_HOLDER | SWITCH_VOLUME, verb_unmount, "Unmount a volume", "unmount pvc-1",
          .check = unmount_check, .paths = "Vp" },
        { GROUP_CHANGE, "relabel", NULL, "VOLUME [CONTEXT]", 1, 2, METHOD_RELABEL, TABLES | SWITCH_NO_WAIT,
          verb_relabel, "Relabel all files", "relabel pvc-1 system_u:object_r:container_file_t:s0:c10,c20" },
        { GROUP_CHANGE, "ownership", NULL, "VOLUME GID", 2, 2, METHOD_OWNERSHIP, TABLES | SWITCH_NO_WAIT,
          verb_ownership, "Change the group of all files", "ownership pvc-1 2000", .check = ownership_check },
        { GROUP_CHANGE, "forget", NULL, "VOLUME...|--unused[=AGE]", 0, ANY_NUMBER, 0, TABLES | SWITCH_UNUSED,
          verb_forget, "Delete the records of volumes without holders", "forget --unused=30d",
          .check = forget_check },

        { GROUP_JOBS, "jobs", NULL, "", 0, 0, 0, TABLES | SWITCH_WATCH, verb_jobs,
          "List the jobs that wait, and for whom, run or have ended lately", "jobs --watch" },
        { GROUP_JOBS, "cancel", NULL, "JOB", 1, 1, 0, SWITCH_JSON, verb_cancel, "Cancel a job", "cancel 7",
          .check = cancel_check },

        { GROUP_SERVICE, "monitor", NULL, "[VOLUME]", 0, 1, 0, SWITCH_JSON, verb_monitor,
          "Print what happens, until interrupted", "monitor pvc-1" },
        { GROUP_SERVICE, "doctor", NULL, "", 0, 0, 0, SWITCH_JSON, NULL, "Check this node, and say what to do",
          "doctor -q", verb_doctor },
        { GROUP_SERVICE, "config", NULL, "[KEY...]", 0, ANY_NUMBER, 0, SWITCH_JSON | SWITCH_ROOT | SWITCH_CHANGED,
          NULL, "Print the configuration, and which files a setting is from", "config TargetRoots --changed",
          verb_config, .check = config_check },
        { GROUP_SERVICE, "metrics", NULL, "", 0, 0, 0, 0, verb_metrics,
          "Print the metrics in Prometheus' text format", "metrics" },
        { GROUP_SERVICE, "help", NULL, "[VERB]", 0, 1, 0, 0, NULL, "Print this help, or that of a verb",
          "help mount" },
};
const size_t n_verbs = ELEMENTSOF(verbs);

const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < n_verbs; i++)
                if (streq(verbs[i].name, name) || (verbs[i].alias && streq(verbs[i].alias, name)))
                        return &verbs[i];
        return NULL;
}

const Verb *verb_expect(const char *name) {
        /* The words of other programs, and what to type here. */
        static const struct {
                const char *word, *command;
        } synonyms[] = {
                { "conflicts", "selvolctl jobs" },
                { "delete", "selvolctl forget" },
                { "describe", "selvolctl show" },
                { "events", "selvolctl monitor" },
                { "get", "selvolctl list" },
                { "inspect", "selvolctl show" },
                { "logs", "selvolctl history" },
                { "mnt", "selvolctl mount" },
                { "reload", "systemctl reload selvold" },
                { "rm", "selvolctl forget" },
                { "version", "selvolctl --version" },
        };
        const Verb *v = verb_find(name);

        if (v)
                return v;
        for (size_t i = 0; i < ELEMENTSOF(synonyms); i++)
                if (streq(synonyms[i].word, name)) {
                        (void) report_usage("Unknown command '%s'. Type: %s", name, synonyms[i].command);
                        return NULL;
                }
        (void) report_usage("Unknown command '%s'. See 'selvolctl --help'.", name);
        return NULL;
}

bool verb_takes(const Verb *v, const Option *o) {
        return (o->methods & v->methods) || (o->bit & (v->switches | SWITCHES_COMMON));
}

static int refuse_option(const Verb *v, const Option *o) {
        _cleanup_strv_ char **takers = NULL;
        _cleanup_free_ char *list = NULL;

        for (size_t i = 0; i < n_verbs; i++)
                if (verb_takes(&verbs[i], o) && strv_extend(&takers, verbs[i].name) < 0)
                        return -ENOMEM;
        if (strv_length(takers) > TAKERS_MAX)
                return report_usage("Option --%s is not for '%s'.", o->name, v->name);
        list = strv_join(takers, ", ");
        return report_usage("Option --%s is not for '%s' (only for %s).", o->name, v->name, strempty(list));
}

int verb_check(const Verb *v, Args *a) {
        int r;

        r = args_read_o(a, !(v->switches & SWITCH_OUTPUT) || (v->methods & METHOD_MOUNT));
        if (r != 0)
                return r;
        if (a->n_operands < v->min || a->n_operands > v->max)
                return report_usage("'%s' takes %s. See 'selvolctl %s --help'.", v->name,
                                    isempty(v->operands) ? "no operands" : v->operands, v->name);
        for (int i = 0; i < a->n_operands; i++)
                if (!utf8_is_valid(a->operands[i]))
                        return report_usage("'%s' is not UTF-8.", a->operands[i]);
        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (args_have_option(a, i) && !verb_takes(v, &o))
                        return refuse_option(v, &o);
        }
        if (args_ask_for(a, "name") && v->run != verb_list)
                return report_usage("--output=name is only for 'list'.");
        r = v->paths ? args_clean_paths(a, v->paths) : 0;
        return r == 0 && v->check ? v->check(a) : r;
}

/* --- help --- */

/* Prints a description in the column of all descriptions; used: the columns before it. */
static void print_description(int used, const char *description) {
        printf("%*s%s\n", used < HELP_INDENT ? HELP_INDENT - used : 1, "", description);
}

static void print_option(const Option *o) {
        _cleanup_free_ char *words = o->values && !streq(o->argument, "BOOL") ? format_words(o->values) : NULL;
        _cleanup_free_ char *text = strdup_printf("%s%s%s", o->description, words ? ": " : "", strempty(words));
        char letter[] = { '-', o->letter, '\0' };

        print_description(printf("  %2s --%s%s%s%s%s", o->letter ? letter : "", o->name, o->may_omit ? "[" : "",
                                 o->argument ? "=" : "", strempty(o->argument), o->may_omit ? "]" : ""),
                          strempty(text));
}

/* Prints the options of a verb in groups, which begin with an option of the table. */
static void print_options(const Verb *v) {
        static const struct {
                size_t first;
                const char *heading;
        } groups[] = {
                { OPTION_SELINUX_LEVEL, "Label" }, { OPTION_FS_TYPE, "Mount" },
                { OPTION_FS_GROUP, "Group" },      { OPTION_USER_NAMESPACE, "Holder and files" },
                { OPTION_WAIT, "Waiting" },        { REQUEST_OPTIONS, "Output, and the command itself" },
        };

        for (size_t g = 0; g < ELEMENTSOF(groups); g++) {
                const size_t end = g + 1 < ELEMENTSOF(groups) ? groups[g + 1].first : OPTIONS;
                bool told = false;

                for (size_t i = groups[g].first; i < end; i++) {
                        Option o = option_get(i);

                        if (!verb_takes(v, &o))
                                continue;
                        if (!told)
                                printf("\n%s:\n", groups[g].heading);
                        told = true;
                        print_option(&o);
                }
        }
}

static void print_program(void) {
        static const char *const headings[VERB_GROUPS] = {
                [GROUP_LOOK] = "Look at volumes:",
                [GROUP_CHANGE] = "Change volumes:",
                [GROUP_JOBS] = "Jobs:",
                [GROUP_SERVICE] = "Other:",
        };

        puts("selvolctl [OPTIONS...] VERB ...\n\n"
             "List, explain, mount and change the volumes of selvol.");
        for (size_t g = 0; g < VERB_GROUPS; g++) {
                printf("\n%s\n", headings[g]);
                for (size_t i = 0; i < n_verbs; i++)
                        if (verbs[i].group == g)
                                print_description(printf("  %s %s", verbs[i].name, verbs[i].operands),
                                                  verbs[i].description);
        }
        puts("\nCommon options:");
        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (o.bit & (SWITCHES_COMMON | SWITCH_JSON))
                        print_option(&o);
        }
        puts("\n'selvolctl VERB --help' lists all options of a verb, and has an example.\n\n"
             "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 conflict with another user of the volume,\n"
             "4 not authorized, 5 verify found a mismatch, 6 timed out, 7 not allowed or not possible here.\n\n"
             "See selvolctl(1) for details.");
}

void help_print(const Verb *v) {
        if (!v) {
                print_program();
                return;
        }
        printf("selvolctl [OPTIONS...] %s%s%s\n\n%s.\n", v->name, v->operands[0] ? " " : "", v->operands,
               v->description);
        if (v->alias)
                printf("'selvolctl %s' is the same.\n", v->alias);
        printf("\nExample: selvolctl %s\n", v->example);
        print_options(v);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/suggest.h"
#include "ctl/terminal.h"
#include "ctl/verb-table.h"

enum { ANY_NUMBER = 0x10000, TAKERS_MAX = 6 };

const Verb verbs[] = {
        { GROUP_LOOK, "list", "ls", "", 0, 0, 0, SWITCH_JSON, verb_list, "List the volumes (the default)" },
        { GROUP_LOOK, "show", NULL, "VOLUME|TARGET...", 1, ANY_NUMBER, 0, SWITCH_JSON, verb_show,
          "Show volumes and their holders" },
        { GROUP_LOOK, "status", NULL, "", 0, 0, 0, SWITCH_JSON, verb_status,
          "Show what the service does, on one screen" },
        { GROUP_LOOK, "history", NULL, "[VOLUME|TARGET]", 0, 1, 0, SWITCH_JSON | SWITCH_LINES, NULL,
          "Print what was done to a volume, at a target, or to all", verb_history },
        { GROUP_LOOK, "plan", NULL, "VOLUME SOURCE TARGET", 3, 3, METHOD_MOUNT, SWITCH_JSON, verb_plan,
          "Explain what mount would do, and why", .paths = "vep" },
        { GROUP_LOOK, "verify", NULL, "VOLUME|PATH [CONTEXT]", 1, 2, METHOD_VERIFY, SWITCH_JSON, verb_verify,
          "Compare labels and groups with the expected ones" },

        { GROUP_CHANGE, "mount", NULL, "VOLUME SOURCE TARGET", 3, 3, METHOD_MOUNT, SWITCH_JSON, verb_mount,
          "Mount a volume", .paths = "vep" },
        { GROUP_CHANGE, "adopt", NULL, "VOLUME TARGET|--all ROOT", 1, 2, METHOD_ADOPT,
          SWITCH_JSON | SWITCH_ALL | SWITCH_YES, verb_adopt, "Record a mount made by others", .check = adopt_check,
          .paths = "vp" },
        { GROUP_CHANGE, "unmount", "umount", "[VOLUME] TARGET", 1, 2, METHOD_UNMOUNT, SWITCH_JSON, verb_unmount,
          "Unmount a volume", .check = unmount_check, .paths = "vp" },
        { GROUP_CHANGE, "relabel", NULL, "VOLUME [CONTEXT]", 1, 2, METHOD_RELABEL, SWITCH_JSON | SWITCH_NO_WAIT,
          verb_relabel, "Relabel all files" },
        { GROUP_CHANGE, "ownership", NULL, "VOLUME GID", 2, 2, METHOD_OWNERSHIP, SWITCH_JSON | SWITCH_NO_WAIT,
          verb_ownership, "Change the group of all files", .check = ownership_check },
        { GROUP_CHANGE, "forget", NULL, "VOLUME...|--unused[=AGE]", 0, ANY_NUMBER, 0, SWITCH_JSON | SWITCH_UNUSED,
          verb_forget, "Delete the records of volumes without holders", .check = forget_check },

        { GROUP_JOBS, "jobs", NULL, "", 0, 0, 0, SWITCH_JSON | SWITCH_WATCH, verb_jobs,
          "List the jobs that wait, run or have ended lately" },
        { GROUP_JOBS, "conflicts", NULL, "", 0, 0, 0, SWITCH_JSON, verb_conflicts, "Show who waits for whom" },
        { GROUP_JOBS, "cancel", NULL, "JOB", 1, 1, 0, SWITCH_JSON, verb_cancel, "Cancel a job",
          .check = cancel_check },

        { GROUP_SERVICE, "monitor", NULL, "", 0, 0, 0, SWITCH_JSON, verb_monitor,
          "Print what happens, until interrupted" },
        { GROUP_SERVICE, "doctor", NULL, "", 0, 0, 0, SWITCH_JSON, NULL, "Check this node, and say what to do",
          verb_doctor },
        { GROUP_SERVICE, "config", NULL, "[ROOT]", 0, 1, 0, SWITCH_JSON, NULL,
          "Print the configuration (of the system in ROOT), and which file a setting is from", verb_config },
        { GROUP_SERVICE, "metrics", NULL, "", 0, 0, 0, 0, verb_metrics,
          "Print the metrics in Prometheus' text format" },
        { GROUP_SERVICE, "help", NULL, "[VERB]", 0, 1, 0, 0, NULL, "Print this help, or that of a verb" },
};
const size_t n_verbs = ELEMENTSOF(verbs);

const Verb *verb_find(const char *name) {
        for (size_t i = 0; i < n_verbs; i++)
                if (streq(verbs[i].name, name) || (verbs[i].alias && streq(verbs[i].alias, name)))
                        return &verbs[i];
        return NULL;
}

const Verb *verb_expect(const char *name) {
        const Verb *v = verb_find(name);
        Suggestion s = { 0 };

        if (v)
                return v;
        for (size_t i = 0; i < n_verbs; i++)
                suggest_consider(&s, name, verbs[i].name);
        if (s.word)
                (void) report_usage("Unknown command '%s'. Did you mean '%s'? See 'selvolctl --help'.", name, s.word);
        else
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

static int check_options(const Verb *v, const Args *a) {
        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (args_have_option(a, i) && !verb_takes(v, &o))
                        return refuse_option(v, &o);
        }
        return 0;
}

int verb_check(const Verb *v, Args *a) {
        int r;

        if (a->n_operands < v->min || a->n_operands > v->max)
                return report_usage("'%s' takes %s. See 'selvolctl %s --help'.", v->name,
                                    isempty(v->operands) ? "no operands" : v->operands, v->name);
        for (int i = 0; i < a->n_operands; i++)
                if (!utf8_is_valid(a->operands[i]))
                        return report_usage("'%s' is not UTF-8.", a->operands[i]);
        r = check_options(v, a);
        if (r == 0 && v->paths)
                r = args_clean_paths(a, v->paths);
        return r == 0 && v->check ? v->check(a) : r;
}

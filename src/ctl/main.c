/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>
#include <signal.h>

#include "basic/string-util.h"
#include "ctl/agent.h"
#include "ctl/bus.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "selvol-config.h"

enum { ANY_NUMBER = 0x10000 };

static const Verb verbs[] = {
        { "list", "", 0, 0, 0, SWITCH_JSON, verb_list, "List the volumes (the default)" },
        { "show", "VOLUME|TARGET...", 1, ANY_NUMBER, 0, SWITCH_JSON | SWITCH_HISTORY, verb_show,
          "Show volumes and their holders" },
        { "plan", "VOLUME SOURCE TARGET", 3, 3, METHOD_MOUNT, SWITCH_JSON, verb_plan,
          "Explain what mount would do, and why" },
        { "mount", "VOLUME SOURCE TARGET", 3, 3, METHOD_MOUNT, SWITCH_JSON, verb_mount, "Mount a volume" },
        { "adopt", "VOLUME TARGET", 2, 2, METHOD_ADOPT, SWITCH_JSON, verb_adopt, "Record a mount made by others" },
        { "unmount", "[VOLUME] TARGET", 1, 2, METHOD_UNMOUNT, SWITCH_JSON, verb_unmount, "Unmount a volume" },
        { "verify", "VOLUME|PATH [CONTEXT]", 1, 2, METHOD_VERIFY, SWITCH_JSON, verb_verify,
          "Compare labels and groups with the expected ones" },
        { "relabel", "VOLUME [CONTEXT]", 1, 2, METHOD_RELABEL, SWITCH_JSON | SWITCH_NO_WAIT, verb_relabel,
          "Give all files the context" },
        { "ownership", "VOLUME GID", 2, 2, METHOD_OWNERSHIP, SWITCH_JSON | SWITCH_NO_WAIT, verb_ownership,
          "Give all files to the group" },
        { "jobs", "", 0, 0, 0, SWITCH_JSON, verb_jobs, "List the jobs that wait, run or have ended lately" },
        { "cancel", "JOB", 1, 1, 0, SWITCH_JSON, verb_cancel, "Cancel a job" },
        { "forget", "VOLUME...", 1, ANY_NUMBER, 0, 0, verb_forget, "Delete the records of volumes without holders" },
        { "metrics", "", 0, 0, 0, 0, verb_metrics, "Print the metrics in Prometheus' text format" },
};

static const Verb *find_verb(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(verbs); i++)
                if (streq(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

static int run_verb(const Args *a) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(agent_stopp) pid_t agent = 0;
        const Verb *v = find_verb(a->verb ? a->verb : "list");
        int r;

        if (!v) {
                report_error(a->verb, "unknown verb, see 'selvolctl --help'");
                return EXIT_USAGE;
        }
        if (args_have(a, SWITCH_HELP)) {
                args_help(verbs, ELEMENTSOF(verbs), a->verb ? v : NULL);
                return 0;
        }
        r = args_check(a, v);
        if (r != 0)
                return r;
        r = bus_open(a, &bus);
        if (r != 0)
                return r;
        if (!args_have(a, SWITCH_NO_ASK_PASSWORD))
                agent = agent_start();
        return v->run(bus, a);
}

static int run(int argc, char **argv) {
        _cleanup_(args_done) Args a = { 0 };
        int r;

        r = args_parse(argc, argv, &a);
        if (r != 0)
                return r;
        if (args_have(&a, SWITCH_VERSION)) {
                puts("selvolctl " SELVOL_VERSION);
                return 0;
        }
        return run_verb(&a);
}

int main(int argc, char **argv) {
        int r;

        (void) setlocale(LC_ALL, "");
        (void) setlocale(LC_NUMERIC, "C"); /* of options and JSON */
        r = run(argc, argv);
        if (r < 0) {
                report_error(NULL, strerror(-r));
                r = EXIT_FAILURE;
        }
        if (fflush(stdout) != 0 || ferror(stdout)) {
                report_error(NULL, "can't write to standard output");
                return r != 0 ? r : EXIT_FAILURE;
        }
        /* A shell that runs a script ends it only if it sees this. */
        if (r > EXIT_SIGNAL)
                (void) raise(r - EXIT_SIGNAL);
        return r;
}

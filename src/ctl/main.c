/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <locale.h>
#include <signal.h>

#include "basic/string-util.h"
#include "ctl/agent.h"
#include "ctl/bus.h"

#include "ctl/terminal.h"
#include "ctl/verb-table.h"
#include "selvol-config.h"

static int run_help(const Args *a) {
        const Verb *v = NULL;

        if (a->n_operands > 0) {
                v = verb_expect(a->operands[0]);
                if (!v)
                        return EXIT_USAGE;
        }
        help_print(v);
        return 0;
}

/* Whether the verb starts selvold: verbs that show whether selvold runs don't. */
static bool needs_service(const Verb *v, const Args *a) {
        return v->run != verb_status && v->run != verb_monitor && !args_have(a, SWITCH_WATCH);
}

static int run_verb(Args *a) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(agent_stopp) pid_t agent = 0;
        const Verb *v = verb_expect(a->verb ? a->verb : "list");
        int r;

        if (!v)
                return EXIT_USAGE;
        if (args_have(a, SWITCH_HELP)) {
                help_print(a->verb ? v : NULL);
                return 0;
        }
        r = verb_check(v, a);
        if (r != 0)
                return r;
        if (v->run_alone)
                return v->run_alone(a);
        if (!v->run)
                return run_help(a);
        r = bus_open(a, needs_service(v, a), &bus);
        if (r != 0)
                return r;
        if (!args_have(a, SWITCH_NO_ASK_PASSWORD))
                agent = agent_start();
        return v->run(bus, a);
}

static int run_selvolctl(int argc, char **argv) {
        _cleanup_(args_done) Args a = { 0 };
        int r;

        /* Before getopt_long(), which would refuse an incomplete word. */
        if (argc > 1 && streq(argv[1], "__complete"))
                return complete_print(argv + 2, argc - 2);
        r = args_parse(argc, argv, &a);
        if (r != 0)
                return r;
        if (args_have(&a, SWITCH_VERSION)) {
                puts("selvolctl " SELVOL_VERSION);
                return 0;
        }
        if (args_have(&a, SWITCH_NO_PAGER))
                (void) setenv("SYSTEMD_PAGER", "", 1);
        r = run_verb(&a);
        return r < 0 && args_have(&a, SWITCH_JSON) ? bus_report_errno(&a, r) : r;
}

int main(int argc, char **argv) {
        int r;

        (void) setlocale(LC_ALL, "");
        (void) setlocale(LC_NUMERIC, "C"); /* for options and JSON */
        r = run_selvolctl(argc, argv);
        if (r < 0) {
                report_error(NULL, strerror(-r));
                r = EXIT_FAILURE;
        }
        if ((fflush(stdout) != 0 || ferror(stdout)) && !pager_is_open()) {
                report_error(NULL, "Can't write to standard output.");
                return r != 0 ? r : EXIT_FAILURE;
        }
        pager_close();
        /* A shell ends its script only if a signal ended the program. */
        if (r > EXIT_SIGNAL)
                (void) raise(r - EXIT_SIGNAL);
        return r;
}

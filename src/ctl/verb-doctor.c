/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

enum { STATE_WIDTH = 9, CHECK_WIDTH = 10 };

int doctor_check(Doctor *d) {
        static const Check *const lists[] = { service_checks, node_checks };

        for (size_t i = 0; i < ELEMENTSOF(lists); i++)
                for (const Check *c = lists[i]; c->name; c++) {
                        d->check = c->name;
                        c->look(d);
                }
        return d->error;
}

static int print_finding(const json_t *finding) {
        _cleanup_free_ char *text = format_escaped(answer_string(finding, "Text")),
                            *remedy = format_escaped(answer_string(finding, "Remedy"));
        const char *state = answer_string(finding, "State");
        const char *color = terminal_has_colors(STDOUT_FILENO) ? field_color("State", state) : NULL;

        if (!text || !remedy)
                return -ENOMEM;

        printf("%s%-*s%s%-*s%s\n", strempty(color), STATE_WIDTH, state, color ? COLOR_OFF : "", CHECK_WIDTH,
               answer_string(finding, "Check"), text);
        if (!isempty(remedy))
                printf("%*sTo do: %s\n", STATE_WIDTH + CHECK_WIDTH, "", remedy);
        return 0;
}

static void print_count(const char *before, size_t n, const char *what) {
        printf("%s%zu %s%s", before, n, what, n == 1 ? "" : "s");
}

static int print_findings(const Args *a, const Doctor *d) {
        const json_t *finding;
        size_t i;

        if (args_have(a, SWITCH_JSON))
                return print_json(a, d->findings);
        json_array_foreach (d->findings, i, finding) {
                int r;

                if (args_have(a, SWITCH_QUIET) && isempty(answer_string(finding, "Remedy")))
                        continue;
                r = print_finding(finding);
                if (r < 0)
                        return r;
        }
        if (args_have(a, SWITCH_NO_LEGEND) || args_have(a, SWITCH_QUIET))
                return 0;
        print_count("\n", d->n_found[PROBLEM], "problem");
        print_count(", ", d->n_found[WARNING], "warning");
        if (d->n_found[NOTE] > 0)
                print_count(", ", d->n_found[NOTE], "note");
        puts(".");
        return 0;
}

int verb_doctor(const Args *a) {
        _cleanup_(doctor_end) Doctor d = { 0 };
        int r;

        r = doctor_begin(&d);
        if (r >= 0)
                r = doctor_check(&d);
        if (r >= 0)
                r = print_findings(a, &d);
        if (r < 0)
                return r;
        return d.n_found[PROBLEM] > 0 ? EXIT_FAILURE : 0;
}

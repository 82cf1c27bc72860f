/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/doctor.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

enum { STATE_WIDTH = 9, CHECK_WIDTH = 10 };

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

static size_t count_state(const json_t *findings, const char *state) {
        const json_t *finding;
        size_t i, n = 0;

        json_array_foreach (findings, i, finding)
                n += streq(answer_string(finding, "State"), state);
        return n;
}

static int print_findings(const Args *a, const json_t *findings) {
        size_t problems = count_state(findings, "problem"), warnings = count_state(findings, "warning"), i;
        const json_t *finding;
        int r;

        if (args_have(a, SWITCH_JSON))
                return print_json(a, findings);
        json_array_foreach (findings, i, finding) {
                if (args_have(a, SWITCH_QUIET) && isempty(answer_string(finding, "Remedy")))
                        continue;
                r = print_finding(finding);
                if (r < 0)
                        return r;
        }
        if (!args_have(a, SWITCH_NO_LEGEND) && !args_have(a, SWITCH_QUIET))
                printf("\n%zu problem%s, %zu warning%s.\n", problems, problems == 1 ? "" : "s", warnings,
                       warnings == 1 ? "" : "s");
        return 0;
}

int verb_doctor(const Args *a) {
        _cleanup_(facts_done) NodeFacts facts = { 0 };
        _cleanup_json_ json_t *findings = json_array();
        int r;

        if (!findings)
                return -ENOMEM;
        r = facts_read(&facts);
        if (r < 0)
                return r;
        r = facts_read_bus(&facts);
        if (r < 0)
                return r;
        r = facts_read_denials(&facts);
        if (r < 0)
                return r;
        r = facts_judge(&facts, findings);
        if (r < 0)
                return r;
        r = print_findings(a, findings);
        if (r < 0)
                return r;
        return count_state(findings, "problem") > 0 ? EXIT_FAILURE : 0;
}

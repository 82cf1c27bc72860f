/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/history.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"

enum { LINES_DEFAULT = 64 };

/* Only for a person at a terminal: a script reads no lines. */
static void print_empty(const Args *a, const char *subject) {
        _cleanup_free_ char *escaped = subject ? format_string(subject) : NULL;

        if (args_have(a, SWITCH_QUIET) || !isatty(STDOUT_FILENO))
                return;
        printf("The history%s%s is empty.\n", escaped ? " of " : "", strempty(escaped));
}

/* --json prints each entry as a line, for a reader that follows. */
static int print_new(const json_t *entries, void *userdata) {
        const Args *a = userdata;
        const json_t *entry;
        size_t i;
        int r = 0;

        if (!args_have(a, SWITCH_JSON)) {
                r = history_print(entries, "");
                return r < 0 ? r : fflush(stdout) != 0 ? -errno : 0;
        }
        json_array_foreach (entries, i, entry)
                if (r >= 0)
                        r = print_json_line(entry);
        return r;
}

static int print_history(const Args *a, const HistoryQuery *q) {
        _cleanup_json_ json_t *entries = json_array();
        int r;

        if (!entries)
                return -ENOMEM;
        r = history_read(q, entries);
        if (r < 0)
                return r;
        if (json_array_size(entries) == 0 && !args_have(a, SWITCH_JSON)) {
                if (q->max > 0)
                        print_empty(a, q->subject);
                return 0;
        }
        pager_open();
        return args_have(a, SWITCH_JSON) ? print_json(a, entries) : history_print(entries, "");
}

int verb_history(const Args *a) {
        const bool bounded = args_have(a, SWITCH_SINCE) || args_have(a, SWITCH_UNTIL);
        const HistoryQuery q = {
                .subject = a->n_operands > 0 ? a->operands[0] : NULL,
                .since_usec = a->since_usec,
                .until_usec = a->until_usec,
                .max = args_have(a, SWITCH_LINES) ? a->lines
                       : bounded                  ? SIZE_MAX
                                                  : LINES_DEFAULT,
                .failed = args_have(a, SWITCH_FAILED),
        };
        int r;

        r = args_have(a, SWITCH_FOLLOW) ? history_follow(&q, print_new, (void *) a) : print_history(a, &q);
        if (r < 0 && history_explain(r))
                return report_failure(a, NULL,
                                      r == -EACCES ? SD_BUS_ERROR_ACCESS_DENIED : SD_BUS_ERROR_FILE_NOT_FOUND,
                                      history_explain(r));
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-bus.h>

#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/format.h"
#include "ctl/history.h"
#include "ctl/pager.h"
#include "ctl/print.h"
#include "ctl/verbs.h"

enum { LINES_DEFAULT = 64 };

/* Only for a person at a terminal: a script reads no lines. */
static void print_empty(const Args *a, const char *subject) {
        _cleanup_free_ char *escaped = subject ? format_string(subject) : NULL;

        if (args_have(a, SWITCH_QUIET) || !isatty(STDOUT_FILENO))
                return;
        printf("The history%s%s is empty.\n", escaped ? " of " : "", strempty(escaped));
}

int verb_history(const Args *a) {
        const char *subject = a->n_operands > 0 ? a->operands[0] : NULL;
        size_t max = args_have(a, SWITCH_LINES) ? a->lines : LINES_DEFAULT;
        _cleanup_json_ json_t *entries = json_array();
        int r;

        if (!entries)
                return -ENOMEM;
        r = history_read(subject, 0, NULL, max, entries);
        if (r < 0 && history_explain(r))
                return report_failure(a, NULL,
                                      r == -EACCES ? SD_BUS_ERROR_ACCESS_DENIED : SD_BUS_ERROR_FILE_NOT_FOUND,
                                      history_explain(r));
        if (r < 0)
                return r;
        if (json_array_size(entries) == 0 && !args_have(a, SWITCH_JSON)) {
                if (max > 0)
                        print_empty(a, subject);
                return 0;
        }
        pager_open(a);
        return args_have(a, SWITCH_JSON) ? print_json(a, entries) : history_print(entries, "");
}

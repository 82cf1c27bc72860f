/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/format.h"
#include "ctl/terminal.h"

bool terminal_is_capable(int fd) {
        const char *term = getenv("TERM");

        return isatty(fd) && !isempty(term) && !streq(term, "dumb");
}

bool terminal_has_colors(int fd) {
        return terminal_is_capable(fd) && isempty(getenv("NO_COLOR"));
}

static void report(const char *subject, const char *message, const char *color) {
        _cleanup_free_ char *what = format_string(strempty(subject)), *why = format_escaped(message);

        fprintf(stderr, "selvolctl: %s%s%s%s%s\n", strempty(what), isempty(what) ? "" : ": ", strempty(color),
                strempty(why), color ? COLOR_OFF : "");
}

void report_error(const char *subject, const char *message) {
        report(subject, message, terminal_has_colors(STDERR_FILENO) ? COLOR_RED : NULL);
}

void report_note(const char *subject, const char *message) {
        report(subject, message, NULL);
}

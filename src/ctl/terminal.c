/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "basic/string-util.h"
#include "ctl/exit-code.h"
#include "ctl/format.h"
#include "ctl/terminal.h"

enum { WIDTH_DEFAULT = 80, HEIGHT_DEFAULT = 24 };

static int kept = -EBADF; /* a copy of the earlier standard output */

void terminal_keep(void) {
        if (kept < 0)
                kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
}

static int terminal_of(int fd) {
        return fd == STDOUT_FILENO && kept >= 0 ? kept : fd;
}

bool terminal_is_capable(int fd) {
        const char *term = getenv("TERM");

        return isatty(terminal_of(fd)) && !isempty(term) && !streq(term, "dumb");
}

/* Returns the size that the terminal reports, or else that of the variable, or else the default. */
static size_t choose_size(unsigned short said, const char *variable, size_t otherwise) {
        const char *value = getenv(variable);
        unsigned long long n = said;

        if (n == 0 && (!value || parse_u64(value, &n) < 0 || n == 0))
                n = otherwise;
        return (size_t) n;
}

static struct winsize get_size(int fd) {
        struct winsize size;

        return ioctl(terminal_of(fd), TIOCGWINSZ, &size) >= 0 ? size : (struct winsize){ 0 };
}

size_t terminal_width(int fd) {
        return choose_size(get_size(fd).ws_col, "COLUMNS", WIDTH_DEFAULT);
}

size_t terminal_height(int fd) {
        return choose_size(get_size(fd).ws_row, "LINES", HEIGHT_DEFAULT);
}

bool terminal_has_colors(int fd) {
        return terminal_is_capable(fd) && isempty(getenv("NO_COLOR"));
}

/* Whether the message names the subject already, as most messages do. */
static bool message_names(const char *message, const char *subject) {
        size_t n = strlen(subject);

        for (const char *p = message; n > 0 && (p = strcasestr(p, subject)); p++)
                if ((p == message || strchr(" '(", p[-1])) && (p[n] == '\0' || strchr(" '.,:;)", p[n])))
                        return true;
        return false;
}

static void print_report(const char *subject, const char *message, const char *color) {
        _cleanup_free_ char *what = format_string(subject && !message_names(message, subject) ? subject : ""),
                            *why = format_escaped(message);

        fprintf(stderr, "selvolctl: %s%s%s%s%s\n", strempty(what), isempty(what) ? "" : ": ", strempty(color),
                strempty(why), color ? COLOR_OFF : "");
}

void report_error(const char *subject, const char *message) {
        print_report(subject, message, terminal_has_colors(STDERR_FILENO) ? COLOR_RED : NULL);
}

int report_usage(const char *format, ...) {
        _cleanup_free_ char *message = NULL;
        va_list ap;

        va_start(ap, format);
        message = strdup_vprintf(format, ap);
        va_end(ap);
        report_error(NULL, strempty(message));
        return EXIT_USAGE;
}

void report_note(const char *subject, const char *message) {
        print_report(subject, message, NULL);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/progress-line.h"
#include "ctl/terminal.h"

enum { BAR_MIN = 10, BAR_MAX = 40 };

#define CLEAR_LINE "\r\033[K"

void progress_update(JobProgress *p, const json_t *properties) {
        const struct {
                const char *name;
                uint64_t *target;
        } known[] = {
                { "EntriesDone", &p->done },
                { "EntriesTotal", &p->total },
                { "EntriesPerSecond", &p->per_second },
                { "ExpectedEndUSec", &p->expected_end_usec },
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++) {
                const json_t *value = json_object_get(properties, known[i].name);

                if (json_is_integer(value))
                        *known[i].target = (uint64_t) json_integer_value(value);
        }
}

unsigned int progress_percent(uint64_t done, uint64_t total) {
        if (total == 0)
                return 0;
        return done >= total ? 100 : (unsigned int) (100.0 * (double) done / (double) total);
}

uint64_t progress_remaining(uint64_t expected_end_usec) {
        uint64_t now = now_realtime_usec();

        if (expected_end_usec <= now)
                return 0;
        return ((expected_end_usec - now - 1) / USEC_PER_SEC + 1) * USEC_PER_SEC;
}

/* Appends a part if it fits. */
_printf_(3, 4) static void append_part(char *line, size_t width, const char *format, ...) {
        char text[64];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        if (strlen(line) + strlen("  ") + strlen(text) > width + (line[0] == '\0' ? strlen("  ") : 0))
                return;
        if (line[0] != '\0')
                strcat(line, "  ");
        strcat(line, text);
}

static void append_time_left(char *line, size_t width, uint64_t expected_end_usec) {
        uint64_t remaining = progress_remaining(expected_end_usec);
        _cleanup_free_ char *time = NULL;

        if (remaining == 0)
                return;
        time = format_seconds(remaining / USEC_PER_SEC);
        if (time)
                append_part(line, width, "%s left", time);
}

/* Inserts a bar before the line, in the columns that the line leaves free. */
static void prepend_bar(char *line, size_t width, unsigned int percent) {
        size_t used = strlen(line) + strlen("[]  "), n, full;

        if (used + BAR_MIN > width)
                return;
        n = width - used < BAR_MAX ? width - used : BAR_MAX;
        full = n * percent / 100;
        memmove(line + n + strlen("[]  "), line, strlen(line) + 1);
        line[0] = '[';
        memset(line + 1, '#', full);
        memset(line + 1 + full, '-', n - full);
        line[1 + n] = ']';
        memset(line + 1 + n + 1, ' ', 2);
}

void progress_format_numbers(const JobProgress *p, size_t width, char ret[static PROGRESS_LINE_MAX + 1]) {
        assert(width <= PROGRESS_LINE_MAX);

        ret[0] = '\0';
        if (p->total > 0) {
                append_part(ret, width, "%3u%%", progress_percent(p->done, p->total));
                append_part(ret, width, "%" PRIu64 "/%" PRIu64, p->done, p->total);
        } else if (p->done > 0)
                append_part(ret, width, "%" PRIu64 " entries", p->done);
        if (p->per_second > 0)
                append_part(ret, width, "%" PRIu64 "/s", p->per_second);
        append_time_left(ret, width, p->expected_end_usec);
}

/* Formats the numbers, behind a bar if there is room. */
static void format_line(const JobProgress *p, size_t width, char ret[static PROGRESS_LINE_MAX + 1]) {
        progress_format_numbers(p, width, ret);
        if (p->total > 0 && ret[0] != '\0')
                prepend_bar(ret, width, progress_percent(p->done, p->total));
}

/* The width of the terminal less one column: after a character in the last column, terminals differ in the
 * place of the cursor. */
static size_t usable_width(void) {
        size_t n = terminal_width(STDERR_FILENO);

        return n - 1 < PROGRESS_LINE_MAX ? n - 1 : PROGRESS_LINE_MAX;
}

void progress_draw(ProgressLine *l, const JobProgress *p) {
        char line[PROGRESS_LINE_MAX + 1];

        format_line(p, usable_width(), line);
        if (streq(line, l->shown))
                return;
        /* One write(2) avoids flicker. */
        (void) dprintf(STDERR_FILENO, CLEAR_LINE "%s", line);
        strcpy(l->shown, line);
}

void progress_clear(ProgressLine *l) {
        if (l->shown[0] != '\0')
                (void) dprintf(STDERR_FILENO, CLEAR_LINE);
        l->shown[0] = '\0';
}

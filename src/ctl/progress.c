/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <sys/ioctl.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/format.h"
#include "ctl/progress.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MAX = 1000, BAR_MIN = 10, BAR_MAX = 40 };

#define CLEAR_LINE "\r\033[K"

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

/* Appends if there is room, and takes the text over. Returns -ENOMEM if there is none. */
static int append(char **line, size_t width, char *text) {
        _cleanup_free_ char *t = text, *longer = NULL;

        if (!t)
                return -ENOMEM;
        longer = strdup_printf("%s%s%s", *line, isempty(*line) ? "" : "  ", t);
        if (!longer)
                return -ENOMEM;
        if (strlen(longer) <= width) {
                free(*line);
                *line = TAKE_PTR(longer);
        }
        return 0;
}

static int append_time_left(char **line, size_t width, uint64_t expected_end_usec) {
        uint64_t remaining = progress_remaining(expected_end_usec);
        _cleanup_free_ char *time = NULL;

        if (remaining == 0)
                return 0;
        time = format_seconds(remaining / USEC_PER_SEC);
        return time ? append(line, width, strdup_printf("%s left", time)) : -ENOMEM;
}

/* The bar comes first and gets what the rest leaves over. */
static int prepend_bar(char **line, size_t width, unsigned int percent) {
        size_t used = strlen(*line) + strlen("[]  "), n, full;
        char bar[BAR_MAX + 1], *longer;

        if (used + BAR_MIN > width)
                return 0;
        n = width - used < BAR_MAX ? width - used : BAR_MAX;
        full = n * percent / 100;
        memset(bar, '#', full);
        memset(bar + full, '-', n - full);
        bar[n] = '\0';

        longer = strdup_printf("[%s]  %s", bar, *line);
        if (!longer)
                return -ENOMEM;
        free(*line);
        *line = longer;
        return 0;
}

char *progress_format(const Progress *p, size_t width) {
        unsigned int percent = progress_percent(p->done, p->total);
        _cleanup_free_ char *line = strdup("");
        int r;

        if (!line)
                return NULL;
        if (p->total > 0) {
                r = append(&line, width, strdup_printf("%3u%%", percent));
                if (r >= 0)
                        r = append(&line, width, strdup_printf("%" PRIu64 "/%" PRIu64, p->done, p->total));
        } else
                r = p->done > 0 ? append(&line, width, strdup_printf("%" PRIu64 " entries", p->done)) : 0;
        if (r >= 0 && p->per_second > 0)
                r = append(&line, width, strdup_printf("%" PRIu64 "/s", p->per_second));
        if (r >= 0)
                r = append_time_left(&line, width, p->expected_end_usec);
        if (r >= 0 && p->total > 0 && !isempty(line))
                r = prepend_bar(&line, width, percent);
        return r < 0 ? NULL : TAKE_PTR(line);
}

/* One column less than there are: after a character in the last one terminals disagree on where the cursor is. */
static size_t usable_width(void) {
        const char *columns = getenv("COLUMNS");
        unsigned long long n = 0;
        struct winsize size;

        if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) >= 0)
                n = size.ws_col;
        if (n == 0 && (!columns || parse_u64(columns, &n) < 0 || n == 0))
                n = WIDTH_DEFAULT;
        return (n < WIDTH_MAX ? n : WIDTH_MAX) - 1;
}

void progress_draw(ProgressLine *l, const Progress *p) {
        char *line;

        if (!l->wanted)
                return;
        line = progress_format(p, usable_width());
        if (!line || streq(line, strempty(l->shown))) {
                free(line);
                return;
        }
        /* In one piece, so that it does not flicker. */
        (void) dprintf(STDERR_FILENO, CLEAR_LINE "%s", line);
        free(l->shown);
        l->shown = line;
}

void progress_clear(ProgressLine *l) {
        if (!isempty(l->shown))
                (void) dprintf(STDERR_FILENO, CLEAR_LINE);
        free(l->shown);
        l->shown = NULL;
}

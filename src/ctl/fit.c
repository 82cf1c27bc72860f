/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <langinfo.h>
#include <wchar.h>

#include "basic/string-util.h"
#include "ctl/fit.h"

/* Reads a character. Returns its bytes, and sets *ret to its columns; both are 0 at the end. */
static size_t next_character(const char *s, size_t *ret) {
        mbstate_t state = { 0 };
        wchar_t c;
        size_t n;
        int width;

        n = mbrtowc(&c, s, MB_CUR_MAX, &state);
        if (n == 0) {
                *ret = 0;
                return 0;
        }
        if (n > MB_CUR_MAX) { /* invalid in the locale */
                *ret = 1;
                return 1;
        }
        width = wcwidth(c);
        *ret = width > 0 ? (size_t) width : 0;
        return n;
}

size_t fit_width(const char *text) {
        size_t sum = 0, width, n;

        for (; (n = next_character(text, &width)) > 0; text += n)
                sum += width;
        return sum;
}

static size_t find_widest(const size_t *widths, const bool *may_shorten, size_t n) {
        size_t widest = n;

        for (size_t i = 0; i < n; i++)
                if (may_shorten[i] && widths[i] > FIT_MIN && (widest == n || widths[i] > widths[widest]))
                        widest = i;
        return widest;
}

void fit_columns(size_t *widths, const bool *may_shorten, size_t n, size_t width) {
        size_t sum = n - 1;

        for (size_t i = 0; i < n; i++)
                sum += widths[i];
        for (; sum > width; sum--) {
                size_t i = find_widest(widths, may_shorten, n);

                if (i == n)
                        return;
                widths[i]--;
        }
}

static const char *ellipsis(void) {
        return streq(nl_langinfo(CODESET), "UTF-8") ? "\u2026" : "...";
}

char *fit_beginning(const char *text, size_t width) {
        size_t left = width - fit_width(ellipsis()), taken, n;
        const char *p = text;

        if (fit_width(text) <= width)
                return strdup(text);
        for (; (n = next_character(p, &taken)) > 0 && taken <= left; p += n)
                left -= taken;
        return strdup_printf("%.*s%s", (int) (p - text), text, ellipsis());
}

char *fit_end(const char *text, size_t width) {
        size_t left = width - fit_width(ellipsis()), all = fit_width(text), taken;
        const char *p = text;

        if (all <= width)
                return strdup(text);
        while (all > left) {
                p += next_character(p, &taken);
                all -= taken;
        }
        return strdup_printf("%s%s", ellipsis(), p);
}

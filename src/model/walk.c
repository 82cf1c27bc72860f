/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>

#include "basic/string-util.h"
#include "model/walk.h"

void walk_result_done(WalkResult *r) {
        for (size_t i = 0; i < r->n_issues; i++) {
                free(r->issues[i].path);
                free(r->issues[i].text);
        }
        free(r->issues);
        strv_free(r->submounts);
        *r = (WalkResult){ 0 };
}

static bool is_of_earlier_cause(const WalkResult *w, size_t i) {
        for (size_t k = 0; k < i; k++)
                if (streq(w->issues[k].text, w->issues[i].text))
                        return true;
        return false;
}

/* "a, b: why": those of the cause of the first. Ends the names after max bytes; returns how many bytes it took. */
static size_t print_alike(FILE *out, const WalkResult *w, size_t first, size_t max, size_t *n_named) {
        enum { NAME_MAX_BYTES = 200, CAUSE_MAX_BYTES = 500 };
        const char *separator = *n_named > 0 ? "; " : "", *cause = w->issues[first].text;
        int n = 0;

        for (size_t i = first; i < w->n_issues && (size_t) n < max; i++) {
                const char *path = w->issues[i].path;
                int length = (int) utf8_length_within(path, NAME_MAX_BYTES);

                if (!streq(w->issues[i].text, cause))
                        continue;
                n += fprintf(out, "%s%.*s%s", separator, length, path, path[length] ? "..." : "");
                separator = ", ";
                ++*n_named;
        }
        n += fprintf(out, ": %.*s", (int) utf8_length_within(cause, CAUSE_MAX_BYTES), cause);
        return (size_t) n;
}

char *walk_describe_failures(const WalkResult *w) {
        enum { PLEASANT = 2048 };
        size_t n = 0, n_named = 0, size = 0;
        char *text = NULL;
        FILE *out;

        out = open_memstream(&text, &size);
        if (!out)
                return NULL;
        for (size_t i = 0; i < w->n_issues && n < PLEASANT; i++)
                if (!is_of_earlier_cause(w, i))
                        n += print_alike(out, w, i, PLEASANT - n, &n_named);
        if (n_named == 0)
                fputs("none of them is named", out);
        else if (w->counts.failed > n_named)
                fprintf(out, "; and %llu more", (unsigned long long) w->counts.failed - (unsigned long long) n_named);
        if (fclose(out) == 0)
                return text;
        free(text);
        return NULL;
}

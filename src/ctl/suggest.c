/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/suggest.h"

/* No verb or option is longer than WORD_MAX. */
enum { WORD_MAX = 32, PREFIX_MIN = 2 };

static unsigned int min_of_three(unsigned int a, unsigned int b, unsigned int c) {
        unsigned int m = a < b ? a : b;

        return m < c ? m : c;
}

/* The number of characters to insert, remove, replace, or exchange with their neighbor to make b of a. */
static unsigned int word_distance(const char *a, const char *b) {
        unsigned int d[WORD_MAX + 1][WORD_MAX + 1];
        size_t m = strlen(a), n = strlen(b);

        for (size_t i = 0; i <= m; i++)
                d[i][0] = (unsigned int) i;
        for (size_t k = 0; k <= n; k++)
                d[0][k] = (unsigned int) k;
        for (size_t i = 1; i <= m; i++)
                for (size_t k = 1; k <= n; k++) {
                        d[i][k] = min_of_three(d[i - 1][k] + 1, d[i][k - 1] + 1,
                                               d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
                        if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                            d[i - 2][k - 2] + 1 < d[i][k])
                                d[i][k] = d[i - 2][k - 2] + 1;
                }
        return d[m][n];
}

void suggest_consider(Suggestion *s, const char *typed, const char *candidate) {
        size_t n = strlen(typed);
        unsigned int d;

        if (n > WORD_MAX || strlen(candidate) > WORD_MAX)
                return;
        d = n >= PREFIX_MIN && startswith(candidate, typed) ? 1 : word_distance(typed, candidate);
        /* Allows one mistake in three characters; with more, the words are unrelated. */
        if (d > (n + 2) / 3 || (s->word && d >= s->distance))
                return;
        *s = (Suggestion){ candidate, d };
}

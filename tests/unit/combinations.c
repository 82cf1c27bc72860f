/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib.h>

#include "combinations.h"

#ifdef __SANITIZE_ADDRESS__
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif

const Flag flags[2] = { { "no", false }, { "yes", true } };

/* SAMPLE is prime, and divides no dimension's number of values: so a sample has each value of each
 * dimension. */
enum { SAMPLE = 31, MANY = 100000, DIMENSIONS_MAX = 24 };

#ifdef SANITIZED
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static void choose(const Dimension *dimensions, size_t n, size_t index, size_t *choice) {
        for (size_t i = n; i-- > 0; index /= dimensions[i].n)
                choice[i] = index % dimensions[i].n;
}

bool combinations_try(const Dimension *dimensions, size_t n, CombinationFunc function, void *data) {
        size_t total = 1, tried = 0, step, choice[DIMENSIONS_MAX];

        g_assert_cmpuint(n, <=, DIMENSIONS_MAX);
        for (size_t i = 0; i < n; i++) {
                g_assert_cmpuint(dimensions[i].n % SAMPLE, !=, 0);
                total *= dimensions[i].n;
        }
        step = sanitized && !g_test_slow() && total > MANY ? SAMPLE : 1;
        for (size_t index = 0; index < total; index += step) {
                choose(dimensions, n, index, choice);
                tried += function(choice, data);
        }
        g_assert_cmpuint(tried, >, 0);
        g_test_message("%zu combinations tried, %s", tried, step == 1 ? "all that there are" : "a sample");
        return step == 1;
}

static const char *word_of(const Dimension *d, size_t i) {
        return *(const char *const *) ((const char *) d->values + i * d->size);
}

void combination_fail(const Dimension *dimensions, size_t n, const size_t *choice, const char *sentence,
                      const char *answer) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (size_t i = 0; i < n; i++)
                g_string_append_printf(text, " %s=%s", dimensions[i].name, word_of(&dimensions[i], choice[i]));
        g_error("not true: \"%s\", of%s; the answer is: %s", sentence, text->str, answer);
}

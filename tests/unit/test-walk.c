/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A message names the entries that a walk could not change. */

#include <string.h>

#include "basic/string-util.h"
#include "support/cases.h"
#include "wire/messages.h"

/* Returns the message about issues whose names have at least that length, and which have these causes in
 * turn. */
static char *describe(size_t n_issues, size_t name_length, size_t n_causes, uint64_t failed) {
        g_autofree char *filler = g_strnfill(name_length, 'x');
        _cleanup_(walk_result_done) WalkResult w = { .counts.failed = failed };
        char *text;

        w.issues = calloc(n_issues + 1, sizeof(WalkIssue));
        g_assert_nonnull(w.issues);
        for (; w.n_issues < n_issues; w.n_issues++) {
                g_autofree char *path = g_strdup_printf("%zu%s", w.n_issues, filler),
                                *cause = g_strdup_printf("why %zu", w.n_issues % n_causes);

                w.issues[w.n_issues] = (WalkIssue){ .path = strdup(path), .text = strdup(cause) };
        }
        text = walk_describe_failures(&w);
        g_assert_nonnull(text);
        return text;
}

TEST(test_short, "/walk/short") {
        static const struct {
                size_t n_issues, n_causes;
                uint64_t failed;
                const char *expected;
        } cases[] = {
                { 0, 1, 7, "none of them is named" },
                { 1, 1, 1, "0: why 0" },
                { 3, 1, 3, "0, 1, 2: why 0" },
                { 4, 2, 4, "0, 2: why 0; 1, 3: why 1" },
                { 3, 2, 9, "0, 2: why 0; 1: why 1; and 6 more" },
                { 2, 1, 0, "0, 1: why 0" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *text = describe(cases[i].n_issues, 0, cases[i].n_causes, cases[i].failed);

                g_assert_cmpstr(text, ==, cases[i].expected);
        }
}

/* Owners of files must not make a message long by long names. The message counts the entries that it does not
 * name. */
TEST(test_bound, "/walk/bound") {
        static const size_t lengths[] = { 150, 199, 300, 16000 };

        for (size_t i = 0; i < G_N_ELEMENTS(lengths); i++)
                for (size_t n_causes = 1; n_causes <= WALK_ISSUES_MAX; n_causes++) {
                        _cleanup_free_ char *text = describe(WALK_ISSUES_MAX, lengths[i], n_causes, 1000);
                        const char *more = strstr(text, "; and ");
                        unsigned long long n_named = 0;

                        g_assert_cmpuint(strlen(text), <, 3072);
                        for (const char *p = text; (p = strstr(p, "xxx")); p += strspn(p, "x"))
                                n_named++;
                        g_assert_cmpuint(n_named, >, 5);
                        g_assert_nonnull(more);
                        g_assert_cmpuint(g_ascii_strtoull(more + strlen("; and "), NULL, 10), ==, 1000 - n_named);
                }
}

/* The message cuts a name between characters. */
TEST(test_characters, "/walk/characters") {
        char name[256];
        WalkIssue issue = { .path = name, .text = (char *) "why" };
        const WalkResult w = { .counts.failed = 1, .issues = &issue, .n_issues = 1 };

        for (size_t start = 0; start < 3; start++) {
                _cleanup_free_ char *text = NULL;

                memset(name, 'a', sizeof(name) - 1);
                name[sizeof(name) - 1] = '\0';
                for (size_t i = start; i + 3 < sizeof(name) - 1; i += 3)
                        memcpy(name + i, "\xe6\x97\xa5", 3);
                text = walk_describe_failures(&w);
                g_assert_true(utf8_is_valid(text));
                g_assert_true(g_str_has_suffix(text, "...: why"));
        }
}

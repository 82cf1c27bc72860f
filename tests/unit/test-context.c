/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/selinux.h"
#include "model/context.h"
#include "support.h"

/* The canonical form of a canonical form is the same. */
static void assert_form(const Row *row, const char *column, int (*canonicalize)(const char *, char **, Failure *)) {
        const char *expected = row_get(row, "=form");
        _cleanup_free_ char *form = NULL, *again = NULL;
        _cleanup_failure_ Failure f = { 0 };
        int r = canonicalize(row_need(row, column), &form, &f);

        if (!expected) {
                assert_failure(r, &f, FAILURE_INVALID_CONTEXT, row_need(row, "=says"));
                g_assert_null(form);
                return;
        }
        assert_success(r, &f);
        g_assert_cmpstr(form, ==, expected);
        assert_success(canonicalize(form, &again, &f), &f);
        g_assert_cmpstr(again, ==, form);
}

TEST_TABLE(test_level, "/context/level", "levels.table", "id level =form =says") {
        assert_form(row, "level", level_canonicalize);
}

TEST_TABLE(test_context, "/context/full", "contexts.table", "id context =form =says") {
        assert_form(row, "context", context_canonicalize);
}

/* Returns a valid level of n bytes. */
static char *long_level(size_t n) {
        GString *s = g_string_new("s0:c1");

        while (s->len + 3 <= n)
                g_string_append(s, ",c1");
        while (s->len < n) {
                /* Longer numbers fill the last bytes. */
                g_string_truncate(s, s->len - 3);
                g_string_append(s, n - s->len == 5 ? ",c111" : ",c11");
        }
        return g_string_free(s, FALSE);
}

TEST(test_level_length, "/context/level-length") {
        g_autofree char *fits = long_level(CONTEXT_MAX), *long_by_one = long_level(CONTEXT_MAX + 1),
                        *huge = long_level(4096);
        _cleanup_free_ char *form = NULL;
        _cleanup_failure_ Failure f = { 0 };

        g_assert_cmpuint(strlen(fits), ==, CONTEXT_MAX);
        assert_success(level_canonicalize(fits, &form, &f), &f);

        g_assert_cmpuint(strlen(long_by_one), ==, CONTEXT_MAX + 1);
        assert_failure(level_canonicalize(long_by_one, &form, &f), &f, FAILURE_INVALID_CONTEXT, "level",
                       "1024 bytes");
        assert_failure(level_canonicalize(huge, &form, &f), &f, FAILURE_INVALID_CONTEXT, "1024 bytes");
        g_assert_cmpuint(strlen(f.message), <, 200);
}

TEST(test_context_length, "/context/context-length") {
        g_autofree char *level = long_level(CONTEXT_MAX - 6), *fits = g_strconcat("u:r:t:", level, NULL),
                        *too_long = g_strconcat("u:r:tt:", level, NULL), *long_type = g_strnfill(256, 't'),
                        *typed = g_strconcat("u:r:", long_type, ":s0", NULL), *huge = g_strnfill(4096, 'x');
        _cleanup_free_ char *form = NULL;
        _cleanup_failure_ Failure f = { 0 };

        assert_success(context_canonicalize(fits, &form, &f), &f);
        assert_failure(context_canonicalize(too_long, &form, &f), &f, FAILURE_INVALID_CONTEXT, "context",
                       "1024 bytes");
        assert_failure(context_canonicalize(huge, &form, &f), &f, FAILURE_INVALID_CONTEXT, "1024 bytes");
        assert_failure(context_canonicalize(typed, &form, &f), &f, FAILURE_INVALID_CONTEXT, "type");
        g_assert_cmpuint(strlen(f.message), <, 300);
}

/* The message has only the beginning of a long malformed level. */
TEST(test_message_is_short, "/context/message-is-short") {
        g_autofree char *junk = g_strnfill(1000, '\n');
        _cleanup_free_ char *form = NULL;
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(level_canonicalize(junk, &form, &f), &f, FAILURE_INVALID_CONTEXT, "\\x0a\\x0a", "...");
        g_assert_cmpuint(strlen(f.message), <, 500);
}

TEST_TABLE(test_split, "/context/split", "splits.table", "id context =user =role =type =level") {
        static const char *const columns[CONTEXT_PARTS] = { "=user", "=role", "=type", "=level" };

        for (size_t i = 0; i < CONTEXT_PARTS; i++) {
                _cleanup_free_ char *alone = context_part(row_need(row, "context"), (ContextPart) i);
                const char *expected = row_get(row, columns[i]);

                g_assert_cmpstr(alone, ==, expected ? expected : "");
        }
}

TEST_TABLE(test_conflict, "/context/conflict", "conflicts.table", "id a b =conflict") {
        const char *a = row_need(row, "a"), *b = row_need(row, "b");
        bool expected = parse_boolean(row_need(row, "=conflict"));

        g_assert_true(contexts_conflict(a, b) == expected);
        g_assert_true(contexts_conflict(b, a) == expected);
        g_assert_false(contexts_conflict(a, a));
}

TEST(test_complete, "/context/complete") {
        static const struct {
                const char *file_context, *user, *level, *expected;
        } cases[] = {
                { "system_u:object_r:container_file_t:s0", NULL, "s0:c1,c2",
                  "system_u:object_r:container_file_t:s0:c1,c2" },
                { "system_u:object_r:container_file_t:s0", NULL, "s0:c2,c1",
                  "system_u:object_r:container_file_t:s0:c1,c2" },
                { "system_u:object_r:container_file_t:s0", "staff_u", "s0:c1,c2",
                  "staff_u:object_r:container_file_t:s0:c1,c2" },
                { "system_u:object_r:container_file_t:s0", "", "", "system_u:object_r:container_file_t:s0" },
                { "system_u:object_r:container_file_t:s0", NULL, NULL, "system_u:object_r:container_file_t:s0" },
                { "system_u:object_r:svirt_lxc_file_t:s0", NULL, "s0", "system_u:object_r:svirt_lxc_file_t:s0" },
                /* L6: the policy has no levels. */
                { "system_u:object_r:container_file_t", NULL, NULL, "system_u:object_r:container_file_t" },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_free_ char *context = NULL;
                _cleanup_failure_ Failure f = { 0 };

                assert_success(context_complete(cases[i].file_context, cases[i].user, cases[i].level, &context, &f),
                               &f);
                g_assert_cmpstr(context, ==, cases[i].expected);
        }
}

TEST(test_complete_refuses, "/context/complete-refuses") {
        _cleanup_free_ char *context = NULL;
        _cleanup_failure_ Failure f = { 0 };

        assert_failure(context_complete("system_u:object_r:container_file_t:s0", NULL, "s99", &context, &f), &f,
                       FAILURE_INVALID_CONTEXT, "s99", "s0 to s15");
        assert_failure(context_complete("system_u:object_r:container_file_t:s0", "a b", NULL, &context, &f), &f,
                       FAILURE_INVALID_CONTEXT, "user");
        assert_failure(context_complete("broken", NULL, "s0", &context, &f), &f, FAILURE_INVALID_CONTEXT, "broken",
                       "role");
        g_assert_null(context);
}

TEST(test_name, "/context/name") {
        g_autofree char *longest = g_strnfill(255, 'a'), *too_long = g_strnfill(256, 'a');

        g_assert_true(context_name_is_valid("container_file_t"));
        g_assert_true(context_name_is_valid("A-1.b_2"));
        g_assert_true(context_name_is_valid(longest));
        g_assert_false(context_name_is_valid(too_long));
        g_assert_false(context_name_is_valid(""));
        g_assert_false(context_name_is_valid("a:b"));
        g_assert_false(context_name_is_valid("a b"));
        g_assert_false(context_name_is_valid("a\n"));
        g_assert_false(context_name_is_valid("a,b"));
        g_assert_false(context_name_is_valid("\xc3\xa4"));
}

/* --- the policy's contexts for containers --- */

TEST_TABLE(test_container_contexts, "/container-contexts", "contexts-files.table",
           "id text =process =file =ro_file") {
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };

        g_assert_cmpint(container_contexts_parse(row_need(row, "text"), &c), ==, 0);
        g_assert_cmpstr(c.process, ==, row_get(row, "=process"));
        g_assert_cmpstr(c.file, ==, row_get(row, "=file"));
        g_assert_cmpstr(c.ro_file, ==, row_get(row, "=ro_file"));
}

/* A malformed file of the policy must not hang or crash the reader. */
TEST(test_container_contexts_long, "/container-contexts/long-line") {
        g_autofree char *value = g_strnfill(1 << 20, 'x'), *text = g_strconcat("file = \"", value, "\"\n", NULL);
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };

        g_assert_cmpint(container_contexts_parse(text, &c), ==, 0);
        g_assert_cmpstr(c.file, ==, value);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Each option of a method is a row of a table. */
#include "model/request.h"
#include "model/settings.h"
#include "wire/option-table.h"
#include "support/cases.h"

TEST(test_rows, "/options/rows") {
        static const char *const types[] = { "s", "b", "t", "u", "as", NULL };

        for (size_t i = 0; i < REQUEST_OPTIONS; i++) {
                const RequestOption *o = &request_options[i];

                g_assert_nonnull(o->name);
                g_assert_true(g_strv_contains(types, o->type));
                g_assert_cmpuint(o->methods, !=, 0);
                g_assert_cmpuint(o->methods & ~(unsigned int) METHODS_ALL, ==, 0);
                g_assert_true(g_regex_match_simple("^[a-z]+(-[a-z]+)*$", o->long_name, 0, 0));
                g_assert_nonnull(o->description);
                /* Only a boolean may be without a value, and a time is a number. */
                g_assert_true(o->argument || g_str_equal(o->type, "b"));
                g_assert_true(!g_str_has_suffix(o->name, "USec") || g_str_equal(o->type, "t"));
                for (size_t k = 0; k < i; k++) {
                        g_assert_cmpstr(o->name, !=, request_options[k].name);
                        g_assert_cmpstr(o->long_name, !=, request_options[k].long_name);
                }
        }
}

TEST(test_find, "/options/find") {
        static const struct {
                const char *name;
                RequestMethod method;
                int id; /* -1: the method takes no such option */
        } cases[] = {
                { "FSType", METHOD_MOUNT, OPTION_FS_TYPE },
                { "FSType", METHOD_ADOPT, -1 },
                { "ReadOnly", METHOD_MOUNT, OPTION_READ_ONLY },
                { "ReadOnly", METHOD_OWNERSHIP, OPTION_READ_ONLY },
                { "ReadOnly", METHOD_RELABEL, -1 },
                { "SELinuxLevel", METHOD_ADOPT, OPTION_SELINUX_LEVEL },
                { "SELinuxLevel", METHOD_VERIFY, OPTION_SELINUX_LEVEL },
                { "SELinuxLevel", METHOD_RELABEL, OPTION_SELINUX_LEVEL },
                { "SELinuxLevel", METHOD_OWNERSHIP, -1 },
                { "SELinuxContext", METHOD_RELABEL, -1 },
                { "FSGroup", METHOD_VERIFY, OPTION_FS_GROUP },
                { "FSGroup", METHOD_OWNERSHIP, -1 },
                { "Depth", METHOD_VERIFY, OPTION_DEPTH },
                { "Depth", METHOD_MOUNT, -1 },
                { "Force", METHOD_RELABEL, OPTION_FORCE },
                { "Force", METHOD_VERIFY, -1 },
                { "MaxEntriesPerSecond", METHOD_VERIFY, OPTION_MAX_ENTRIES_PER_SECOND },
                { "MaxEntriesPerSecond", METHOD_UNMOUNT, -1 },
                { "WaitUSec", METHOD_MOUNT, OPTION_WAIT },
                { "WaitUSec", METHOD_ADOPT, -1 },
                { "TimeoutUSec", METHOD_UNMOUNT, OPTION_TIMEOUT },
                { "TimeoutUSec", METHOD_OWNERSHIP, OPTION_TIMEOUT },
                { "timeoutusec", METHOD_MOUNT, -1 },
                { "Threads", METHOD_RELABEL, -1 },
                { "", METHOD_MOUNT, -1 },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                g_assert_true(request_option_find(cases[i].name, cases[i].method) ==
                              (cases[i].id < 0 ? NULL : &request_options[cases[i].id]));
}

#define WORDS(name, type)                              \
        static const char *name##_word(int value) {    \
                return name##_to_string((type) value); \
        }
WORDS(relabel_by, RelabelBy)
WORDS(access_mode, AccessMode)
WORDS(fs_group_policy, FSGroupPolicy)
WORDS(fs_group_change_policy, FSGroupChangePolicy)
WORDS(verify_depth, VerifyDepth)

/* The table offers all words that selvold takes, and no others. */
TEST(test_values, "/options/values") {
        static const struct {
                RequestOptionId id;
                int (*parse)(const char *s);
                const char *(*word)(int value); /* NULL: there is more than one for a value */
                int first;
        } cases[] = {
                { OPTION_SELINUX_RELABEL_POLICY, relabel_policy_parse, NULL, 0 },
                { OPTION_RELABEL_BY, relabel_by_from_string, relabel_by_word, 0 },
                { OPTION_ACCESS_MODE, access_mode_from_string, access_mode_word, ACCESS_INLINE + 1 },
                { OPTION_FS_GROUP_POLICY, fs_group_policy_from_string, fs_group_policy_word, 0 },
                { OPTION_FS_GROUP_CHANGE_POLICY, fs_group_change_policy_from_string, fs_group_change_policy_word, 0 },
                { OPTION_DEPTH, verify_depth_from_string, verify_depth_word, 0 },
        };
        size_t n = 0;

        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                n += request_options[i].values != NULL;
        g_assert_cmpuint(n, ==, G_N_ELEMENTS(cases));
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_auto(GStrv) words = g_strsplit(request_options[cases[i].id].values, " ", -1);
                const char *word;

                for (char **w = words; *w; w++)
                        g_assert_cmpint(cases[i].parse(*w), >=, 0);
                for (int k = cases[i].first; cases[i].word && (word = cases[i].word(k)); k++)
                        g_assert_true(g_strv_contains((const char *const *) words, word));
        }
}

void add_tests(void) {
        g_test_set_nonfatal_assertions();
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/files.h"
#include "model/volume.h"
#include "support.h"

/* Values have these words on D-Bus, in the configuration, in the store and in marks, and no others. */

#define CHECK(name, Type, n, ...)                                                                       \
        G_STMT_START {                                                                                  \
                static const char *const words[] = { __VA_ARGS__ };                                     \
                                                                                                        \
                g_assert_cmpint(G_N_ELEMENTS(words), ==, n);                                            \
                for (int i = 0; i < (int) (n); i++) {                                                   \
                        g_autofree char *longer = g_strconcat(words[i], "x", NULL),                     \
                                        *other_case = g_strdup(words[i]);                               \
                                                                                                        \
                        other_case[0] ^= 0x20 * (other_case[0] != 0);                                   \
                        g_assert_cmpstr(name##_to_string((Type) i), ==, words[i]);                      \
                        g_assert_cmpint(name##_from_string(words[i]), ==, i);                           \
                        g_assert_cmpint(name##_from_string(longer), ==, -EINVAL);                       \
                        g_assert_cmpint(name##_from_string(other_case), ==, words[i][0] ? -EINVAL : i); \
                }                                                                                       \
                g_assert_cmpint(name##_from_string(""), ==, words[0][0] ? -EINVAL : 0);                 \
                g_assert_cmpint(name##_from_string(NULL), ==, -EINVAL);                                 \
                g_assert_null(name##_to_string((Type) (n)));                                            \
        }                                                                                               \
        G_STMT_END

TEST(test_words, "/words/lists") {
        CHECK(access_mode, AccessMode, ACCESS_MODES, "", "ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany",
              "ReadWriteMany");
        g_assert_cmpint(access_mode_from_string("RWO"), ==, -EINVAL);
        CHECK(relabel_by, RelabelBy, RELABEL_BYS, "runtime", "service", "none");
        CHECK(managed, Managed, MANAGED_VALUES, "never", "always", "by-access-mode");
        CHECK(fs_group_policy, FSGroupPolicy, FS_GROUP_POLICIES, "None", "File", "ReadWriteOnceWithFSType", "Mount");
        CHECK(fs_group_change_policy, FSGroupChangePolicy, FS_GROUP_CHANGE_POLICIES, "OnRootMismatch", "Always");
        CHECK(source_kind, SourceKind, SOURCE_KINDS, "block", "none", "network");
        CHECK(strategy, Strategy, STRATEGIES, "none", "relabel", "context-mount");
        CHECK(holder_state, HolderState, HOLDER_STATES, "mounting", "mounted", "unmounting");
        CHECK(files_state, FilesState, FILES_STATES, "unknown", "partial", "complete");
        CHECK(mark_change, MarkChange, MARK_CHANGES, "keep", "taint", "reset-labels", "reset-ownership", "reset-all");
        CHECK(mark_found, MarkFound, MARKS_FOUND, "absent", "unsupported", "invalid", "present");
        CHECK(relabel_action, RelabelAction, RELABEL_ACTIONS, "none", "skip", "walk");
        CHECK(ownership_action, OwnershipAction, OWNERSHIP_ACTIONS, "none", "option", "skip", "map", "walk");
}

/* Each value has a word; test-docs.py compares the words with the manual pages. */
#define CHECK_ALL(name, Type, n)                                             \
        G_STMT_START {                                                       \
                for (int i = 0; i < (int) (n); i++) {                        \
                        const char *word = name##_to_string((Type) i);       \
                                                                             \
                        g_assert_nonnull(word);                              \
                        g_assert_cmpint(name##_from_string(word), ==, i);    \
                }                                                            \
                g_assert_null(name##_to_string((Type) (n)));                 \
                g_assert_cmpint(name##_from_string("because"), ==, -EINVAL); \
                g_assert_cmpint(name##_from_string(NULL), ==, -EINVAL);      \
        }                                                                    \
        G_STMT_END

TEST(test_reasons, "/words/reasons") {
        CHECK_ALL(reason, Reason, REASONS);
        CHECK_ALL(relabel_reason, RelabelReason, RELABEL_REASONS);
        CHECK_ALL(ownership_reason, OwnershipReason, OWNERSHIP_REASONS);
        CHECK_ALL(failure_kind, FailureKind, FAILURE_KINDS);
        g_assert_cmpstr(ownership_reason_to_string(OWNERSHIP_NOT_ASKED), ==, "");
}

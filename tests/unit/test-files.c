/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/ownership.h"
#include "support.h"

/* What a group asks of files, and whether they have to be looked at: what is skipped or mapped must be known to be
 * right. */

static const char mode_columns[] = "id kind gid mode ro =mode =holds";
static const char decide_columns[] = "id policy record root group with =action =reason =kubelet note";

enum { WANTED = 3000 };

static const struct {
        const char *word;
        mode_t mode;
} kinds[] = {
        { "file", S_IFREG },    { "dir", S_IFDIR },  { "symlink", S_IFLNK }, { "fifo", S_IFIFO },
        { "socket", S_IFSOCK }, { "char", S_IFCHR }, { "block", S_IFBLK },
};

static mode_t kind_from_word(const char *word) {
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                if (streq(kinds[i].word, word))
                        return kinds[i].mode;
        g_error("unknown kind %s", word);
}

static mode_t mode_from_octal(const char *octal) {
        guint64 mode;

        g_assert_true(g_ascii_string_to_unsigned(octal, 8, 0, 07777, &mode, NULL));
        return (mode_t) mode;
}

static gid_t gid_from_word(const char *word) {
        guint64 gid;

        g_assert_true(g_ascii_string_to_unsigned(word, 10, 0, GID_NONE - 1, &gid, NULL));
        return (gid_t) gid;
}

/* --- modes --- */

static void test_mode(gconstpointer data) {
        const Row *row = data;
        const Ownership o = { .gid = WANTED, .read_only = is_yes(row_need(row, "ro")) };
        mode_t kind = kind_from_word(row_need(row, "kind")), mode = kind | mode_from_octal(row_need(row, "mode"));

        g_assert_cmphex(ownership_mode(&o, mode), ==, kind | mode_from_octal(row_need(row, "=mode")));
        g_assert_cmpint(ownership_holds(&o, gid_from_word(row_need(row, "gid")), mode), ==,
                        is_yes(row_need(row, "=holds")));
}

/* The mask of kubelet's SetVolumeOwnership(), word for word. */
static mode_t kubelet_mask(mode_t mode, bool read_only) {
        mode_t mask = read_only ? 0440 : 0660;

        if (S_ISLNK(mode))
                return 0;
        if (S_ISDIR(mode)) {
                mask |= S_ISGID;
                mask |= 0110;
        }
        return mask;
}

/* All modes of all kinds: nothing is ever taken away, nothing but the mask is added, and once is enough. */
static void test_all_modes(void) {
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                for (mode_t bits = 0; bits <= 07777; bits++)
                        for (int read_only = 0; read_only < 2; read_only++) {
                                const Ownership o = { .gid = WANTED, .read_only = read_only };
                                mode_t mode = kinds[k].mode | bits, mask = kubelet_mask(mode, read_only),
                                       result = ownership_mode(&o, mode);

                                g_assert_cmphex(result, ==, mode | mask);
                                g_assert_cmphex(ownership_mode(&o, result), ==, result);
                                g_assert_cmpint(ownership_holds(&o, WANTED, mode), ==, (bits & mask) == mask);
                                g_assert_true(ownership_holds(&o, WANTED, result));
                                g_assert_false(ownership_holds(&o, WANTED + 1, result));
                                g_assert_false(ownership_holds(&o, 0, result));
                        }
}

/* To compare groups alone. */
static void test_any_mode(void) {
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                for (mode_t bits = 0; bits <= 07777; bits++) {
                        const Ownership o = { .gid = WANTED, .any_mode = true };
                        mode_t mode = kinds[k].mode | bits;

                        g_assert_true(ownership_holds(&o, WANTED, mode));
                        g_assert_false(ownership_holds(&o, 0, mode));
                        g_assert_false(ownership_holds(&o, WANTED + 1, mode));
                        g_assert_cmphex(ownership_mode(&o, mode), ==, mode | kubelet_mask(mode, false));
                }
}

/* --- the decision --- */

/* "3000 2770", of a directory, or "file 3000 2770". */
static void take_root(OwnershipInput *in, const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell, " ", -1);
        guint n = g_strv_length(words);

        g_assert_true(n == 2 || n == 3);
        in->root_gid = gid_from_word(words[n - 2]);
        in->root_mode = kind_from_word(n == 3 ? words[0] : "dir") | mode_from_octal(words[n - 1]);
}

static void take_flags(OwnershipInput *in, const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell ? cell : "", ",", -1);
        const struct {
                const char *word;
                bool *flag, value;
        } flags[] = {
                { "ro", &in->wanted.read_only, true }, { "force", &in->force, true },
                { "gate-off", &in->gate, false },      { "disk", &in->on_disk, true },
                { "mounted", &in->mounted, true },     { "user-namespace", &in->user_namespace, true },
        };

        for (char **word = words; *word; word++) {
                size_t i = 0;

                while (i < G_N_ELEMENTS(flags) && !streq(flags[i].word, *word))
                        i++;
                if (i == G_N_ELEMENTS(flags))
                        g_error("unknown flag %s", *word);
                *flags[i].flag = flags[i].value;
        }
}

/* "complete:3000" */
static VolumeRecord record_from_cell(const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell, ":", 2);
        int state = record_state_from_string(words[0]);

        g_assert_cmpint(state, >=, 0);
        return (VolumeRecord){ .ownership_state = (RecordState) state,
                               .gid = words[1] ? gid_from_word(words[1]) : 0,
                               .generation = 7 };
}

static FSGroupChangePolicy policy_from_word(const char *word) {
        int policy = streq(word, "nil") ? FS_GROUP_CHANGE_ALWAYS : fs_group_change_policy_from_string(word);

        g_assert_cmpint(policy, >=, 0);
        return (FSGroupChangePolicy) policy;
}

static void test_row(gconstpointer data) {
        const Row *row = data;
        const VolumeRecord known = record_from_cell(row_need(row, "record"));
        OwnershipInput in = { .known = &known,
                              .wanted = { .gid = gid_from_word(row_need(row, "group")) },
                              .gate = true,
                              .policy = policy_from_word(row_need(row, "policy")) };
        OwnershipDecision d;

        take_root(&in, row_need(row, "root"));
        take_flags(&in, row_get(row, "with"));
        d = ownership_decide(&in);
        g_assert_cmpstr(ownership_action_to_string(d.action), ==, row_need(row, "=action"));
        g_assert_cmpstr(ownership_reason_to_string(d.reason), ==, row_need(row, "=reason"));
        if (row_has(row, "=kubelet"))
                assert_as_noted(row, streq(ownership_action_to_string(d.action), row_need(row, "=kubelet")));
}

/* kubelet's requiresPermissionChange(), turned round. */
static bool kubelet_skips(gid_t wanted, bool read_only, gid_t gid, mode_t mode) {
        mode_t need = (read_only ? 0440 : 0660) | 0110;

        return gid == wanted && S_ISDIR(mode) && (mode & need) == need && (mode & S_ISGID);
}

/* With a record that agrees the rule for the root is kubelet's, for all there is to see of one. */
static void test_root(void) {
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                for (mode_t bits = 0; bits <= 07777; bits++)
                        for (unsigned i = 0; i < 4; i++) {
                                const VolumeRecord known = { .ownership_state = STATE_COMPLETE, .gid = WANTED };
                                const OwnershipInput in = { .known = &known,
                                                            .wanted = { .gid = WANTED, .read_only = i & 1 },
                                                            .root_gid = i & 2 ? WANTED : 0,
                                                            .root_mode = kinds[k].mode | bits,
                                                            .gate = true,
                                                            .policy = FS_GROUP_CHANGE_ON_ROOT_MISMATCH };
                                OwnershipDecision d = ownership_decide(&in);
                                bool skips = kubelet_skips(WANTED, i & 1, in.root_gid, in.root_mode);

                                g_assert_cmpint(d.action, ==, skips ? OWNERSHIP_SKIP : OWNERSHIP_WALK);
                                g_assert_cmpint(d.reason, ==, skips ? OWNERSHIP_COMPLETE : OWNERSHIP_ROOT_DIFFERS);
                        }
}

/* A digit of a number to several bases, so that a loop runs through all combinations. */
static unsigned take_digit(unsigned *number, unsigned base) {
        unsigned digit = *number % base;

        *number /= base;
        return digit;
}

/* All there is to combine: a skip and a map have to be earned by every condition at once. */
static void test_all(void) {
        static const gid_t gids[] = { 0, 2000, WANTED };
        static const mode_t modes[] = { S_IFDIR | 02770, S_IFDIR | 0770,  S_IFDIR | 02750,
                                        S_IFDIR | 02550, S_IFREG | 02770, 0 };
        const unsigned all = RECORD_STATES * 3 * 3 * 6 * 2 * 256;
        unsigned skips = 0, maps = 0;

        for (unsigned i = 0; i < all; i++) {
                unsigned n = i;
                VolumeRecord known = { .ownership_state = (RecordState) take_digit(&n, RECORD_STATES),
                                       .gid = gids[take_digit(&n, 3)] };
                OwnershipInput in = { .known = &known,
                                      .root_gid = gids[take_digit(&n, 3)],
                                      .root_mode = modes[take_digit(&n, 6)],
                                      .wanted.gid = take_digit(&n, 2) ? WANTED : 0 };
                OwnershipDecision d;
                bool sound;

                known.tainted = take_digit(&n, 2); /* is the labels' */
                in.wanted.read_only = take_digit(&n, 2);
                in.gate = take_digit(&n, 2);
                in.policy = (FSGroupChangePolicy) take_digit(&n, FS_GROUP_CHANGE_POLICIES);
                in.force = take_digit(&n, 2);
                in.on_disk = take_digit(&n, 2);
                in.user_namespace = take_digit(&n, 2);
                in.mounted = take_digit(&n, 2);
                g_assert_cmpuint(n, ==, 0);

                d = ownership_decide(&in);
                sound = known.ownership_state == STATE_COMPLETE && in.gate && !in.force &&
                        in.policy == FS_GROUP_CHANGE_ON_ROOT_MISMATCH &&
                        kubelet_skips(known.gid, in.wanted.read_only, in.root_gid, in.root_mode);
                if (sound && known.gid == in.wanted.gid)
                        g_assert_cmpint(d.action, ==, OWNERSHIP_SKIP);
                else if (sound && !in.on_disk && !in.user_namespace && !in.mounted)
                        g_assert_cmpint(d.action, ==, OWNERSHIP_MAP);
                else
                        g_assert_cmpint(d.action, ==, OWNERSHIP_WALK);
                g_assert_cmpint(d.reason == OWNERSHIP_COMPLETE, ==, d.action == OWNERSHIP_SKIP);
                g_assert_cmpint(d.reason == OWNERSHIP_OTHER_GROUP, ==, d.action == OWNERSHIP_MAP);
                g_assert_true(d.action != OWNERSHIP_WALK || d.reason >= OWNERSHIP_FORCED);
                skips += d.action == OWNERSHIP_SKIP;
                maps += d.action == OWNERSHIP_MAP;
        }
        /* Both are there: 3 modes do for readers and 1 for writers, tainted or not; of a record and a wish 2 pairs
         * have one group and 4 have two; 3 flags make no difference to a skip. */
        g_assert_cmpuint(skips, ==, 2 * 4 * 2 * 8);
        g_assert_cmpuint(maps, ==, 4 * 4 * 2);
}

/* --- words --- */

static void test_reasons(void) {
        for (int i = 0; i < OWNERSHIP_REASONS; i++) {
                const char *word = ownership_reason_to_string((OwnershipReason) i),
                           *text = ownership_reason_text((OwnershipReason) i);

                g_assert_nonnull(word);
                g_assert_cmpint(ownership_reason_from_string(word), ==, i);
                g_assert_nonnull(text);
                if (i == OWNERSHIP_NOT_ASKED) {
                        g_assert_cmpstr(word, ==, "");
                        g_assert_cmpstr(text, ==, "");
                        continue;
                }
                g_assert_true(g_str_has_suffix(text, "."));
                g_assert_null(strchr(text, '\n'));
                for (int k = 0; k < i; k++)
                        g_assert_cmpstr(text, !=, ownership_reason_text((OwnershipReason) k));
        }
        g_assert_null(ownership_reason_to_string(OWNERSHIP_REASONS));
        g_assert_cmpint(ownership_reason_from_string("because"), ==, -EINVAL);
        g_assert_cmpint(ownership_reason_from_string(NULL), ==, -EINVAL);
}

/* They are part of the API. */
static void test_actions(void) {
        static const char *const words[OWNERSHIP_ACTIONS] = { "none", "option", "skip", "map", "walk" };

        for (int i = 0; i < OWNERSHIP_ACTIONS; i++) {
                g_assert_cmpstr(ownership_action_to_string((OwnershipAction) i), ==, words[i]);
                g_assert_cmpint(ownership_action_from_string(words[i]), ==, i);
        }
        g_assert_null(ownership_action_to_string(OWNERSHIP_ACTIONS));
        g_assert_cmpint(ownership_action_from_string(""), ==, -EINVAL);
        g_assert_cmpint(ownership_action_from_string("Walk"), ==, -EINVAL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        table_add_tests(table_load("ownership-modes.table", mode_columns), "/ownership/mode", test_mode);
        g_test_add_func("/ownership/all-modes", test_all_modes);
        g_test_add_func("/ownership/any-mode", test_any_mode);
        table_add_tests(table_load("ownership-kubernetes.table", decide_columns), "/ownership/kubernetes", test_row);
        table_add_tests(table_load("ownership.table", decide_columns), "/ownership/decide", test_row);
        g_test_add_func("/ownership/root", test_root);
        g_test_add_func("/ownership/all", test_all);
        g_test_add_func("/ownership/reasons", test_reasons);
        g_test_add_func("/ownership/actions", test_actions);
        return g_test_run();
}

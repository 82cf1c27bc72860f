/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/files.h"
#include "plan/plan-files.h"
#include "support.h"

/* Labels and groups may need a visit of all files. selvol skips or maps only files that are known to be
 * right. */

static const char mode_columns[] = "id kind gid mode readers =mode =holds";
static const char label_columns[] = "id label context tainted root wanted force =reason =walk";
static const char group_columns[] = "id policy mark root group with =action =reason =groups =kubelet note";

enum { WANTED = 3000 };

#define CONTEXT_A  "system_u:object_r:container_file_t:s0:c1,c2"
#define CONTEXT_A2 "system_u:object_r:container_file_t:s0:c1.c3"
#define CONTEXT_B  "system_u:object_r:container_file_t:s0:c3,c4"

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

/* --- modes --- */

TEST_TABLE(test_mode, "/files/mode", "ownership-modes.table", mode_columns) {
        const Ownership o = { .gid = WANTED, .readers = is_yes(row_need(row, "readers")) };
        mode_t kind = kind_from_word(row_need(row, "kind")), mode = kind | mode_from_octal(row_need(row, "mode"));

        g_assert_cmphex(ownership_mode(&o, mode), ==, kind | mode_from_octal(row_need(row, "=mode")));
        g_assert_cmpint(ownership_holds(&o, gid_from_word(row_need(row, "gid")), mode), ==,
                        is_yes(row_need(row, "=holds")));
}

/* kubelet's SetVolumeOwnership() has the same mask. */
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

/* For all modes of all kinds: only bits of the mask are added, none are removed, and a second time changes
 * nothing. */
TEST(test_all_modes, "/files/all-modes") {
        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                for (mode_t bits = 0; bits <= 07777; bits++)
                        for (int readers = 0; readers < 2; readers++) {
                                const Ownership o = { .gid = WANTED, .readers = readers };
                                mode_t mode = kinds[k].mode | bits, mask = kubelet_mask(mode, readers),
                                       result = ownership_mode(&o, mode);

                                g_assert_cmphex(result, ==, mode | mask);
                                g_assert_cmphex(ownership_mode(&o, result), ==, result);
                                g_assert_cmpint(ownership_holds(&o, WANTED, mode), ==, (bits & mask) == mask);
                                g_assert_true(ownership_holds(&o, WANTED, result));
                                g_assert_false(ownership_holds(&o, WANTED + 1, result));
                                g_assert_false(ownership_holds(&o, 0, result));
                        }
}

/* --- the decision about labels --- */

static const char *expand(const char *cell) {
        static const struct {
                const char *word, *context;
        } contexts[] = { { "A", CONTEXT_A }, { "A2", CONTEXT_A2 }, { "B", CONTEXT_B } };

        if (isempty(cell))
                return cell;
        for (size_t i = 0; i < G_N_ELEMENTS(contexts); i++)
                if (streq(contexts[i].word, cell))
                        return contexts[i].context;
        g_error("unknown context %s", cell);
}

static FilesDecision decide_labels(const Mark *mark, const char *root, const char *wanted, bool force) {
        const FilesWanted w = {
                .context = (char *) wanted, .gid = GID_NONE, .swapped_gid = GID_NONE, .force = force
        };
        const FilesSeen seen = {
                .mark = mark, .trust = MARK_TRUSTED, .root_context = root, .root_mode = S_IFDIR | 0755
        };
        FilesDecision d = files_decide(&w, &seen);

        g_assert_cmpint(d.ownership, ==, OWNERSHIP_NONE);
        g_assert_cmpint(d.ownership_reason, ==, OWNERSHIP_NOT_ASKED);
        g_assert_cmpuint(d.gid, ==, GID_NONE);
        g_assert_cmpuint(d.disk_gid, ==, GID_NONE);
        g_assert_cmpint(files_need_walk(&d), ==, d.relabel == RELABEL_WALK);
        g_assert_false(files_need_map(&w, &d));
        return d;
}

TEST_TABLE(test_label, "/files/label", "relabel.table", label_columns) {
        int state = files_state_from_string(row_need(row, "label"));
        const Mark mark = {
                .found = MARK_PRESENT,
                .label_state = (FilesState) state,
                .context = (char *) expand(row_get(row, "context")),
                .tainted = is_yes(row_need(row, "tainted")),
        };
        FilesDecision d;

        g_assert_cmpint(state, >=, 0);
        d = decide_labels(&mark, expand(row_get(row, "root")), expand(row_need(row, "wanted")),
                          is_yes(row_need(row, "force")));
        g_assert_cmpstr(d.blind ? "blind" : relabel_action_to_string(d.relabel), ==, row_need(row, "=walk"));
        g_assert_false(d.blind && d.relabel != RELABEL_WALK);
        if (d.relabel != RELABEL_NONE)
                g_assert_cmpstr(relabel_reason_to_string(d.relabel_reason), ==, row_need(row, "=reason"));
}

/* --- the decision about groups --- */

/* The cell is "3000 2770" for a directory, or "file 3000 2770". */
static void take_root(FilesSeen *seen, const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell, " ", -1);
        guint n = g_strv_length(words);

        g_assert_true(n == 2 || n == 3);
        seen->root_gid = gid_from_word(words[n - 2]);
        seen->root_mode = kind_from_word(n == 3 ? words[0] : "dir") | mode_from_octal(words[n - 1]);
}

static void take_flag(FilesWanted *w, const char *word) {
        const struct {
                const char *word;
                bool *flag, value;
        } flags[] = {
                { "readers", &w->readers, true },    { "force", &w->force, true },
                { "gate-off", &w->gate, false },     { "disk", &w->on_disk, true },
                { "mounted", &w->mounted, true },    { "user-namespace", &w->user_namespace, true },
                { "given", &w->policy_given, true },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(flags); i++)
                if (streq(flags[i].word, word)) {
                        *flags[i].flag = flags[i].value;
                        return;
                }
        if (g_str_has_prefix(word, "swapped:"))
                w->swapped_gid = gid_from_word(word + strlen("swapped:"));
        else if (streq(word, "map-only"))
                w->ownership = OWNERSHIP_MAP;
        else if (streq(word, "none")) {
                w->ownership = OWNERSHIP_NONE;
                w->ownership_reason = OWNERSHIP_POLICY_NONE;
        } else if (streq(word, "option")) {
                w->ownership = OWNERSHIP_OPTION;
                w->ownership_reason = OWNERSHIP_POLICY_MOUNT;
        } else
                g_error("unknown flag %s", word);
}

/* The cell is "complete:3000", or a word for what was found instead of a mark. */
static Mark mark_from_cell(const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell, ":", 2);
        int found = mark_found_from_string(words[0]), state;

        if (found >= 0)
                return (Mark){ .found = (MarkFound) found };
        state = files_state_from_string(words[0]);
        g_assert_cmpint(state, >=, 0);
        return (Mark){ .found = MARK_PRESENT,
                       .ownership_state = (FilesState) state,
                       .gid = words[1] ? gid_from_word(words[1]) : 0 };
}

static FSGroupChangePolicy policy_from_word(const char *word) {
        int policy = streq(word, "nil") ? FS_GROUP_CHANGE_ALWAYS : fs_group_change_policy_from_string(word);

        g_assert_cmpint(policy, >=, 0);
        return (FSGroupChangePolicy) policy;
}

static void assert_groups(const FilesDecision *d, const char *expected) {
        g_autofree char *groups = d->gid == GID_NONE ? NULL : g_strdup_printf("%u %u", d->gid, d->disk_gid);

        g_assert_cmpint(d->gid == GID_NONE, ==, d->disk_gid == GID_NONE);
        g_assert_cmpstr(groups, ==, expected);
}

static void test_group(gconstpointer data) {
        const Row *row = data;
        const Mark mark = mark_from_cell(row_need(row, "mark"));
        FilesWanted w = { .gid = gid_from_word(row_need(row, "group")),
                          .swapped_gid = GID_NONE,
                          .ownership = OWNERSHIP_WALK,
                          .gate = true,
                          .policy = policy_from_word(row_need(row, "policy")) };
        g_auto(GStrv) flags = g_strsplit(strempty(row_get(row, "with")), ",", -1);
        FilesSeen seen = { .mark = &mark, .trust = MARK_TRUSTED };
        FilesDecision d;

        take_root(&seen, row_need(row, "root"));
        for (char **flag = flags; *flag; flag++)
                take_flag(&w, *flag);
        d = files_decide(&w, &seen);
        g_assert_cmpstr(ownership_action_to_string(d.ownership), ==, row_need(row, "=action"));
        g_assert_cmpstr(ownership_reason_to_string(d.ownership_reason), ==, row_need(row, "=reason"));
        g_assert_cmpint(d.relabel, ==, RELABEL_NONE);
        g_assert_false(d.blind);
        g_assert_cmpint(files_need_walk(&d), ==, d.ownership == OWNERSHIP_WALK);
        g_assert_cmpint(files_need_map(&w, &d), ==, d.ownership == OWNERSHIP_MAP && w.swapped_gid == GID_NONE);
        if (row_has(row, "=kubelet"))
                assert_as_noted(row, streq(ownership_action_to_string(d.ownership), row_need(row, "=kubelet")));
        else
                assert_groups(&d, row_get(row, "=groups"));
}

/* kubelet's requiresPermissionChange() returns the opposite. */
static bool kubelet_skips(gid_t wanted, bool readers, gid_t gid, mode_t mode) {
        mode_t need = (readers ? 0440 : 0660) | 0110;

        return gid == wanted && S_ISDIR(mode) && (mode & need) == need && (mode & S_ISGID);
}

/* With a mark that agrees, and on a file system without marks, kubelet's rule for the root decides, for all
 * roots. */
TEST(test_root, "/files/root") {
        static const Mark marks[] = {
                { .found = MARK_PRESENT, .ownership_state = FILES_COMPLETE, .gid = WANTED },
                { .found = MARK_UNSUPPORTED },
        };

        for (size_t k = 0; k < G_N_ELEMENTS(kinds); k++)
                for (mode_t bits = 0; bits <= 07777; bits++)
                        for (unsigned i = 0; i < 8; i++) {
                                const FilesWanted w = { .ownership = OWNERSHIP_WALK,
                                                        .gid = WANTED,
                                                        .swapped_gid = GID_NONE,
                                                        .readers = i & 1,
                                                        .gate = true,
                                                        .policy = FS_GROUP_CHANGE_ON_ROOT_MISMATCH,
                                                        .policy_given = true };
                                const FilesSeen seen = { .mark = &marks[i / 4],
                                                         .trust = MARK_TRUSTED,
                                                         .root_gid = i & 2 ? WANTED : 0,
                                                         .root_mode = kinds[k].mode | bits };
                                FilesDecision d = files_decide(&w, &seen);
                                bool skips = kubelet_skips(WANTED, i & 1, seen.root_gid, seen.root_mode);

                                g_assert_cmpint(d.ownership, ==, skips ? OWNERSHIP_SKIP : OWNERSHIP_WALK);
                                if (i < 4)
                                        g_assert_cmpint(d.ownership_reason, ==,
                                                        skips ? OWNERSHIP_COMPLETE : OWNERSHIP_ROOT_DIFFERS);
                                else
                                        g_assert_cmpint(d.ownership_reason, ==,
                                                        skips ? OWNERSHIP_ROOT_ONLY : OWNERSHIP_UNKNOWN);
                        }
}

/* --- labels and groups, and what comes after --- */

TEST(test_apart, "/files/apart") {
        static const Mark mark = { .found = MARK_PRESENT,
                                   .label_state = FILES_COMPLETE,
                                   .context = (char *) CONTEXT_B,
                                   .ownership_state = FILES_COMPLETE,
                                   .gid = WANTED };
        const FilesSeen seen = { .mark = &mark,
                                 .trust = MARK_TRUSTED,
                                 .root_context = CONTEXT_B,
                                 .root_gid = WANTED,
                                 .root_mode = S_IFDIR | 02770 };
        FilesWanted w = { .context = (char *) CONTEXT_A,
                          .gid = WANTED,
                          .swapped_gid = GID_NONE,
                          .ownership = OWNERSHIP_WALK,
                          .gate = true,
                          .policy = FS_GROUP_CHANGE_ON_ROOT_MISMATCH };
        FilesDecision d = files_decide(&w, &seen);

        g_assert_cmpint(d.relabel, ==, RELABEL_WALK);
        g_assert_true(d.blind);
        g_assert_cmpint(d.ownership, ==, OWNERSHIP_SKIP);
        g_assert_true(files_need_walk(&d));

        w.context = (char *) CONTEXT_B;
        w.policy = FS_GROUP_CHANGE_ALWAYS;
        d = files_decide(&w, &seen);
        g_assert_cmpint(d.relabel, ==, RELABEL_SKIP);
        g_assert_cmpint(d.ownership, ==, OWNERSHIP_WALK);
        g_assert_true(files_need_walk(&d));

        w.force = true;
        d = files_decide(&w, &seen);
        g_assert_cmpint(d.relabel_reason, ==, RELABEL_REASON_FORCED);
        g_assert_cmpint(d.ownership_reason, ==, OWNERSHIP_FORCED);
        g_assert_false(d.blind);
}

TEST(test_fall_back, "/files/fall-back") {
        const FilesDecision map = {
                .relabel = RELABEL_SKIP, .ownership = OWNERSHIP_MAP, .gid = WANTED, .disk_gid = 2000
        };
        FilesWanted w = { .gid = WANTED, .swapped_gid = GID_NONE, .ownership = OWNERSHIP_WALK };
        FilesDecision d = map;

        files_fall_back(&w, OWNERSHIP_NO_IDMAP, &d);
        g_assert_cmpint(d.ownership, ==, OWNERSHIP_WALK);
        g_assert_cmpint(d.ownership_reason, ==, OWNERSHIP_NO_IDMAP);
        g_assert_cmpint(d.relabel, ==, RELABEL_SKIP);
        assert_groups(&d, "3000 3000");

        w.ownership = OWNERSHIP_MAP;
        d = map;
        files_fall_back(&w, OWNERSHIP_FILES_DIFFER, &d);
        g_assert_cmpint(d.ownership, ==, OWNERSHIP_NONE);
        g_assert_cmpint(d.ownership_reason, ==, OWNERSHIP_READ_ONLY);
        assert_groups(&d, NULL);
}

/* A walk must not change files whose group another holder relies on. */
TEST(test_reliances, "/files/reliances") {
        static const struct {
                OwnershipAction action;
                gid_t disk_gid;
                const char *root, *held;
                gid_t held_gid;
                bool conflict;
        } rows[] = {
                { OWNERSHIP_WALK, WANTED, "/", NULL, 2000, true },
                { OWNERSHIP_WALK, WANTED, NULL, NULL, 2000, true },
                { OWNERSHIP_WALK, WANTED, "/", NULL, WANTED, false },
                { OWNERSHIP_WALK, 2000, "/", NULL, 2000, false },
                { OWNERSHIP_WALK, 2000, "/", NULL, WANTED, true },
                { OWNERSHIP_SKIP, WANTED, "/", NULL, 2000, false },
                { OWNERSHIP_MAP, 2000, "/", NULL, WANTED, false },
                { OWNERSHIP_NONE, GID_NONE, "/", NULL, 2000, false },
                /* The other volume is a directory of the same file system. */
                { OWNERSHIP_WALK, WANTED, "/", "/", 2000, true },
                { OWNERSHIP_WALK, WANTED, "/a", "/a", 2000, true },
                { OWNERSHIP_WALK, WANTED, "/a", "/", 2000, true },
                { OWNERSHIP_WALK, WANTED, "/", "/a", 2000, true },
                { OWNERSHIP_WALK, WANTED, "/a/b", "/a", 2000, true },
                { OWNERSHIP_WALK, WANTED, "/a", "/a/b", 2000, true },
                { OWNERSHIP_WALK, WANTED, "/a", "/b", 2000, false },
                { OWNERSHIP_WALK, WANTED, "/a", "/ab", 2000, false },
                { OWNERSHIP_WALK, WANTED, "/ab", "/a", 2000, false },
                { OWNERSHIP_WALK, WANTED, "/a/b", "/a/c", 2000, false },
                { OWNERSHIP_WALK, WANTED, "/a/b", "/a/bc", 2000, false },
                { OWNERSHIP_WALK, WANTED, "/b/a", "/a", 2000, false },
                { OWNERSHIP_WALK, WANTED, "/a", NULL, 2000, true },
                { OWNERSHIP_WALK, WANTED, NULL, "/", 2000, true },
                { OWNERSHIP_WALK, WANTED, NULL, "/a", 2000, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                const FilesDecision d = { .ownership = rows[i].action, .gid = WANTED, .disk_gid = rows[i].disk_gid };
                const Reliance one = { .gid = rows[i].held_gid,
                                       .root = (char *) rows[i].held,
                                       .use = (char *) "pod-1 with group 5",
                                       .end = (char *) "Stop pod-1" },
                               three[] = { one, one, { .gid = rows[i].disk_gid, .use = (char *) "pod-2" } };
                _cleanup_failure_ Failure f = { 0 }, more = { 0 }, none = { 0 };
                int r = files_check_reliances(&d, TEST_VOLUME, rows[i].root, &one, 1, &f);

                if (!rows[i].conflict) {
                        assert_success(r, &f);
                        continue;
                }
                assert_failure(r, &f, FAILURE_GROUP_CONFLICT, TEST_VOLUME,
                               "is in use by pod-1 with group 5; you asked for group 3000.\n"
                               "Stop pod-1, or use its group.");
                r = files_check_reliances(&d, TEST_VOLUME, rows[i].root, three, 3, &more);
                assert_failure(r, &more, FAILURE_GROUP_CONFLICT,
                               "pod-1 with group 5, and by 1 more (selvolctl show " TEST_VOLUME
                               "); you asked for group 3000.\nStop pod-1 and the others.");
                r = files_check_reliances(&d, TEST_VOLUME, rows[i].root, NULL, 0, &none);
                assert_success(r, &none);
        }
}

/* --- sentences --- */

TEST(test_sentences, "/files/sentences") {
        for (int i = OWNERSHIP_NOT_ASKED + 1; i < OWNERSHIP_REASONS; i++) {
                const char *text = ownership_reason_text((OwnershipReason) i);

                g_assert_true(g_str_has_suffix(text, "."));
                g_assert_null(strchr(text, '\n'));
                for (int k = 0; k < i; k++)
                        g_assert_cmpstr(text, !=, ownership_reason_text((OwnershipReason) k));
        }
        g_assert_cmpstr(ownership_reason_text(OWNERSHIP_NOT_ASKED), ==, "");
        for (int i = 0; i < RELABEL_REASONS; i++)
                g_assert_true(g_str_has_suffix(relabel_reason_text((RelabelReason) i), "."));
}

void add_tests(void) {
        table_add_tests(table_load("ownership-kubernetes.table", group_columns), "/files/kubernetes", test_group);
        table_add_tests(table_load("ownership.table", group_columns), "/files/group", test_group);
}

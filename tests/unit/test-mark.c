/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/limits.h"
#include "label/mark-xattr.h"
#include "model/mark.h"
#include "support.h"

/* The mark of a volume is text that anybody may have written to a disk. Walks and mounts change it. */

static const char text_columns[] = "id text =result";
static const char work_columns[] = "id before label group readers =begun =done";
static const char change_columns[] = "id before change =after";

#define CONTEXT_A "system_u:object_r:container_file_t:s0:c1,c2"
#define CONTEXT_B "system_u:object_r:container_file_t:s0:c3,c4"

/* --- text --- */

static int result_from_word(const char *word) {
        if (streq(word, "ok"))
                return 0;
        g_assert_true(streq(word, "bad") || streq(word, "version"));
        return streq(word, "bad") ? -EBADMSG : -EOPNOTSUPP;
}

/* Parses from memory of exactly that size, so that the sanitizer notices a read beyond the end. */
static int parse(const char *text, size_t n, Mark *ret) {
        g_autofree char *exact = g_memdup2(text, n);

        return mark_parse(n > 0 ? exact : "", n, ret);
}

static void assert_text(const Mark *m, const char *expected) {
        _cleanup_free_ char *text = mark_format(m);

        g_assert_cmpstr(text, ==, expected);
}

static void test_text(gconstpointer data) {
        const Row *row = data;
        const char *text = row_need(row, "text");
        _cleanup_(mark_done) Mark m = { .gid = 99 };
        int expected = result_from_word(row_need(row, "=result"));

        g_assert_cmpint(parse(text, strlen(text), &m), ==, expected);
        if (expected < 0) {
                g_assert_cmpuint(m.gid, ==, 99);
                return;
        }
        g_assert_cmpint(m.found, ==, MARK_PRESENT);
        g_assert_true(mark_is_consistent(&m));
        assert_text(&m, text);
}

#define SOUND \
        "version=2 identity= inode=0 fingerprint= label=complete tainted=no ownership=unknown gid=0 context=" CONTEXT_A

/* The parser refuses every beginning of a sound text, unless the rest of the context is a shorter context. */
static void test_cut(void) {
        size_t whole = strlen(SOUND), context = (size_t) (strstr(SOUND, ":container_file_t") - SOUND);

        for (size_t n = 0; n <= context; n++) {
                Mark m;

                g_assert_cmpint(parse(SOUND, n, &m), ==, -EBADMSG);
        }
        for (size_t n = context; n <= whole; n++) {
                _cleanup_(mark_done) Mark m = { 0 };
                int error = parse(SOUND, n, &m);

                g_assert_true(error == 0 || error == -EBADMSG);
                g_assert_cmpint(error == 0 && streq(m.context, CONTEXT_A), ==, n == whole);
        }
}

/* The parser must not take a NUL for the end, wherever it is, nor ignore the text behind it. */
static void test_nul(void) {
        size_t n = strlen(SOUND);
        Mark m;

        for (size_t i = 0; i <= n; i++) {
                g_autofree char *text = g_strdup(SOUND);

                text[i] = '\0';
                g_assert_cmpint(parse(text, i == n ? n + 1 : n, &m), ==, -EBADMSG);
        }
}

/* Each byte of a sound text is replaced by each other byte. The formatter writes a text that the parser
 * accepts as it was. */
static void test_bytes(void) {
        size_t n = strlen(SOUND);

        for (size_t i = 0; i < n; i++)
                for (int byte = 0; byte < 256; byte++) {
                        _cleanup_(mark_done) Mark m = { 0 };
                        g_autofree char *text = g_strdup(SOUND);
                        int error;

                        text[i] = (char) byte;
                        error = parse(text, n, &m);
                        if (error == 0)
                                assert_text(&m, text);
                        else
                                g_assert_true(error == -EBADMSG || error == -EOPNOTSUPP);
                }
}

/* The longest possible context fits; the parser refuses a longer text, whatever its content. */
static void test_long(void) {
        g_autoptr(GString) text = g_string_new(
                "version=2 identity= inode=0 fingerprint= label=complete tainted=yes ownership=complete gid=4294967294 "
                "context=u:r:t:s0:c0");
        _cleanup_(mark_done) Mark m = { 0 };
        size_t before = (size_t) (strstr(text->str, "u:r") - text->str);

        for (int c = 2; text->len - before + strlen(",c1023") <= CONTEXT_MAX; c += 2)
                g_string_append_printf(text, ",c%i", c);
        g_assert_cmpuint(text->len, <, MARK_MAX);
        g_assert_cmpint(parse(text->str, text->len, &m), ==, 0);

        g_string_append(text, ",c1022,c1023");
        g_assert_cmpint(parse(text->str, text->len, &m), ==, -EBADMSG);
        while (text->len <= MARK_MAX)
                g_string_append_c(text, ' ');
        g_assert_cmpint(parse(text->str, text->len, &m), ==, -EBADMSG);

        g_string_assign(text, "version=3 ");
        while (text->len < MARK_MAX)
                g_string_append_c(text, 'x');
        g_assert_cmpint(parse(text->str, text->len, &m), ==, -EOPNOTSUPP);
        g_string_append_c(text, 'x');
        g_assert_cmpint(parse(text->str, text->len, &m), ==, -EBADMSG);
}

/* --- as a struct --- */

static Mark make(FilesState label, const char *context, bool tainted) {
        return (Mark){
                .found = MARK_PRESENT,
                .label_state = label,
                .context = context ? copy(context) : NULL,
                .tainted = tainted,
        };
}

/* Marks of all states are the same after they were written and read. */
static void test_round_trip(void) {
        for (unsigned i = 0; i < FILES_STATES * FILES_STATES * 2; i++) {
                FilesState label = (FilesState) (i % FILES_STATES);
                _cleanup_(mark_done) Mark m =
                        make(label, label == FILES_UNKNOWN ? NULL : CONTEXT_A, i / FILES_STATES % 2);
                _cleanup_(mark_done) Mark again = { 0 }, duplicate = { 0 };
                _cleanup_free_ char *text = NULL;

                m.ownership_state = (FilesState) (i / FILES_STATES / 2);
                m.gid = m.ownership_state == FILES_UNKNOWN ? 0 : 1000 + i;
                g_assert_true(mark_is_consistent(&m));
                text = mark_format(&m);
                g_assert_cmpint(parse(text, strlen(text), &again), ==, 0);
                g_assert_true(mark_equal(&m, &again));
                g_assert_cmpint(again.label_state, ==, m.label_state);
                g_assert_cmpstr(strempty(again.context), ==, strempty(m.context));
                g_assert_cmpint(again.tainted, ==, m.tainted);
                g_assert_cmpint(again.ownership_state, ==, m.ownership_state);
                g_assert_cmpuint(again.gid, ==, m.gid);

                g_assert_cmpint(mark_copy(&m, &duplicate), ==, 0);
                g_assert_true(mark_equal(&m, &duplicate));
                g_assert_cmpint(duplicate.found, ==, m.found);
                g_assert_true(!m.context || duplicate.context != m.context);
        }
}

/* The parser can read what the formatter writes of a mark in which only the state was reset. */
static void test_leftovers(void) {
        _cleanup_(mark_done) Mark m = make(FILES_UNKNOWN, CONTEXT_A, false), plain = { 0 }, again = { 0 };
        _cleanup_free_ char *text = NULL;

        m.gid = 1000;
        g_assert_false(mark_is_consistent(&m));
        g_assert_true(mark_equal(&m, &plain));
        text = mark_format(&m);
        g_assert_cmpint(parse(text, strlen(text), &again), ==, 0);
        g_assert_true(mark_equal(&m, &again));
}

static void test_equal(void) {
        const Mark base = {
                .label_state = FILES_COMPLETE,
                .context = (char *) CONTEXT_A,
                .ownership_state = FILES_COMPLETE,
                .gid = 5,
        };
        Mark others[] = { base, base, base, base, base };

        others[0].label_state = FILES_PARTIAL;
        others[1].context = (char *) CONTEXT_B;
        others[2].tainted = true;
        others[3].ownership_state = FILES_PARTIAL;
        others[4].gid = 6;
        g_assert_true(mark_equal(&base, &base));
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                g_assert_false(mark_equal(&base, &others[i]));
                g_assert_false(mark_equal(&others[i], &base));
        }
        others[4] = base;
        others[4].found = MARK_PRESENT;
        g_assert_true(mark_equal(&base, &others[4]));
}

/* --- changes --- */

static void take_word(Mark *m, const char *word) {
        g_auto(GStrv) parts = g_strsplit(word, ":", 2);
        unsigned long long gid;

        if (streq(word, "tainted")) {
                m->tainted = true;
                return;
        }
        g_assert_true(streq(parts[0], "owned") || streq(parts[0], "owning"));
        g_assert_cmpint(parse_u64(parts[1], &gid), ==, 0);
        g_assert_cmpuint(gid, <, GID_NONE);
        m->ownership_state = streq(parts[0], "owned") ? FILES_COMPLETE : FILES_PARTIAL;
        m->gid = (gid_t) gid;
}

static const char *context_from_word(const char *word) {
        g_assert_true(!word || streq(word, "A") || streq(word, "B"));
        return !word ? NULL : streq(word, "A") ? CONTEXT_A : CONTEXT_B;
}

/* The cell is for example "complete:A tainted owned:1000". */
static Mark mark_from_cell(const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell, " ", -1);
        g_auto(GStrv) label = g_strsplit(words[0], ":", 2);
        int state = files_state_from_string(label[0]);
        Mark m;

        g_assert_cmpint(state, >=, 0);
        m = make((FilesState) state, context_from_word(label[1]), false);
        for (char **word = words + 1; *word; word++)
                take_word(&m, *word);
        return m;
}

/* The text of a mark has all of it. */
static void assert_same(const Mark *m, const char *cell) {
        _cleanup_(mark_done) Mark expected = mark_from_cell(cell);
        _cleanup_free_ char *expected_text = mark_format(&expected);

        assert_text(m, expected_text);
        g_assert_true(mark_equal(m, &expected));
}

static void test_change(gconstpointer data) {
        const Row *row = data;
        const char *before = row_need(row, "before"), *after = row_need(row, "=after");
        _cleanup_(mark_done) Mark m = mark_from_cell(before);
        int change = mark_change_from_string(row_need(row, "change"));

        g_assert_cmpint(change, >=, 0);
        g_assert_cmpint(mark_apply(&m, (MarkChange) change), ==, !streq(before, after));
        assert_same(&m, after);
        g_assert_true(mark_is_consistent(&m));
        /* A second time changes nothing. */
        g_assert_false(mark_apply(&m, (MarkChange) change));
        assert_same(&m, after);
}

static void test_work(gconstpointer data) {
        const Row *row = data;
        const char *group = row_get(row, "group");
        _cleanup_(mark_done) Mark m = mark_from_cell(row_need(row, "before"));
        g_autofree char *context = g_strdup(context_from_word(row_get(row, "label")));
        unsigned long long gid = GID_NONE;
        MarkWork work;

        g_assert_true(!group || parse_u64(group, &gid) == 0);
        work = (MarkWork){ .context = context, .gid = (gid_t) gid, .readers = is_yes(row_need(row, "readers")) };
        g_assert_cmpint(mark_begin(&m, &work), ==, 0);
        assert_same(&m, row_need(row, "=begun"));
        /* The mark has a copy of the context. */
        g_assert_true(!context || m.context != context);
        mark_finish(&m, &work);
        assert_same(&m, row_need(row, "=done"));
}

/* A walk for readers, however often it is done, does not make files right for writers. */
static void test_work_again(void) {
        static const MarkWork readers = { .gid = 1000, .readers = true }, writers = { .gid = 1000 };
        _cleanup_(mark_done) Mark m = { 0 };

        for (int i = 0; i < 3; i++) {
                g_assert_cmpint(mark_begin(&m, &readers), ==, 0);
                mark_finish(&m, &readers);
                assert_same(&m, "unknown owning:1000");
        }
        g_assert_cmpint(mark_begin(&m, &writers), ==, 0);
        mark_finish(&m, &writers);
        assert_same(&m, "unknown owned:1000");

        g_assert_true(mark_apply(&m, MARK_RESET_OWNERSHIP));
        g_assert_cmpint(mark_begin(&m, &readers), ==, 0);
        assert_same(&m, "unknown owning:1000");
}

/* A taint is written even to a volume without a mark, other changes only to a mark. */
static void test_is_written(void) {
        for (MarkChange change = 0; change < MARK_CHANGES; change++) {
                g_assert_cmpint(mark_change_is_written(MARK_PRESENT, change), ==, change != MARK_KEEP);
                g_assert_cmpint(mark_change_is_written(MARK_INVALID, change), ==, change != MARK_KEEP);
                g_assert_cmpint(mark_change_is_written(MARK_ABSENT, change), ==, change == MARK_TAINT);
                g_assert_false(mark_change_is_written(MARK_UNSUPPORTED, change));
        }
}

/* A mark exceeds a change if selvold would skip work by it that the change makes necessary. */
static void test_exceeds(void) {
        static const struct {
                Mark mark;
                bool exceeds[MARK_CHANGES]; /* by MarkChange */
        } rows[] = {
                { { MARK_ABSENT }, { 0 } },
                { { MARK_INVALID, .label_state = FILES_COMPLETE, .ownership_state = FILES_COMPLETE }, { 0 } },
                { { MARK_PRESENT, .label_state = FILES_PARTIAL, .ownership_state = FILES_PARTIAL }, { 0 } },
                { { MARK_PRESENT, .label_state = FILES_COMPLETE, .tainted = true }, { 0 } },
                { { MARK_PRESENT, .label_state = FILES_COMPLETE }, { false, true, true, false, true } },
                { { MARK_PRESENT, .ownership_state = FILES_COMPLETE }, { false, false, false, true, true } },
                { { MARK_PRESENT, .label_state = FILES_COMPLETE, .ownership_state = FILES_COMPLETE },
                  { false, true, true, true, true } },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                for (MarkChange change = 0; change < MARK_CHANGES; change++)
                        g_assert_cmpint(mark_exceeds(&rows[i].mark, change), ==, rows[i].exceeds[change]);
}

void add_tests(void) {
        table_add_tests(table_load("marks.table", text_columns), "/mark/text", test_text);
        g_test_add_func("/mark/cut", test_cut);
        g_test_add_func("/mark/nul", test_nul);
        g_test_add_func("/mark/bytes", test_bytes);
        g_test_add_func("/mark/long", test_long);
        g_test_add_func("/mark/round-trip", test_round_trip);
        g_test_add_func("/mark/leftovers", test_leftovers);
        g_test_add_func("/mark/equal", test_equal);
        table_add_tests(table_load("mark-changes.table", change_columns), "/mark/change", test_change);
        g_test_add_func("/mark/is-written", test_is_written);
        g_test_add_func("/mark/exceeds", test_exceeds);
        table_add_tests(table_load("mark-work.table", work_columns), "/mark/work", test_work);
        g_test_add_func("/mark/work-again", test_work_again);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/volume-record.h"
#include "label/record-xattr.h"
#include "support.h"

/* What is known of the labels on a disk: as text that a disk may bring, and how two accounts of it go together. */

static const char text_columns[] = "id text =result";
static const char work_columns[] = "id before label group ro =begun =done";
static const char effect_columns[] = "id before effect =after";
static const char reconcile_columns[] = "id stored found text =verdict =known";

#define CONTEXT_A "system_u:object_r:container_file_t:s0:c1,c2"
#define CONTEXT_B "system_u:object_r:container_file_t:s0:c3,c4"

static int result_from_word(const char *word) {
        if (streq(word, "ok"))
                return 0;
        g_assert_true(streq(word, "bad") || streq(word, "version"));
        return streq(word, "bad") ? -EBADMSG : -EOPNOTSUPP;
}

/* Parses from memory of just that size, so that a sanitizer sees a look beyond it. */
static int parse(const char *text, size_t n, VolumeRecord *ret) {
        g_autofree char *exact = g_memdup2(text, n);

        return volume_record_parse(n > 0 ? exact : "", n, ret);
}

static void test_text(gconstpointer data) {
        const Row *row = data;
        const char *text = row_need(row, "text");
        _cleanup_(volume_record_done) VolumeRecord r = { .generation = 99 };
        _cleanup_free_ char *again = NULL;
        int expected = result_from_word(row_need(row, "=result"));

        g_assert_cmpint(parse(text, strlen(text), &r), ==, expected);
        if (expected < 0) {
                g_assert_cmpuint(r.generation, ==, 99);
                return;
        }
        again = volume_record_format(&r);
        g_assert_cmpstr(again, ==, text);
}

#define SOUND "version=1 generation=3 label=complete tainted=no ownership=unknown gid=0 context=" CONTEXT_A

/* Every beginning of a sound text, but those that end where a shorter context would. */
static void test_cut(void) {
        size_t whole = strlen(SOUND), context = (size_t) (strstr(SOUND, ":container_file_t") - SOUND);

        for (size_t n = 0; n <= context; n++) {
                VolumeRecord r;

                g_assert_cmpint(parse(SOUND, n, &r), ==, -EBADMSG);
        }
        for (size_t n = context; n <= whole; n++) {
                _cleanup_(volume_record_done) VolumeRecord r = { 0 };
                int error = parse(SOUND, n, &r);

                g_assert_true(error == 0 || error == -EBADMSG);
                g_assert_cmpint(error == 0 && streq(r.context, CONTEXT_A), ==, n == whole);
        }
}

/* A NUL in each place: what comes behind it must not be forgotten, nor taken for the end. */
static void test_nul(void) {
        size_t n = strlen(SOUND);
        VolumeRecord r;

        for (size_t i = 0; i <= n; i++) {
                g_autofree char *text = g_strdup(SOUND);

                text[i] = '\0';
                g_assert_cmpint(parse(text, i == n ? n + 1 : n, &r), ==, -EBADMSG);
        }
}

/* Each byte of a sound text changed to each other one: what is accepted is written the same again. */
static void test_bytes(void) {
        size_t n = strlen(SOUND);

        for (size_t i = 0; i < n; i++)
                for (int byte = 0; byte < 256; byte++) {
                        _cleanup_(volume_record_done) VolumeRecord r = { 0 };
                        _cleanup_free_ char *again = NULL;
                        g_autofree char *text = g_strdup(SOUND);
                        int error;

                        text[i] = (char) byte;
                        error = parse(text, n, &r);
                        if (error != 0) {
                                g_assert_true(error == -EBADMSG || error == -EOPNOTSUPP);
                                continue;
                        }
                        again = volume_record_format(&r);
                        g_assert_cmpstr(again, ==, text);
                }
}

/* The longest context there can be fits; a longer text is refused, whatever it says. */
static void test_long(void) {
        g_autoptr(GString) text = g_string_new("version=1 generation=4611686018427387903 label=complete tainted=yes "
                                               "ownership=complete gid=4294967294 context=u:r:t:s0:c0");
        _cleanup_(volume_record_done) VolumeRecord r = { 0 };
        size_t before = (size_t) (strstr(text->str, "u:r") - text->str);

        for (int c = 2; text->len - before + strlen(",c1023") <= CONTEXT_MAX; c += 2)
                g_string_append_printf(text, ",c%i", c);
        g_assert_cmpuint(text->len, <, VOLUME_RECORD_MAX);
        g_assert_cmpint(parse(text->str, text->len, &r), ==, 0);

        g_string_append(text, ",c1022,c1023");
        g_assert_cmpint(parse(text->str, text->len, &r), ==, -EBADMSG);
        while (text->len <= VOLUME_RECORD_MAX)
                g_string_append_c(text, ' ');
        g_assert_cmpint(parse(text->str, text->len, &r), ==, -EBADMSG);

        g_string_assign(text, "version=2 ");
        while (text->len < VOLUME_RECORD_MAX)
                g_string_append_c(text, 'x');
        g_assert_cmpint(parse(text->str, text->len, &r), ==, -EOPNOTSUPP);
        g_string_append_c(text, 'x');
        g_assert_cmpint(parse(text->str, text->len, &r), ==, -EBADMSG);
}

static VolumeRecord make(RecordState label, const char *context, bool tainted, uint64_t generation) {
        return (VolumeRecord){
                .label_state = label,
                .context = context ? copy(context) : NULL,
                .tainted = tainted,
                .generation = generation,
        };
}

/* All states, there and back again. */
static void test_round_trip(void) {
        for (unsigned i = 0; i < RECORD_STATES * RECORD_STATES * 2; i++) {
                RecordState label = (RecordState) (i % RECORD_STATES);
                _cleanup_(volume_record_done) VolumeRecord r = make(label, label == STATE_UNKNOWN ? NULL : CONTEXT_A,
                                                                    i / RECORD_STATES % 2, i),
                                                           again = { 0 }, duplicate = { 0 };
                _cleanup_free_ char *text = NULL;

                r.ownership_state = (RecordState) (i / RECORD_STATES / 2);
                r.gid = r.ownership_state == STATE_UNKNOWN ? 0 : 1000 + i;
                text = volume_record_format(&r);
                g_assert_cmpint(parse(text, strlen(text), &again), ==, 0);
                g_assert_true(volume_record_equal(&r, &again));
                g_assert_cmpint(again.label_state, ==, r.label_state);
                g_assert_cmpstr(strempty(again.context), ==, strempty(r.context));
                g_assert_cmpint(again.tainted, ==, r.tainted);
                g_assert_cmpint(again.ownership_state, ==, r.ownership_state);
                g_assert_cmpuint(again.gid, ==, r.gid);
                g_assert_cmpuint(again.generation, ==, i);

                g_assert_cmpint(volume_record_copy(&r, &duplicate), ==, 0);
                g_assert_true(volume_record_equal(&r, &duplicate));
                g_assert_true(!r.context || duplicate.context != r.context);
        }
}

/* What is written can be read, also where a state was reset and what went with it was not. */
static void test_leftovers(void) {
        _cleanup_(volume_record_done) VolumeRecord r = make(STATE_UNKNOWN, CONTEXT_A, false, 1),
                                                   plain = { .generation = 1 }, again = { 0 };
        _cleanup_free_ char *text = NULL;

        r.gid = 1000;
        g_assert_true(volume_record_equal(&r, &plain));
        text = volume_record_format(&r);
        g_assert_cmpint(parse(text, strlen(text), &again), ==, 0);
        g_assert_true(volume_record_equal(&r, &again));
}

static void test_equal(void) {
        _cleanup_(volume_record_done) VolumeRecord a = make(STATE_COMPLETE, CONTEXT_A, false, 3);

        a.ownership_state = STATE_COMPLETE;
        a.gid = 5;
        for (int i = 0; i <= 6; i++) {
                _cleanup_(volume_record_done) VolumeRecord b = { 0 };

                g_assert_cmpint(volume_record_copy(&a, &b), ==, 0);
                switch (i) {
                case 1:
                        b.label_state = STATE_PARTIAL;
                        break;
                case 2:
                        g_assert_cmpint(free_and_strdup(&b.context, CONTEXT_B), ==, 0);
                        break;
                case 3:
                        b.tainted = true;
                        break;
                case 4:
                        b.ownership_state = STATE_PARTIAL;
                        break;
                case 5:
                        b.gid = 6;
                        break;
                case 6:
                        b.generation = 4;
                        break;
                default:
                        break;
                }
                g_assert_cmpint(volume_record_equal(&a, &b), ==, i == 0);
                g_assert_cmpint(volume_record_equal(&b, &a), ==, i == 0);
        }
}

static void assert_record(const VolumeRecord *r, RecordState label, const char *context, bool tainted,
                          uint64_t generation) {
        g_assert_cmpint(r->label_state, ==, label);
        g_assert_cmpstr(strempty(r->context), ==, context);
        g_assert_cmpint(r->tainted, ==, tainted);
        g_assert_cmpuint(r->generation, ==, generation);
}

static void test_apply(void) {
        _cleanup_(volume_record_done) VolumeRecord r = make(STATE_COMPLETE, CONTEXT_A, false, 3);

        g_assert_false(volume_record_apply(&r, EFFECT_KEEP));
        assert_record(&r, STATE_COMPLETE, CONTEXT_A, false, 3);
        g_assert_true(volume_record_apply(&r, EFFECT_TAINT));
        assert_record(&r, STATE_COMPLETE, CONTEXT_A, true, 4);
        g_assert_false(volume_record_apply(&r, EFFECT_TAINT));
        assert_record(&r, STATE_COMPLETE, CONTEXT_A, true, 4);
        /* Files without a label don't get one by being forgotten. */
        g_assert_true(volume_record_apply(&r, EFFECT_FORGET));
        assert_record(&r, STATE_UNKNOWN, "", true, 5);
        g_assert_false(volume_record_apply(&r, EFFECT_FORGET));
        assert_record(&r, STATE_UNKNOWN, "", true, 5);
}

static void test_apply_new(void) {
        _cleanup_(volume_record_done) VolumeRecord r = { 0 }, partial = make(STATE_PARTIAL, CONTEXT_A, false, 8);

        g_assert_false(volume_record_apply(&r, EFFECT_FORGET));
        assert_record(&r, STATE_UNKNOWN, "", false, 0);
        g_assert_true(volume_record_apply(&r, EFFECT_TAINT));
        assert_record(&r, STATE_UNKNOWN, "", true, 1);

        g_assert_true(volume_record_apply(&partial, EFFECT_FORGET));
        assert_record(&partial, STATE_UNKNOWN, "", false, 9);
}

/* A generation never starts again at the beginning: old records would look new. */
static void test_generation_end(void) {
        _cleanup_(volume_record_done) VolumeRecord r = { .generation = VOLUME_RECORD_GENERATION_MAX };

        g_assert_cmpuint(volume_record_next_generation(0), ==, 1);
        g_assert_cmpuint(volume_record_next_generation(VOLUME_RECORD_GENERATION_MAX - 1), ==,
                         VOLUME_RECORD_GENERATION_MAX);
        g_assert_cmpuint(volume_record_next_generation(UINT64_MAX), ==, VOLUME_RECORD_GENERATION_MAX);
        g_assert_true(volume_record_apply(&r, EFFECT_TAINT));
        assert_record(&r, STATE_UNKNOWN, "", true, VOLUME_RECORD_GENERATION_MAX);
}

static void take_word(VolumeRecord *r, const char *word) {
        g_auto(GStrv) parts = g_strsplit(word, ":", 2);
        unsigned long long gid;

        if (streq(word, "tainted")) {
                r->tainted = true;
                return;
        }
        g_assert_true(streq(parts[0], "owned") || streq(parts[0], "owning"));
        g_assert_cmpint(parse_u64(parts[1], &gid), ==, 0);
        g_assert_cmpuint(gid, <, GID_NONE);
        r->ownership_state = streq(parts[0], "owned") ? STATE_COMPLETE : STATE_PARTIAL;
        r->gid = (gid_t) gid;
}

static const char *context_from_word(const char *word) {
        g_assert_true(!word || streq(word, "A") || streq(word, "B"));
        return !word ? NULL : streq(word, "A") ? CONTEXT_A : CONTEXT_B;
}

/* "7 complete:A tainted owned:1000" */
static VolumeRecord record_from_cell(const char *cell) {
        g_auto(GStrv) words = g_strsplit(cell, " ", -1);
        g_auto(GStrv) label = g_strsplit(words[1], ":", 2);
        unsigned long long generation;
        int state = record_state_from_string(label[0]);
        VolumeRecord r;

        g_assert_cmpint(parse_u64(words[0], &generation), ==, 0);
        g_assert_cmpint(state, >=, 0);
        r = make((RecordState) state, context_from_word(label[1]), false, generation);
        for (char **word = words + 2; *word; word++)
                take_word(&r, *word);
        return r;
}

/* The texts are compared, and with them all there is to say. */
static void assert_same(const VolumeRecord *r, const char *cell) {
        _cleanup_(volume_record_done) VolumeRecord expected = record_from_cell(cell);
        _cleanup_free_ char *text = volume_record_format(r), *expected_text = volume_record_format(&expected);

        g_assert_cmpstr(text, ==, expected_text);
        g_assert_true(volume_record_equal(r, &expected));
}

static void test_effect(gconstpointer data) {
        const Row *row = data;
        const char *before = row_need(row, "before"), *after = row_need(row, "=after");
        _cleanup_(volume_record_done) VolumeRecord r = record_from_cell(before);
        int effect = record_effect_from_string(row_need(row, "effect"));

        g_assert_cmpint(effect, >=, 0);
        g_assert_cmpint(volume_record_apply(&r, (RecordEffect) effect), ==, !streq(before, after));
        assert_same(&r, after);
        if (r.ownership_state == STATE_UNKNOWN)
                g_assert_cmpuint(r.gid, ==, 0);
        /* Once is enough. */
        g_assert_false(volume_record_apply(&r, (RecordEffect) effect));
        assert_same(&r, after);
}

static void test_work(gconstpointer data) {
        const Row *row = data;
        const char *group = row_get(row, "group");
        _cleanup_(volume_record_done) VolumeRecord r = record_from_cell(row_need(row, "before"));
        g_autofree char *context = g_strdup(context_from_word(row_get(row, "label")));
        unsigned long long gid = GID_NONE;
        RecordWork work;

        g_assert_true(!group || parse_u64(group, &gid) == 0);
        work = (RecordWork){ .context = context, .gid = (gid_t) gid, .read_only = is_yes(row_need(row, "ro")) };
        g_assert_cmpint(volume_record_begin(&r, &work), ==, 0);
        assert_same(&r, row_need(row, "=begun"));
        /* The record has a copy. */
        g_assert_true(!context || r.context != context);
        volume_record_finish(&r, &work);
        assert_same(&r, row_need(row, "=done"));
}

/* What does for readers does not for writers, however often it is done. */
static void test_work_again(void) {
        static const RecordWork readers = { .gid = 1000, .read_only = true }, writers = { .gid = 1000 };
        _cleanup_(volume_record_done) VolumeRecord r = { 0 };

        for (int i = 0; i < 3; i++) {
                g_assert_cmpint(volume_record_begin(&r, &readers), ==, 0);
                volume_record_finish(&r, &readers);
                g_assert_cmpint(r.ownership_state, ==, STATE_PARTIAL);
        }
        g_assert_cmpint(volume_record_begin(&r, &writers), ==, 0);
        volume_record_finish(&r, &writers);
        assert_same(&r, "8 unknown owned:1000");

        g_assert_true(volume_record_apply(&r, EFFECT_DISOWN));
        g_assert_cmpint(volume_record_begin(&r, &readers), ==, 0);
        assert_same(&r, "10 unknown owning:1000");
}

/* What a volume has to be told: a taint even if it says nothing, all else only if it says something. */
static void test_effect_is_written(void) {
        for (RecordEffect effect = 0; effect < EFFECTS; effect++) {
                g_assert_cmpint(record_effect_is_written(RECORD_PRESENT, effect), ==, effect != EFFECT_KEEP);
                g_assert_cmpint(record_effect_is_written(RECORD_ABSENT, effect), ==, effect == EFFECT_TAINT);
                g_assert_false(record_effect_is_written(RECORD_UNSUPPORTED, effect));
        }
}

static char *text_from_cell(const char *cell) {
        _cleanup_(volume_record_done) VolumeRecord r = { 0 };

        if (!cell)
                return NULL;
        if (cell[0] == '!')
                return copy(cell + 1);
        if (g_str_has_prefix(cell, "version="))
                return copy(cell);
        r = record_from_cell(cell);
        return volume_record_format(&r);
}

static void test_reconcile(gconstpointer data) {
        const Row *row = data;
        _cleanup_(volume_record_done) VolumeRecord stored = record_from_cell(row_need(row, "stored")),
                                                   expected = record_from_cell(row_need(row, "=known")),
                                                   known = { 0 };
        _cleanup_free_ char *text = text_from_cell(row_get(row, "text"));
        int found = record_found_from_string(row_need(row, "found"));
        RecordVerdict verdict;

        g_assert_cmpint(found, >=, 0);
        g_assert_cmpint(volume_record_reconcile(&stored, (RecordFound) found, text, &known, &verdict), ==, 0);
        g_assert_cmpstr(record_verdict_to_string(verdict), ==, row_need(row, "=verdict"));
        assert_record(&known, expected.label_state, strempty(expected.context), expected.tainted,
                      expected.generation);
        g_assert_true(volume_record_equal(&known, &expected));
        if (verdict >= VERDICT_MISSING) {
                g_assert_cmpint(known.label_state, ==, STATE_UNKNOWN);
                g_assert_cmpint(known.tainted, ==, stored.tainted);
                g_assert_cmpint(known.ownership_state, ==, STATE_UNKNOWN);
                g_assert_cmpuint(known.gid, ==, 0);
        }
}

/* A megabyte on the wire is no more than too long. */
static void test_reconcile_long(void) {
        g_autofree char *text = g_strnfill((gsize) 1 << 20, 'x');
        _cleanup_(volume_record_done) VolumeRecord stored = { 0 }, known = { 0 };
        RecordVerdict verdict;

        g_assert_cmpint(volume_record_reconcile(&stored, RECORD_PRESENT, text, &known, &verdict), ==, 0);
        g_assert_cmpint(verdict, ==, VERDICT_BAD);
}

static void test_words(void) {
        for (int i = 0; i < EFFECTS; i++)
                g_assert_cmpint(record_effect_from_string(record_effect_to_string((RecordEffect) i)), ==, i);
        for (int i = 0; i < RECORDS_FOUND; i++)
                g_assert_cmpint(record_found_from_string(record_found_to_string((RecordFound) i)), ==, i);
        for (int i = 0; i < VERDICTS; i++)
                g_assert_cmpint(record_verdict_from_string(record_verdict_to_string((RecordVerdict) i)), ==, i);
        g_assert_cmpint(record_effect_from_string("KEEP"), ==, -EINVAL);
        g_assert_cmpint(record_found_from_string(""), ==, -EINVAL);
        g_assert_null(record_effect_to_string(EFFECTS));
        g_assert_null(record_found_to_string(RECORDS_FOUND));
        g_assert_null(record_verdict_to_string(VERDICTS));
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        table_add_tests(table_load("volume-records.table", text_columns), "/volume-record/text", test_text);
        g_test_add_func("/volume-record/cut", test_cut);
        g_test_add_func("/volume-record/nul", test_nul);
        g_test_add_func("/volume-record/bytes", test_bytes);
        g_test_add_func("/volume-record/long", test_long);
        g_test_add_func("/volume-record/round-trip", test_round_trip);
        g_test_add_func("/volume-record/leftovers", test_leftovers);
        g_test_add_func("/volume-record/equal", test_equal);
        g_test_add_func("/volume-record/apply", test_apply);
        g_test_add_func("/volume-record/apply-new", test_apply_new);
        table_add_tests(table_load("record-effects.table", effect_columns), "/volume-record/effect", test_effect);
        g_test_add_func("/volume-record/effect-is-written", test_effect_is_written);
        table_add_tests(table_load("record-work.table", work_columns), "/volume-record/work", test_work);
        g_test_add_func("/volume-record/work-again", test_work_again);
        g_test_add_func("/volume-record/generation-end", test_generation_end);
        table_add_tests(table_load("reconcile.table", reconcile_columns), "/volume-record/reconcile", test_reconcile);
        g_test_add_func("/volume-record/reconcile/long", test_reconcile_long);
        g_test_add_func("/volume-record/words", test_words);
        return g_test_run();
}

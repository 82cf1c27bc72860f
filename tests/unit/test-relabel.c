/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "plan/relabel.h"
#include "support.h"

/* Whether files have to be relabelled: what is skipped must be known to be right. */

static const char columns[] = "id label context tainted root wanted force =reason =walk";

#define CONTEXT_A  "system_u:object_r:container_file_t:s0:c1,c2"
#define CONTEXT_A2 "system_u:object_r:container_file_t:s0:c1.c3"
#define CONTEXT_B  "system_u:object_r:container_file_t:s0:c3,c4"

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

static VolumeRecord record_from_row(const Row *row) {
        const char *context = expand(row_get(row, "context"));
        int state = record_state_from_string(row_need(row, "label"));

        g_assert_cmpint(state, >=, 0);
        return (VolumeRecord){
                .label_state = (RecordState) state,
                .context = context ? copy(context) : NULL,
                .tainted = is_yes(row_need(row, "tainted")),
                .generation = 7,
        };
}

static void test_row(gconstpointer data) {
        const Row *row = data;
        _cleanup_(volume_record_done) VolumeRecord known = record_from_row(row);
        RelabelDecision d = relabel_decide(&known, expand(row_get(row, "root")), expand(row_need(row, "wanted")),
                                           is_yes(row_need(row, "force")));

        g_assert_cmpstr(relabel_reason_to_string(d.reason), ==, row_need(row, "=reason"));
        g_assert_cmpstr(!d.walk ? "skip" : d.blind ? "blind" : "walk", ==, row_need(row, "=walk"));
        g_assert_false(d.blind && !d.walk);
}

/* All there is to combine: a skip and a blind walk have to be earned by every condition at once. */
static void test_all(void) {
        static const char *const contexts[] = { NULL, "", CONTEXT_A, CONTEXT_A2, CONTEXT_B };

        for (unsigned i = 0; i < RECORD_STATES * 5 * 5 * 4; i++) {
                VolumeRecord known = { .label_state = (RecordState) (i % RECORD_STATES),
                                       .context = (char *) contexts[i / RECORD_STATES % 5],
                                       .tainted = i / RECORD_STATES / 25 % 2 };
                const char *root = contexts[i / RECORD_STATES / 5 % 5];
                bool force = i / RECORD_STATES / 50, sound = known.label_state == STATE_COMPLETE && !known.tainted;
                RelabelDecision d = relabel_decide(&known, root, CONTEXT_A, force);

                sound = sound && !force && !isempty(known.context) && streq_ptr(known.context, root);
                g_assert_cmpint(d.walk, ==, !(sound && streq(root, CONTEXT_A)));
                g_assert_cmpint(d.blind, ==, sound && !streq(root, CONTEXT_A));
        }
}

static void test_reasons(void) {
        for (int i = 0; i < RELABEL_REASONS; i++) {
                const char *word = relabel_reason_to_string((RelabelReason) i);

                g_assert_nonnull(word);
                g_assert_cmpint(relabel_reason_from_string(word), ==, i);
                g_assert_true(g_str_has_suffix(relabel_reason_text((RelabelReason) i), "."));
        }
        g_assert_null(relabel_reason_to_string(RELABEL_REASONS));
        g_assert_cmpint(relabel_reason_from_string("because"), ==, -EINVAL);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);

        table_add_tests(table_load("relabel.table", columns), "/relabel/decide", test_row);
        g_test_add_func("/relabel/all", test_all);
        g_test_add_func("/relabel/reasons", test_reasons);
        return g_test_run();
}

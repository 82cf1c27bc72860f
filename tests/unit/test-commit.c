/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* The event loop commits after all sources that are ready, but also if some source is always ready. */

#include <glib.h>
#include <glib/gstdio.h>

#include "basic/time-util.h"
#include "state/commit.h"
#include "support/cases.h"

typedef struct Fixture {
        State state;
        unsigned n_others, n_committed;
        unsigned n_others_before; /* n_others at the time of the commit */
} Fixture;

static void fixture_set_up(Fixture *f, gconstpointer data) {
        g_assert_cmpint(sd_event_new(&f->state.event), >=, 0);
        f->state.path = g_strdup_printf("%s/selvol-commit-%i", g_get_tmp_dir(), (int) getpid());
        g_assert_cmpint(store_open(f->state.path, &store_schema, &f->state.store), ==, 0);
        g_assert_cmpint(commit_setup(&f->state), >=, 0);
}

static void fixture_tear_down(Fixture *f, gconstpointer data) {
        commit_teardown(&f->state);
        store_close(f->state.store);
        sd_event_unref(f->state.event);
        (void) g_remove(f->state.path);
        g_free(f->state.path);
}

static void on_committed(State *s, int error, void *userdata) {
        Fixture *f = userdata;

        g_assert_cmpint(error, ==, 0);
        f->n_committed++;
        f->n_others_before = f->n_others;
}

static int on_other(sd_event_source *source, void *userdata) {
        Fixture *f = userdata;

        f->n_others++;
        return 0;
}

/* Waits for a commit while two other sources are ready; they stay ready if they are enabled for more than one
 * turn. Returns how long that took, in microseconds. */
static uint64_t commit_beside(Fixture *f, int enabled) {
        uint64_t start = now_monotonic_usec(), end = start + 120 * G_USEC_PER_SEC;
        sd_event_source *others[2];

        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                g_assert_cmpint(sd_event_add_defer(f->state.event, &others[i], on_other, f), >=, 0);
                g_assert_cmpint(sd_event_source_set_enabled(others[i], enabled), >=, 0);
        }
        g_assert_cmpint(commit_then(&f->state, on_committed, f), ==, 0);
        while (f->n_committed == 0 && now_monotonic_usec() < end)
                g_assert_cmpint(sd_event_run(f->state.event, 0), >=, 0);
        g_assert_cmpuint(f->n_committed, ==, 1);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                sd_event_source_disable_unref(others[i]);
        return now_monotonic_usec() - start;
}

/* The commit does not wait for the others if they take longer than this: then the machine stood still, and
 * the test asks again. */
TEST_FIXTURE(test_after_others, "/commit/after-others") {
        enum { COMMIT_DELAY_MAX_USEC = 10000 };

        while (commit_beside(f, SD_EVENT_ONESHOT) >= COMMIT_DELAY_MAX_USEC && f->n_others_before != 2)
                f->n_others = f->n_committed = 0;
        g_assert_cmpuint(f->n_others_before, ==, 2);
}

TEST_FIXTURE(test_never_idle, "/commit/never-idle") {
        (void) commit_beside(f, SD_EVENT_ON);
        g_assert_cmpuint(f->n_others_before, >, 2);
}

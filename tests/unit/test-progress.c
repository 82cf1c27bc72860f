/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "job/job.h"
#include "support/cases.h"

/* selvold writes to the journal about a walk so many seconds after the walk began. */
TEST(test_due, "/progress/due") {
        const guint64 start = 1000 * USEC_PER_SEC;
        static const guint wanted[] = { 1, 10, 20, 40, 80, 160, 320, 640, 1240, 1840 };
        Progress p = { .started_usec = start };
        gsize n = 0;

        for (guint second = 0; second <= 2000; second++) {
                ProgressNews news = progress_next_news(&p, start + second * USEC_PER_SEC);

                if (news == PROGRESS_NO_NEWS)
                        continue;
                g_assert_cmpint(news, ==, n == 0 ? PROGRESS_STARTED : PROGRESS_GOES_ON);
                g_assert_cmpuint(n, <, G_N_ELEMENTS(wanted));
                g_assert_cmpuint(second, ==, wanted[n++]);
        }
        g_assert_cmpuint(n, ==, G_N_ELEMENTS(wanted));
}

/* After a long silence of a walk selvold writes once, not once for each missed time. */
TEST(test_due_late, "/progress/due-late") {
        Progress p = { .started_usec = 1 };

        g_assert_cmpint(progress_next_news(&p, 300 * USEC_PER_SEC), ==, PROGRESS_STARTED);
        g_assert_cmpint(progress_next_news(&p, 301 * USEC_PER_SEC), ==, PROGRESS_NO_NEWS);
}

/* The error for a lack of memory tells the caller whether anything may have been done. */
TEST(test_out_of_memory, "/progress/out-of-memory") {
        static const struct {
                JobState state;
                bool walk_asked;
                FailureKind kind;
        } rows[] = {
                { JOB_QUEUED, false, FAILURE_LIMIT_REACHED },
                { JOB_RUNNING, false, FAILURE_LIMIT_REACHED },
                { JOB_RUNNING, true, FAILURE_WORKER_FAILED },
                { JOB_ACTING, false, FAILURE_WORKER_FAILED },
        };

        for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
                Job job = { .state = rows[i].state, .walk_asked = rows[i].walk_asked };

                job_fail(&job, -ENOMEM);
                g_assert_cmpint(job.failure.kind, ==, rows[i].kind);
                g_assert_cmpint(!!strstr(job.failure.message, "had begun"), ==,
                                rows[i].kind == FAILURE_WORKER_FAILED);
                failure_done(&job.failure);
        }
}

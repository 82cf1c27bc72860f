/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/failure.h"
#include "model/files.h"
#include "model/volume.h"
#include "state/metrics.h"
#include "support/cases.h"

#define CSI "kubernetes.io/csi"

static void assert_line(const Metrics *m, const char *line) {
        g_autofree char *text = metrics_render(m), *whole = g_strdup_printf("\n%s\n", line);

        g_assert_nonnull(text);
        if (!strstr(text, whole))
                g_test_message("%s", text);
        g_assert_nonnull(strstr(text, whole));
}

static gsize count_lines(const Metrics *m, const char *prefix) {
        g_autofree char *text = metrics_render(m);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        gsize n = 0;

        for (char **line = lines; *line; line++)
                n += g_str_has_prefix(*line, prefix);
        return n;
}

/* All series exist from the start with the value 0, so that Prometheus can compute a rate of the first
 * event. */
TEST(test_from_the_start, "/metrics/from-the-start") {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();
        g_autofree char *text = metrics_render(m);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (char **line = lines; **line; line++)
                if (**line != '#' && !g_str_has_suffix(*line, " 0"))
                        g_error("%s", *line);
        assert_line(m, "selvol_refusals_total{error=\"StoreFailed\"} 0");
        assert_line(m, "selvol_relabels_total{outcome=\"walked\",reason=\"root-differs\"} 0");
        assert_line(m, "selvol_store_errors_total 0");
        assert_line(m, "selvol_verify_duration_seconds_bucket{depth=\"full\",le=\"+Inf\"} 0");
        assert_line(m, "selvol_volume_manager_selinux_volumes_admitted_total{volume_plugin=\"" CSI
                       "\",access_mode=\"RWX\"} 0");
        g_assert_cmpuint(count_lines(m, "selvol_decisions_total{"), ==, 3 * 13);
        g_assert_cmpuint(count_lines(m, "selvol_refusals_total{error=\"\"}"), ==, 0);
        g_assert_cmpuint(count_lines(m, "selvol_ownership_total{outcome=\"none\",reason=\"\"}"), ==, 0);
}

/* A value is counted in the series with its labels, and in no other. */
TEST(test_values, "/metrics/values") {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();

        metrics_count(m, METRIC_DECISIONS, "relabel", "policy-always");
        metrics_count(m, METRIC_DECISIONS, "relabel", "policy-always");
        metrics_count(m, METRIC_DECISIONS, "context-mount", "requested");
        metrics_add(m, METRIC_RELABEL_ENTRIES, 750, "changed");
        metrics_set(m, METRIC_ENFORCING, -1);
        metrics_count(m, METRIC_VOLUMES_ADMITTED, CSI "/a", "RWO");
        assert_line(m, "selvol_decisions_total{strategy=\"relabel\",reason=\"policy-always\"} 2");
        assert_line(m, "selvol_decisions_total{strategy=\"context-mount\",reason=\"requested\"} 1");
        assert_line(m, "selvol_decisions_total{strategy=\"none\",reason=\"policy-always\"} 0");
        assert_line(m, "selvol_relabel_entries_total{result=\"changed\"} 750");
        assert_line(m, "selvol_selinux_enforcing -1");
        assert_line(m, "selvol_volume_manager_selinux_volumes_admitted_total{volume_plugin=\"" CSI
                       "/a\",access_mode=\"RWO\"} 1");
        assert_line(m, "selvol_volume_manager_selinux_volumes_admitted_total{volume_plugin=\"" CSI
                       "\",access_mode=\"RWO\"} 0");
}

TEST(test_histogram, "/metrics/histogram") {
        static const uint64_t usecs[] = { 400, 500, 501, 3000000, 11000000 };
        _cleanup_(metrics_freep) Metrics *m = metrics_new();

        for (gsize i = 0; i < G_N_ELEMENTS(usecs); i++)
                metrics_observe(m, METRIC_COMMIT_DURATION, usecs[i]);
        assert_line(m, "selvol_commit_duration_seconds_bucket{le=\"0.0005\"} 2");
        assert_line(m, "selvol_commit_duration_seconds_bucket{le=\"0.001\"} 3");
        assert_line(m, "selvol_commit_duration_seconds_bucket{le=\"5\"} 4");
        assert_line(m, "selvol_commit_duration_seconds_bucket{le=\"10\"} 4");
        assert_line(m, "selvol_commit_duration_seconds_bucket{le=\"+Inf\"} 5");
        assert_line(m, "selvol_commit_duration_seconds_sum 14.001401");
        assert_line(m, "selvol_commit_duration_seconds_count 5");
}

/* A plugin that one metric has named is in all metrics of plugins. Its name can't break the format. */
TEST(test_plugin, "/metrics/plugin") {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();

        metrics_count(m, METRIC_TOTAL_VOLUMES, "a\"\\\nb", "held");
        assert_line(m, "selvol_volume_manager_total_volumes{plugin_name=\"a\\\"\\\\\\nb\",state=\"held\"} 1");
        assert_line(m, "selvol_volume_manager_selinux_volume_context_mismatch_errors_total{volume_plugin=\""
                       "a\\\"\\\\\\nb\",access_mode=\"RWOP\"} 0");
        metrics_reset(m, METRIC_TOTAL_VOLUMES);
        assert_line(m, "selvol_volume_manager_total_volumes{plugin_name=\"a\\\"\\\\\\nb\",state=\"held\"} 0");
}

/* Callers who name more and more plugins do not make the text grow for ever, and no sample is lost. */
TEST(test_many_plugins, "/metrics/many-plugins") {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();

        for (unsigned i = 0; i < 100; i++) {
                g_autofree char *name = g_strdup_printf(CSI "/%u", i);

                metrics_count(m, METRIC_TOTAL_VOLUMES, name, "free");
        }
        g_assert_cmpuint(count_lines(m, "selvol_volume_manager_total_volumes{"), ==, 2 * 32);
        assert_line(m, "selvol_volume_manager_total_volumes{plugin_name=\"" CSI "/29\",state=\"free\"} 1");
        assert_line(m, "selvol_volume_manager_total_volumes{plugin_name=\"other\",state=\"free\"} 70");
        metrics_count(m, METRIC_TOTAL_VOLUMES, CSI "/3", "free");
        assert_line(m, "selvol_volume_manager_total_volumes{plugin_name=\"" CSI "/3\",state=\"free\"} 2");
}

/* A value that is in no table is counted as "other", and can't break the format. A series "other" is in the
 * text only once it has been counted. */
TEST(test_unknown_value, "/metrics/unknown-value") {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();

        g_assert_cmpuint(count_lines(m, "selvol_refusals_total{error=\"other\"}"), ==, 0);
        metrics_count(m, METRIC_REFUSALS, "no such error");
        metrics_count(m, METRIC_REFUSALS, NULL);
        metrics_count(m, METRIC_DECISIONS, "relabel", "\"\n");
        metrics_observe(m, METRIC_STORAGE_OPERATION_DURATION, 1000000, CSI, "?", "success");
        metrics_add(m, METRIC_RELABEL_ENTRIES, 3, "");
        metrics_set(m, METRIC_OLDEST_JOB, 5, "asleep");
        assert_line(m, "selvol_refusals_total{error=\"other\"} 2");
        assert_line(m, "selvol_refusals_total{error=\"StoreFailed\"} 0");
        assert_line(m, "selvol_decisions_total{strategy=\"relabel\",reason=\"other\"} 1");
        g_assert_cmpuint(count_lines(m, "selvol_decisions_total{"), ==, 3 * 13 + 1);
        assert_line(m, "selvol_storage_operation_duration_seconds_count{volume_plugin=\"" CSI
                       "\",operation_name=\"other\",status=\"success\"} 1");
        assert_line(m, "selvol_relabel_entries_total{result=\"other\"} 3");
        assert_line(m, "selvol_oldest_job_age_seconds{state=\"other\"} 5");
}

/* All values that selvold itself counts are in tables. */
TEST(test_enums, "/metrics/enums") {
        _cleanup_(metrics_freep) Metrics *m = metrics_new();
        g_autofree char *text = NULL;

        for (FailureKind i = FAILURE_NONE + 1; i < FAILURE_KINDS; i++)
                metrics_count(m, METRIC_REFUSALS, failure_kind_to_string(i));
        for (Strategy i = 0; i < STRATEGIES; i++)
                for (Reason k = 0; k < REASONS; k++)
                        metrics_count(m, METRIC_DECISIONS, strategy_to_string(i), reason_to_string(k));
        for (RelabelReason i = 0; i < RELABEL_REASONS; i++)
                metrics_count(m, METRIC_RELABELS, "walked", relabel_reason_to_string(i));
        for (OwnershipReason i = OWNERSHIP_NOT_ASKED + 1; i < OWNERSHIP_REASONS; i++)
                metrics_count(m, METRIC_OWNERSHIP, "walked", ownership_reason_to_string(i));
        for (VerifyDepth i = 0; i < VERIFY_DEPTHS; i++)
                metrics_count(m, METRIC_VERIFICATIONS, verify_depth_to_string(i), "match");
        for (FilesState i = 0; i < FILES_STATES; i++)
                metrics_count(m, METRIC_LABEL_STATES, files_state_to_string(i));
        for (AccessMode i = 0; i < ACCESS_MODES; i++)
                metrics_count(m, METRIC_CONTAINER_ERRORS, metric_access_mode(i));
        text = metrics_render(m);
        g_assert_null(strstr(text, "=\"other\""));
}

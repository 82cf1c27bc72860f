/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model/failure.h"
#include "model/files.h"
#include "model/volume.h"
#include "state/metrics-table.h"

#include "selvol-config.h"

/* Seconds; the first set is Kubernetes' for storage operations, the second fits mounts and commits. */
static const double slow_buckets[] = { .1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
static const double fast_buckets[] = { .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 };

/* A label's values: those of a string table, from the first one that is counted, or words. */
#define DEFINE_VALUES(name, type, first, end)                                               \
        static const char *name##_value(size_t i) {                                         \
                return (first) + i < (end) ? name##_to_string((type) ((first) + i)) : NULL; \
        }                                                                                   \
        struct name##_value_needs_a_semicolon

#define DEFINE_WORDS(name, ...)                                     \
        static const char *name##_value(size_t i) {                 \
                static const char *const words[] = { __VA_ARGS__ }; \
                return i < ELEMENTSOF(words) ? words[i] : NULL;     \
        }                                                           \
        struct name##_value_needs_a_semicolon

DEFINE_VALUES(failure_kind, FailureKind, FAILURE_NONE + 1, FAILURE_KINDS);
DEFINE_VALUES(files_state, FilesState, 0, FILES_STATES);
DEFINE_VALUES(ownership_reason, OwnershipReason, OWNERSHIP_NOT_ASKED + 1, OWNERSHIP_REASONS);
DEFINE_VALUES(reason, Reason, 0, REASONS);
DEFINE_VALUES(relabel_reason, RelabelReason, 0, RELABEL_REASONS);
DEFINE_VALUES(strategy, Strategy, 0, STRATEGIES);
DEFINE_VALUES(verify_depth, VerifyDepth, 0, VERIFY_DEPTHS);

DEFINE_WORDS(authorization, "root", "allowed", "denied", "challenge", "unavailable", "changed", "too-many");
DEFINE_WORDS(connection, "job", "watch");
DEFINE_WORDS(entry, "changed", "unchanged", "failed", "skipped");
DEFINE_WORDS(job_age, "waiting", "running", "walking", "acting", "settling");
DEFINE_WORDS(ownership, "walked", "failed", "mapped", "skipped", "option", "none");
DEFINE_WORDS(reconciled, "finished", "rolled-back");
DEFINE_WORDS(relabel, "walked", "failed", "skipped");
DEFINE_WORDS(status, "success", "fail-unknown");
DEFINE_WORDS(storage_operation, "volume_mount", "volume_adopt", "volume_unmount", "volume_verify", "volume_relabel",
             "volume_apply_access_control");
DEFINE_WORDS(verified, "match", "mismatch");
DEFINE_WORDS(version, SELVOL_VERSION);
DEFINE_WORDS(volume_state, "held", "free");

const char *metric_access_mode(AccessMode mode) {
        static const char *const words[ACCESS_MODES] = {
                [ACCESS_INLINE] = "inline",
                [ACCESS_READ_WRITE_ONCE] = "RWO",
                [ACCESS_READ_WRITE_ONCE_POD] = "RWOP",
                [ACCESS_READ_ONLY_MANY] = "ROX",
                [ACCESS_READ_WRITE_MANY] = "RWX",
        };

        return words[mode];
}

static const char *access_mode_value(size_t i) {
        return i < ACCESS_MODES ? metric_access_mode((AccessMode) i) : NULL;
}

const char *metric_kind_to_string(MetricKind kind) {
        static const char *const words[METRIC_KINDS] = {
                [METRIC_COUNTER] = "counter",
                [METRIC_GAUGE] = "gauge",
                [METRIC_HISTOGRAM] = "histogram",
        };

        return words[kind];
}

#define SLOW .buckets = slow_buckets, .n_buckets = ELEMENTSOF(slow_buckets)
#define FAST .buckets = fast_buckets, .n_buckets = ELEMENTSOF(fast_buckets)

const MetricType metric_types[METRICS] = {
        [METRIC_CONTAINER_ERRORS] = { "selvol_volume_manager_selinux_container_errors_total",
                                      "Requests for which no context could be computed.",
                                      METRIC_COUNTER,
                                      { { "access_mode", access_mode_value } } },
        [METRIC_VOLUME_CONTEXT_MISMATCH_ERRORS] = { "selvol_volume_manager_selinux_volume_context_mismatch_errors_total",
                                                    "Requests refused because the volume is in use with another context.",
                                                    METRIC_COUNTER,
                                                    { { "volume_plugin" }, { "access_mode", access_mode_value } } },
        [METRIC_VOLUMES_ADMITTED] = { "selvol_volume_manager_selinux_volumes_admitted_total",
                                      "Volumes mounted with a context by their first holder.",
                                      METRIC_COUNTER,
                                      { { "volume_plugin" }, { "access_mode", access_mode_value } } },
        [METRIC_STORAGE_OPERATION_DURATION] = { "selvol_storage_operation_duration_seconds",
                                                "Time from the call to the answer.",
                                                METRIC_HISTOGRAM,
                                                { { "volume_plugin" },
                                                  { "operation_name", storage_operation_value },
                                                  { "status", status_value } },
                                                SLOW },
        [METRIC_COMMIT_DURATION] = { "selvol_commit_duration_seconds", "Time to make a change of the state durable.",
                                     METRIC_HISTOGRAM, FAST },
        [METRIC_RELABELS] = { "selvol_relabels_total",
                              "Relabels of volumes by the service.",
                              METRIC_COUNTER,
                              { { "outcome", relabel_value }, { "reason", relabel_reason_value } } },
        [METRIC_RELABEL_ENTRIES] = { "selvol_relabel_entries_total",
                                     "Files visited by relabels.",
                                     METRIC_COUNTER,
                                     { { "result", entry_value } } },
        [METRIC_RELABEL_DURATION] = { "selvol_relabel_duration_seconds", "Duration of relabel walks.",
                                      METRIC_HISTOGRAM, SLOW },
        [METRIC_OWNERSHIP] = { "selvol_ownership_total",
                               "Changes of a volume's group (fsGroup) that were requested.",
                               METRIC_COUNTER,
                               { { "outcome", ownership_value }, { "reason", ownership_reason_value } } },
        [METRIC_OWNERSHIP_ENTRIES] = { "selvol_ownership_entries_total",
                                       "Files visited to change their group.",
                                       METRIC_COUNTER,
                                       { { "result", entry_value } } },
        [METRIC_OWNERSHIP_DURATION] = { "selvol_ownership_duration_seconds", "Duration of ownership walks.",
                                        METRIC_HISTOGRAM, SLOW },
        [METRIC_VERIFY_DURATION] = { "selvol_verify_duration_seconds",
                                     "Duration of verification walks.",
                                     METRIC_HISTOGRAM,
                                     { { "depth", verify_depth_value } },
                                     SLOW },
        [METRIC_VERIFICATIONS] = { "selvol_verifications_total",
                                   "Verifications of labels and groups that came to a result.",
                                   METRIC_COUNTER,
                                   { { "depth", verify_depth_value }, { "result", verified_value } } },
        [METRIC_DECISIONS] = { "selvol_decisions_total",
                               "Plans carried out.",
                               METRIC_COUNTER,
                               { { "strategy", strategy_value }, { "reason", reason_value } } },
        [METRIC_REFUSALS] = { "selvol_refusals_total",
                              "Calls answered with an error.",
                              METRIC_COUNTER,
                              { { "error", failure_kind_value } } },
        [METRIC_AUTHORIZATIONS] = { "selvol_authorizations_total",
                                    "Authorization decisions.",
                                    METRIC_COUNTER,
                                    { { "result", authorization_value } } },
        [METRIC_WORKER_FAILURES] = { "selvol_worker_failures_total",
                                     "Times that selvol-worker could not be reached or gave no valid answer.",
                                     METRIC_COUNTER,
                                     { { "connection", connection_value } } },
        [METRIC_HOLDERS_LOST] = { "selvol_holders_lost_total", "Holders whose mount another program unmounted.",
                                  METRIC_COUNTER },
        [METRIC_RECONCILED] = { "selvol_reconciled_total",
                                "Interrupted operations settled by comparison with the mount table.",
                                METRIC_COUNTER,
                                { { "outcome", reconciled_value } } },
        [METRIC_STORE_ERRORS] = { "selvol_store_errors_total", "Failed commits of the state.", METRIC_COUNTER },
        [METRIC_TEXTFILE_ERRORS] = { "selvol_textfile_errors_total",
                                     "Failed writes of the metrics to MetricsTextfile=.", METRIC_COUNTER },
        [METRIC_TEXTFILE_TIME] = { "selvol_textfile_last_success_timestamp_seconds",
                                   "When the metrics were last written to MetricsTextfile=, since the epoch; 0: not yet.",
                                   METRIC_GAUGE },
        [METRIC_CONFIG_REJECTED] = { "selvol_config_rejected",
                                     "1 while an earlier configuration is in force because the last reload was refused.",
                                     METRIC_GAUGE },
        [METRIC_TOTAL_VOLUMES] = { "selvol_volume_manager_total_volumes",
                                   "Volumes recorded.",
                                   METRIC_GAUGE,
                                   { { "plugin_name" }, { "state", volume_state_value } } },
        [METRIC_LABEL_STATES] = { "selvol_volumes_label_state",
                                  "Volumes by what is known of their labels on disk.",
                                  METRIC_GAUGE,
                                  { { "state", files_state_value } } },
        [METRIC_OWNERSHIP_STATES] = { "selvol_volumes_ownership_state",
                                      "Volumes by what is known of the group of their files.",
                                      METRIC_GAUGE,
                                      { { "state", files_state_value } } },
        [METRIC_PARTIAL_LABELS] = { "selvol_volumes_left_partial",
                                    "Volumes with partial labels over which no job walks.", METRIC_GAUGE },
        [METRIC_TAINTED_VOLUMES] = { "selvol_tainted_volumes", "Volumes with files that may have no label on disk.",
                                     METRIC_GAUGE },
        [METRIC_HOLDERS] = { "selvol_holders", "Holders of all volumes.", METRIC_GAUGE },
        [METRIC_UNRECORDED] = { "selvol_unrecorded_mounts", "Mounts of volumes whose record was lost.",
                                METRIC_GAUGE },
        [METRIC_JOBS] = { "selvol_jobs", "Jobs that run.", METRIC_GAUGE },
        [METRIC_JOBS_WAITING] = { "selvol_jobs_waiting", "Jobs that wait in line.", METRIC_GAUGE },
        [METRIC_JOBS_WALKING] = { "selvol_jobs_walking", "Jobs that walk over the files of a volume.", METRIC_GAUGE },
        [METRIC_OLDEST_JOB] = { "selvol_oldest_job_age_seconds",
                                "Age of the oldest job in a state; 0: there is none.",
                                METRIC_GAUGE,
                                { { "state", job_age_value } } },
        [METRIC_WATCHED] = { "selvol_mount_table_watched",
                             "1 while selvol-worker reports changes of the mount table.", METRIC_GAUGE },
        [METRIC_ENFORCING] = { "selvol_selinux_enforcing", "1 if SELinux is enforcing, 0 if permissive, -1 if off.",
                               METRIC_GAUGE },
        [METRIC_BUILD_INFO] = { "selvol_build_info",
                                "1, with the version that is running.",
                                METRIC_GAUGE,
                                { { "version", version_value } } },
        [METRIC_START_TIME] = { "selvol_start_time_seconds", "When the service started, since the epoch.",
                                METRIC_GAUGE },
};

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "model/failure.h"
#include "model/files.h"
#include "model/volume.h"
#include "state/metrics.h"

#include "selvol-config.h"

/* --- the metrics --- */

enum { METRIC_LABELS_MAX = 3, METRIC_BUCKETS_MAX = 14 };

typedef enum MetricKind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM } MetricKind;

typedef struct MetricLabel {
        const char *name;
        const StringTable *values; /* NULL: the plugin, named by callers */
        size_t first;              /* earlier values of the table are never counted */
} MetricLabel;

typedef struct MetricType {
        const char *name;
        const char *help;
        MetricKind kind;
        MetricLabel labels[METRIC_LABELS_MAX]; /* the label of the plugin comes first */
        size_t n_labels;
        const double *buckets;
        size_t n_buckets;
} MetricType;

/* Seconds. Kubernetes uses the slow ones for storage operations; the fast ones fit mounts and commits. */
static const double slow_buckets[] = { .1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
static const double fast_buckets[] = { .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 };

#define DEFINE_WORDS(name, ...)                                    \
        static const char *const name##_table[] = { __VA_ARGS__ }; \
        static const StringTable name##_words = { name##_table, ELEMENTSOF(name##_table) }

DEFINE_WORDS(authorization, "root", "allowed", "denied", "challenge", "unavailable", "changed", "too-many");
DEFINE_WORDS(connection, "job", "watch");
DEFINE_WORDS(forgotten, "room", "ephemeral");
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

static const char *const metric_access_mode_table[ACCESS_MODES] = {
        [ACCESS_INLINE] = "inline",      [ACCESS_READ_WRITE_ONCE] = "RWO", [ACCESS_READ_WRITE_ONCE_POD] = "RWOP",
        [ACCESS_READ_ONLY_MANY] = "ROX", [ACCESS_READ_WRITE_MANY] = "RWX",
};
static const StringTable metric_access_mode_words = { metric_access_mode_table, ACCESS_MODES };

const char *metric_access_mode(AccessMode mode) {
        return metric_access_mode_table[mode];
}

#define COUNT_LABELS(...)            (sizeof((MetricLabel[]){ __VA_ARGS__ }) / sizeof(MetricLabel))
#define COUNTER(id, name, help, ...) [id] = { name, help, METRIC_COUNTER, { __VA_ARGS__ }, COUNT_LABELS(__VA_ARGS__) }
#define GAUGE(id, name, help, ...)   [id] = { name, help, METRIC_GAUGE, { __VA_ARGS__ }, COUNT_LABELS(__VA_ARGS__) }
#define HISTOGRAM(id, buckets, name, help, ...) \
        [id] = { name,                          \
                 help,                          \
                 METRIC_HISTOGRAM,              \
                 { __VA_ARGS__ },               \
                 COUNT_LABELS(__VA_ARGS__),     \
                 buckets,                       \
                 ELEMENTSOF(buckets) }

static const MetricType metric_types[METRICS] = {
        COUNTER(METRIC_CONTAINER_ERRORS, "selvol_volume_manager_selinux_container_errors_total",
                "Requests for which no context could be computed.", { "access_mode", &metric_access_mode_words }),
        COUNTER(METRIC_VOLUME_CONTEXT_MISMATCH_ERRORS,
                "selvol_volume_manager_selinux_volume_context_mismatch_errors_total",
                "Requests refused because the volume is in use with another context.", { "volume_plugin" },
                { "access_mode", &metric_access_mode_words }),
        COUNTER(METRIC_VOLUMES_ADMITTED, "selvol_volume_manager_selinux_volumes_admitted_total",
                "Volumes mounted with a context by their first holder.", { "volume_plugin" },
                { "access_mode", &metric_access_mode_words }),
        HISTOGRAM(METRIC_STORAGE_OPERATION_DURATION, slow_buckets, "selvol_storage_operation_duration_seconds",
                  "Time from the call to the answer.", { "volume_plugin" },
                  { "operation_name", &storage_operation_words }, { "status", &status_words }),
        HISTOGRAM(METRIC_COMMIT_DURATION, fast_buckets, "selvol_commit_duration_seconds",
                  "Time to make a change of the state durable."),
        COUNTER(METRIC_RELABELS, "selvol_relabels_total", "Relabels of volumes by the service.",
                { "outcome", &relabel_words }, { "reason", &relabel_reason_words }),
        COUNTER(METRIC_RELABEL_ENTRIES, "selvol_relabel_entries_total", "Files visited by relabels.",
                { "result", &entry_words }),
        HISTOGRAM(METRIC_RELABEL_DURATION, slow_buckets, "selvol_relabel_duration_seconds",
                  "Duration of relabel walks."),
        COUNTER(METRIC_OWNERSHIP, "selvol_ownership_total",
                "Changes of a volume's group (fsGroup) that were requested.", { "outcome", &ownership_words },
                { "reason", &ownership_reason_words, OWNERSHIP_NOT_ASKED + 1 }),
        COUNTER(METRIC_OWNERSHIP_ENTRIES, "selvol_ownership_entries_total", "Files visited to change their group.",
                { "result", &entry_words }),
        HISTOGRAM(METRIC_OWNERSHIP_DURATION, slow_buckets, "selvol_ownership_duration_seconds",
                  "Duration of ownership walks."),
        HISTOGRAM(METRIC_VERIFY_DURATION, slow_buckets, "selvol_verify_duration_seconds",
                  "Duration of verification walks.", { "depth", &verify_depth_words }),
        COUNTER(METRIC_VERIFICATIONS, "selvol_verifications_total",
                "Verifications of labels and groups that came to a result.", { "depth", &verify_depth_words },
                { "result", &verified_words }),
        COUNTER(METRIC_DECISIONS, "selvol_decisions_total", "Plans carried out.", { "strategy", &strategy_words },
                { "reason", &reason_words }),
        COUNTER(METRIC_REFUSALS, "selvol_refusals_total", "Calls answered with an error.",
                { "error", &failure_kind_words, FAILURE_NONE + 1 }),
        COUNTER(METRIC_AUTHORIZATIONS, "selvol_authorizations_total", "Authorization decisions.",
                { "result", &authorization_words }),
        COUNTER(METRIC_WORKER_FAILURES, "selvol_worker_failures_total",
                "Times that selvol-worker could not be reached or gave no valid answer, or that selvold had no memory for one.",
                { "connection", &connection_words }),
        COUNTER(METRIC_HOLDERS_LOST, "selvol_holders_lost_total",
                "Holders whose mount another program unmounted unexpectedly."),
        COUNTER(METRIC_RECONCILED, "selvol_reconciled_total",
                "Interrupted operations settled by comparison with the mount table.",
                { "outcome", &reconciled_words }),
        COUNTER(METRIC_STORE_ERRORS, "selvol_store_errors_total", "Failed commits of the state."),
        COUNTER(METRIC_TEXTFILE_ERRORS, "selvol_textfile_errors_total",
                "Failed writes of the metrics to MetricsTextfile=."),
        GAUGE(METRIC_TEXTFILE_TIME, "selvol_textfile_last_success_timestamp_seconds",
              "When the metrics were last written to MetricsTextfile=, since the epoch; 0: not yet."),
        GAUGE(METRIC_CONFIG_REJECTED, "selvol_config_rejected",
              "1 while an earlier configuration is in force because the last reload was refused."),
        GAUGE(METRIC_TOTAL_VOLUMES, "selvol_volume_manager_total_volumes", "Volumes recorded.", { "plugin_name" },
              { "state", &volume_state_words }),
        GAUGE(METRIC_VOLUMES_LIMIT, "selvol_volumes_limit", "Volumes that can be recorded."),
        COUNTER(METRIC_VOLUMES_FORGOTTEN, "selvol_volumes_forgotten_total",
                "Volumes without holders that selvold forgot by itself.", { "reason", &forgotten_words }),
        GAUGE(METRIC_LABEL_STATES, "selvol_volumes_label_state", "Volumes by what is known of their labels on disk.",
              { "state", &files_state_words }),
        GAUGE(METRIC_OWNERSHIP_STATES, "selvol_volumes_ownership_state",
              "Volumes by what is known of the group of their files.", { "state", &files_state_words }),
        GAUGE(METRIC_PARTIAL_LABELS, "selvol_volumes_left_partial",
              "Volumes with partial labels over which no job walks."),
        GAUGE(METRIC_TAINTED_VOLUMES, "selvol_tainted_volumes", "Volumes with files that may have no label on disk."),
        GAUGE(METRIC_HOLDERS, "selvol_holders", "Holders of all volumes."),
        GAUGE(METRIC_UNRECORDED, "selvol_unrecorded_mounts", "Mounts of volumes whose record was lost."),
        GAUGE(METRIC_JOBS, "selvol_jobs", "Jobs that run."),
        GAUGE(METRIC_JOBS_WAITING, "selvol_jobs_waiting", "Jobs that are queued."),
        GAUGE(METRIC_JOBS_WALKING, "selvol_jobs_walking", "Jobs that walk over the files of a volume."),
        GAUGE(METRIC_OLDEST_JOB, "selvol_oldest_job_age_seconds",
              "Age of the oldest job in a state; 0: there is none.", { "state", &job_age_words }),
        GAUGE(METRIC_WATCHED, "selvol_mount_table_watched",
              "1 while selvol-worker reports changes of the mount table."),
        GAUGE(METRIC_ENFORCING, "selvol_selinux_enforcing", "1 if SELinux is enforcing, 0 if permissive, -1 if off."),
        GAUGE(METRIC_BUILD_INFO, "selvol_build_info", "1, with the version that is running.",
              { "version", &version_words }),
        GAUGE(METRIC_START_TIME, "selvol_start_time_seconds", "When the service started, since the epoch."),
};

/* --- the series --- */

enum { PLUGINS_MAX = 32 };

/* The plugin that job-metrics.c counts for requests without one. */
static const char first_plugin[] = "kubernetes.io/csi";
/* For plugins beyond the limit, and for words that are in no table. */
static const char other[] = "other";

typedef struct Series {
        double value; /* of a histogram: the sum */
        uint64_t count;
        uint64_t buckets[METRIC_BUCKETS_MAX]; /* not cumulative */
} Series;

/* The series of a metric: all combinations of the values of its labels, for each plugin if it has that
 * label. */
struct Metrics {
        Series *series[METRICS];
        char *plugins[PLUGINS_MAX];
        size_t n_plugins;
};

static bool has_plugin(MetricId id) {
        return metric_types[id].n_labels > 0 && !metric_types[id].labels[0].values;
}

/* "other" comes after the values of the table. Each plugin has series of its own. */
static size_t count_values(const MetricLabel *label) {
        return label->values ? label->values->n - label->first + 1 : 1;
}

/* The number of series of one plugin. */
static size_t count_combinations(MetricId id) {
        size_t n = 1;

        for (size_t i = 0; i < metric_types[id].n_labels; i++)
                n *= count_values(&metric_types[id].labels[i]);
        return n;
}

static size_t count_series(const Metrics *m, MetricId id) {
        return count_combinations(id) * (has_plugin(id) ? m->n_plugins : 1);
}

/* Makes room for the series of one more plugin, all 0. */
static int grow_series(Metrics *m, MetricId id) {
        size_t n = has_plugin(id) ? m->n_plugins : 0, combinations = count_combinations(id);
        Series *grown = reallocarray(m->series[id], (n + 1) * combinations, sizeof(Series));

        if (!grown)
                return -ENOMEM;
        m->series[id] = grown;
        memset(grown + n * combinations, 0, combinations * sizeof(Series));
        return 0;
}

static int add_plugin(Metrics *m, const char *name) {
        _cleanup_free_ char *copy = strdup(name);

        if (!copy)
                return -ENOMEM;
        for (MetricId id = 0; id < METRICS; id++)
                if (has_plugin(id) && grow_series(m, id) < 0)
                        return -ENOMEM;
        m->plugins[m->n_plugins++] = TAKE_PTR(copy);
        return 0;
}

Metrics *metrics_new(void) {
        _cleanup_(metrics_freep) Metrics *m = calloc(1, sizeof(Metrics));

        if (!m || add_plugin(m, first_plugin) < 0)
                return NULL;
        for (MetricId id = 0; id < METRICS; id++)
                if (!has_plugin(id) && grow_series(m, id) < 0)
                        return NULL;
        return TAKE_PTR(m);
}

Metrics *metrics_free(Metrics *m) {
        if (!m)
                return NULL;
        for (size_t id = 0; id < METRICS; id++)
                free(m->series[id]);
        for (size_t i = 0; i < m->n_plugins; i++)
                free(m->plugins[i]);
        free(m);
        return NULL;
}

void metrics_reset(Metrics *m, MetricId id) {
        memset(m->series[id], 0, count_series(m, id) * sizeof(Series));
}

/* The index of the plugin, or a negative errno. */
static int find_plugin(Metrics *m, const char *name) {
        int r;

        for (size_t i = 0; i < m->n_plugins; i++)
                if (streq(m->plugins[i], name))
                        return (int) i;
        if (m->n_plugins == PLUGINS_MAX)
                return PLUGINS_MAX - 1;
        r = add_plugin(m, m->n_plugins == PLUGINS_MAX - 1 ? other : name);
        return r < 0 ? r : (int) m->n_plugins - 1;
}

static Series *find_series(Metrics *m, MetricId id, va_list ap) {
        const MetricType *type = &metric_types[id];
        size_t n = 0;

        for (size_t i = 0; i < type->n_labels; i++) {
                const MetricLabel *label = &type->labels[i];
                const char *value = va_arg(ap, const char *);
                size_t place, n_values = count_values(label);
                int r;

                if (!label->values) {
                        r = find_plugin(m, value);
                        if (r < 0)
                                return NULL;
                        place = (size_t) r;
                } else {
                        /* Callers can only name plugins; but an unknown word must not end the service. */
                        r = string_table_find(label->values, value);
                        place = r >= (int) label->first ? (size_t) r - label->first : n_values - 1;
                }
                n = n * n_values + place;
        }
        return &m->series[id][n];
}

void metrics_add(Metrics *m, MetricId id, uint64_t n, ...) {
        va_list ap;
        Series *s;

        va_start(ap, n);
        s = find_series(m, id, ap);
        va_end(ap);
        if (s)
                s->value += (double) n;
}

void metrics_set(Metrics *m, MetricId id, double value, ...) {
        va_list ap;
        Series *s;

        va_start(ap, value);
        s = find_series(m, id, ap);
        va_end(ap);
        if (s)
                s->value = value;
}

void metrics_observe(Metrics *m, MetricId id, uint64_t usec, ...) {
        const MetricType *type = &metric_types[id];
        double seconds = (double) usec / 1e6;
        size_t i = 0;
        va_list ap;
        Series *s;

        va_start(ap, usec);
        s = find_series(m, id, ap);
        va_end(ap);
        if (!s)
                return;

        while (i < type->n_buckets && seconds > type->buckets[i])
                i++;
        if (i < type->n_buckets)
                s->buckets[i]++;
        s->count++;
        s->value += seconds;
}

static void print_value(FILE *f, const char *s) {
        fputc('"', f);
        for (; *s; s++)
                switch (*s) {
                case '\n':
                        fputs("\\n", f);
                        break;
                case '"':
                case '\\':
                        fputc('\\', f);
                        _fallthrough_;
                default:
                        fputc(*s, f);
                }
        fputc('"', f);
}

/* The label values of the nth series. */
static void get_values(const Metrics *m, MetricId id, size_t n, const char *values[static METRIC_LABELS_MAX]) {
        size_t left = count_combinations(id);

        if (has_plugin(id))
                values[0] = m->plugins[n / left];
        for (size_t i = has_plugin(id); i < metric_types[id].n_labels; i++) {
                const MetricLabel *label = &metric_types[id].labels[i];

                n %= left;
                left /= count_values(label);
                values[i] = string_table_get(label->values, label->first + n / left) ?: other;
        }
}

/* A series of "other" without any count. */
static bool is_idle_other(const Metrics *m, MetricId id, size_t n) {
        const char *values[METRIC_LABELS_MAX] = { NULL };
        const Series *s = &m->series[id][n];

        get_values(m, id, n, values);
        for (size_t i = has_plugin(id); i < metric_types[id].n_labels; i++)
                if (values[i] == other)
                        return s->count == 0 && s->value == 0;
        return false;
}

/* Prints {label="value",...,le="bound"} of the nth series; nothing without labels and bound. */
static void print_labels(FILE *f, const Metrics *m, MetricId id, size_t n, const char *bound) {
        const char *values[METRIC_LABELS_MAX] = { NULL };
        size_t n_labels = metric_types[id].n_labels;

        if (n_labels == 0 && !bound)
                return;
        get_values(m, id, n, values);
        fputc('{', f);
        for (size_t i = 0; i < n_labels; i++) {
                fprintf(f, "%s%s=", i > 0 ? "," : "", metric_types[id].labels[i].name);
                print_value(f, strempty(values[i]));
        }
        if (bound)
                fprintf(f, "%sle=\"%s\"", n_labels > 0 ? "," : "", bound);
        fputc('}', f);
}

static void print_bucket(FILE *f, const Metrics *m, MetricId id, size_t n, const char *bound, uint64_t count) {
        fprintf(f, "%s_bucket", metric_types[id].name);
        print_labels(f, m, id, n, bound);
        fprintf(f, " %llu\n", (unsigned long long) count);
}

static void print_histogram(FILE *f, const Metrics *m, MetricId id, size_t n) {
        const MetricType *type = &metric_types[id];
        const Series *s = &m->series[id][n];
        uint64_t sum = 0;

        for (size_t i = 0; i < type->n_buckets; i++) {
                char bound[32];

                sum += s->buckets[i];
                (void) snprintf(bound, sizeof(bound), "%g", type->buckets[i]);
                print_bucket(f, m, id, n, bound, sum);
        }
        print_bucket(f, m, id, n, "+Inf", s->count);
        fprintf(f, "%s_sum", type->name);
        print_labels(f, m, id, n, NULL);
        fprintf(f, " %.9g\n%s_count", s->value, type->name);
        print_labels(f, m, id, n, NULL);
        fprintf(f, " %llu\n", (unsigned long long) s->count);
}

char *metrics_render(const Metrics *m) {
        static const char *const kinds[] = {
                [METRIC_COUNTER] = "counter",
                [METRIC_GAUGE] = "gauge",
                [METRIC_HISTOGRAM] = "histogram",
        };
        char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        for (MetricId id = 0; id < METRICS; id++) {
                const MetricType *type = &metric_types[id];

                fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", type->name, type->help, type->name, kinds[type->kind]);
                for (size_t n = 0; n < count_series(m, id); n++)
                        if (is_idle_other(m, id, n))
                                continue;
                        else if (type->kind == METRIC_HISTOGRAM)
                                print_histogram(f, m, id, n);
                        else {
                                fputs(type->name, f);
                                print_labels(f, m, id, n, NULL);
                                fprintf(f, " %.15g\n", m->series[id][n].value);
                        }
        }

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

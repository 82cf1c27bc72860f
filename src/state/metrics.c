/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "basic/string-util.h"
#include "state/metrics.h"

enum { LABELS_MAX = 3, BUCKETS_MAX = 14, SERIES_MAX = 512 };

typedef enum MetricKind { COUNTER, GAUGE, HISTOGRAM } MetricKind;

/* Seconds; the first set is Kubernetes' for storage operations, the second fits mounts and commits. */
static const double slow_buckets[] = { .1, .25, .5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600 };
static const double fast_buckets[] = { .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10 };

static const struct {
        const char *name;
        const char *help;
        MetricKind kind;
        const char *labels[LABELS_MAX];
        const double *buckets;
        size_t n_buckets;
} descriptors[METRICS] = {
        [METRIC_CONTAINER_ERRORS] = { "selvol_volume_manager_selinux_container_errors_total",
                                      "Requests for which no context could be computed.",
                                      COUNTER,
                                      { "access_mode" } },
        [METRIC_VOLUME_CONTEXT_MISMATCH_ERRORS] = { "selvol_volume_manager_selinux_volume_context_mismatch_errors_total",
                                                    "Requests refused because the volume is in use with another context.",
                                                    COUNTER,
                                                    { "volume_plugin", "access_mode" } },
        [METRIC_VOLUMES_ADMITTED] = { "selvol_volume_manager_selinux_volumes_admitted_total",
                                      "Volumes that were mounted with a context by their first holder.",
                                      COUNTER,
                                      { "volume_plugin", "access_mode" } },
        [METRIC_STORAGE_OPERATION_DURATION] = { "selvol_storage_operation_duration_seconds",
                                                "Time from the call to the answer.",
                                                HISTOGRAM,
                                                { "volume_plugin", "operation_name", "status" },
                                                slow_buckets,
                                                ELEMENTSOF(slow_buckets) },
        [METRIC_COMMIT_DURATION] = { "selvol_commit_duration_seconds",
                                     "Time to make a change of the state durable.",
                                     HISTOGRAM,
                                     { NULL },
                                     fast_buckets,
                                     ELEMENTSOF(fast_buckets) },
        [METRIC_RELABELS] = { "selvol_relabels_total",
                              "Relabels of a volume by the service, by how they went and why.",
                              COUNTER,
                              { "outcome", "reason" } },
        [METRIC_RELABEL_ENTRIES] = { "selvol_relabel_entries_total",
                                     "Files that were visited by relabels.",
                                     COUNTER,
                                     { "result" } },
        [METRIC_RELABEL_DURATION] = { "selvol_relabel_duration_seconds",
                                      "Time that relabels walked over files.",
                                      HISTOGRAM,
                                      { NULL },
                                      slow_buckets,
                                      ELEMENTSOF(slow_buckets) },
        [METRIC_OWNERSHIP] = { "selvol_ownership_total",
                               "Volumes that were to be given to a group (fsGroup), by how that was done and why.",
                               COUNTER,
                               { "outcome", "reason" } },
        [METRIC_OWNERSHIP_ENTRIES] = { "selvol_ownership_entries_total",
                                       "Files that were visited to be given to a group.",
                                       COUNTER,
                                       { "result" } },
        [METRIC_OWNERSHIP_DURATION] = { "selvol_ownership_duration_seconds",
                                        "Time that changes of the group walked over files.",
                                        HISTOGRAM,
                                        { NULL },
                                        slow_buckets,
                                        ELEMENTSOF(slow_buckets) },
        [METRIC_VERIFY_DURATION] = { "selvol_verify_duration_seconds",
                                     "Time that verifications walked over files.",
                                     HISTOGRAM,
                                     { "depth" },
                                     slow_buckets,
                                     ELEMENTSOF(slow_buckets) },
        [METRIC_DECISIONS] = { "selvol_decisions_total",
                               "Plans that were carried out.",
                               COUNTER,
                               { "strategy", "reason" } },
        [METRIC_REFUSALS] = { "selvol_refusals_total",
                              "Calls that were answered with an error.",
                              COUNTER,
                              { "error" } },
        [METRIC_AUTHORIZATIONS] = { "selvol_authorizations_total",
                                    "Authorization decisions.",
                                    COUNTER,
                                    { "result" } },
        [METRIC_HOLDERS_LOST] = { "selvol_holders_lost_total", "Holders whose mount somebody else took away.",
                                  COUNTER },
        [METRIC_RECONCILED] = { "selvol_reconciled_total",
                                "Records compared with the mount table at a start.",
                                COUNTER,
                                { "outcome" } },
        [METRIC_STORE_ERRORS] = { "selvol_store_errors_total", "Failed commits of the state.", COUNTER },
        [METRIC_TOTAL_VOLUMES] = { "selvol_volume_manager_total_volumes",
                                   "Volumes known, by whether they are held.",
                                   GAUGE,
                                   { "plugin_name", "state" } },
        [METRIC_TAINTED_VOLUMES] = { "selvol_tainted_volumes", "Volumes with files that may have no label on disk.",
                                     GAUGE },
        [METRIC_HOLDERS] = { "selvol_holders", "Holders of all volumes.", GAUGE },
        [METRIC_UNRECORDED] = { "selvol_unrecorded_mounts",
                                "Mounts of volumes whose record was lost: see UnrecordedMounts.", GAUGE },
        [METRIC_JOBS] = { "selvol_jobs", "Jobs that are running.", GAUGE },
        [METRIC_JOBS_WAITING] = { "selvol_jobs_waiting", "Jobs that wait in line.", GAUGE },
        [METRIC_JOBS_WALKING] = { "selvol_jobs_walking", "Jobs that walk over the files of a volume.", GAUGE },
        [METRIC_ENFORCING] = { "selvol_selinux_enforcing", "1 if SELinux is enforcing, 0 if permissive, -1 if off.",
                               GAUGE },
        [METRIC_BUILD_INFO] = { "selvol_build_info", "The version that is running.", GAUGE, { "version" } },
        [METRIC_START_TIME] = { "selvol_start_time_seconds", "When the service started, since the epoch.", GAUGE },
};

typedef struct Series {
        char *values[LABELS_MAX];
        double value; /* a histogram's sum */
        uint64_t count;
        uint64_t buckets[BUCKETS_MAX]; /* not cumulative */
} Series;

struct Metrics {
        Series *series[METRICS];
        size_t n_series[METRICS];
};

static size_t count_labels(MetricId id) {
        size_t n = 0;

        while (n < LABELS_MAX && descriptors[id].labels[n])
                n++;
        return n;
}

static void series_done(Series *s) {
        for (size_t i = 0; i < LABELS_MAX; i++)
                free(s->values[i]);
}

Metrics *metrics_new(void) {
        return calloc(1, sizeof(Metrics));
}

void metrics_reset(Metrics *m, MetricId id) {
        for (size_t i = 0; i < m->n_series[id]; i++)
                series_done(&m->series[id][i]);
        free(m->series[id]);
        m->series[id] = NULL;
        m->n_series[id] = 0;
}

Metrics *metrics_free(Metrics *m) {
        if (m) {
                for (size_t id = 0; id < METRICS; id++)
                        metrics_reset(m, id);
                free(m);
        }
        return NULL;
}

static Series *find_series(const Metrics *m, MetricId id, const char *const values[static LABELS_MAX]) {
        size_t n_labels = count_labels(id);

        for (size_t k = 0; k < m->n_series[id]; k++) {
                Series *s = &m->series[id][k];
                size_t i = 0;

                while (i < n_labels && streq(s->values[i], values[i]))
                        i++;
                if (i == n_labels)
                        return s;
        }
        return NULL;
}

/* The series with these label values, made when absent. Past the limit new ones are one, named "other". */
static Series *get_series(Metrics *m, MetricId id, va_list ap) {
        const char *values[LABELS_MAX] = { NULL };
        size_t n_labels = count_labels(id);
        Series *grown, *s;

        for (size_t i = 0; i < n_labels; i++)
                values[i] = va_arg(ap, const char *);
        s = find_series(m, id, values);
        if (!s && n_labels > 0 && m->n_series[id] >= SERIES_MAX) {
                for (size_t i = 0; i < n_labels; i++)
                        values[i] = "other";
                s = find_series(m, id, values);
        }
        if (s)
                return s;

        grown = reallocarray(m->series[id], m->n_series[id] + 1, sizeof(Series));
        if (!grown)
                return NULL;
        m->series[id] = grown;
        s = &grown[m->n_series[id]];
        *s = (Series){ 0 };
        for (size_t i = 0; i < n_labels; i++) {
                s->values[i] = strdup(values[i]);
                if (!s->values[i]) {
                        series_done(s);
                        return NULL;
                }
        }
        m->n_series[id]++;
        return s;
}

void metrics_count(Metrics *m, MetricId id, ...) {
        va_list ap;
        Series *s;

        va_start(ap, id);
        s = get_series(m, id, ap);
        va_end(ap);
        if (s)
                s->value++;
}

void metrics_add(Metrics *m, MetricId id, uint64_t n, ...) {
        va_list ap;
        Series *s;

        va_start(ap, n);
        s = get_series(m, id, ap);
        va_end(ap);
        if (s)
                s->value += (double) n;
}

void metrics_set(Metrics *m, MetricId id, double value, ...) {
        va_list ap;
        Series *s;

        va_start(ap, value);
        s = get_series(m, id, ap);
        va_end(ap);
        if (s)
                s->value = value;
}

void metrics_observe(Metrics *m, MetricId id, uint64_t usec, ...) {
        double seconds = (double) usec / 1e6;
        size_t i = 0;
        va_list ap;
        Series *s;

        va_start(ap, usec);
        s = get_series(m, id, ap);
        va_end(ap);
        if (!s)
                return;

        while (i < descriptors[id].n_buckets && seconds > descriptors[id].buckets[i])
                i++;
        if (i < descriptors[id].n_buckets)
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

/* {label="value",...,le="bound"}; nothing at all without labels and bound. */
static void print_labels(FILE *f, MetricId id, const Series *s, const char *bound) {
        size_t n = count_labels(id);

        if (n == 0 && !bound)
                return;
        fputc('{', f);
        for (size_t i = 0; i < n; i++) {
                fprintf(f, "%s%s=", i > 0 ? "," : "", descriptors[id].labels[i]);
                print_value(f, s->values[i]);
        }
        if (bound)
                fprintf(f, "%sle=\"%s\"", n > 0 ? "," : "", bound);
        fputc('}', f);
}

static void print_histogram(FILE *f, MetricId id, const Series *s) {
        const char *name = descriptors[id].name;
        uint64_t sum = 0;

        for (size_t i = 0; i < descriptors[id].n_buckets; i++) {
                char bound[32];

                sum += s->buckets[i];
                (void) snprintf(bound, sizeof(bound), "%g", descriptors[id].buckets[i]);
                fprintf(f, "%s_bucket", name);
                print_labels(f, id, s, bound);
                fprintf(f, " %llu\n", (unsigned long long) sum);
        }
        fprintf(f, "%s_bucket", name);
        print_labels(f, id, s, "+Inf");
        fprintf(f, " %llu\n%s_sum", (unsigned long long) s->count, name);
        print_labels(f, id, s, NULL);
        fprintf(f, " %.9g\n%s_count", s->value, name);
        print_labels(f, id, s, NULL);
        fprintf(f, " %llu\n", (unsigned long long) s->count);
}

char *metrics_render(const Metrics *m) {
        static const char *const kinds[] = { [COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram" };
        static const Series none;
        char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        for (MetricId id = 0; id < METRICS; id++) {
                size_t n = m->n_series[id];
                /* What has no labels is there from the start, so that a rate can be taken of the first event. */
                const Series *series = n > 0 ? m->series[id] : &none;

                if (n == 0 && count_labels(id) > 0)
                        continue;
                fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", descriptors[id].name, descriptors[id].help,
                        descriptors[id].name, kinds[descriptors[id].kind]);
                for (size_t i = 0; i < (n > 0 ? n : 1); i++)
                        if (descriptors[id].kind == HISTOGRAM)
                                print_histogram(f, id, &series[i]);
                        else {
                                fputs(descriptors[id].name, f);
                                print_labels(f, id, &series[i], NULL);
                                fprintf(f, " %.15g\n", series[i].value);
                        }
        }

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

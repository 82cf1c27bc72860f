/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "basic/string-util.h"
#include "state/metrics.h"

enum { PLUGINS_MAX = 32 };

/* What job-metrics.c calls the plugin of requests that name none. */
static const char first_plugin[] = "kubernetes.io/csi";
/* Plugins beyond the limit, and words that are in no table. */
static const char other[] = "other";

typedef struct Series {
        double value; /* a histogram's sum */
        uint64_t count;
        uint64_t buckets[METRIC_BUCKETS_MAX]; /* not cumulative */
} Series;

/* The series of a metric: for each plugin, if it has that label, all combinations of the other labels' values. */
struct Metrics {
        Series *series[METRICS];
        char *plugins[PLUGINS_MAX];
        size_t n_plugins;
};

static size_t count_labels(MetricId id) {
        size_t n = 0;

        while (n < METRIC_LABELS_MAX && metric_types[id].labels[n].name)
                n++;
        return n;
}

static bool has_plugin(MetricId id) {
        return count_labels(id) > 0 && !metric_types[id].labels[0].value;
}

/* Those of its table, before "other". */
static size_t count_known(const MetricLabel *label) {
        size_t n = 0;

        while (label->value(n))
                n++;
        return n;
}

static size_t count_values(const MetricLabel *label) {
        return label->value ? count_known(label) + 1 : 1;
}

/* Those of one plugin. */
static size_t count_combinations(MetricId id) {
        size_t n = 1;

        for (size_t i = 0; i < count_labels(id); i++)
                n *= count_values(&metric_types[id].labels[i]);
        return n;
}

static size_t count_series(const Metrics *m, MetricId id) {
        return count_combinations(id) * (has_plugin(id) ? m->n_plugins : 1);
}

/* Makes room for the series of one plugin more, all 0. */
static int grow(Metrics *m, MetricId id) {
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
                if (has_plugin(id) && grow(m, id) < 0)
                        return -ENOMEM;
        m->plugins[m->n_plugins++] = TAKE_PTR(copy);
        return 0;
}

Metrics *metrics_new(void) {
        _cleanup_(metrics_freep) Metrics *m = calloc(1, sizeof(Metrics));

        if (!m || add_plugin(m, first_plugin) < 0)
                return NULL;
        for (MetricId id = 0; id < METRICS; id++)
                if (!has_plugin(id) && grow(m, id) < 0)
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

/* Its place among the plugins, or a negative errno. */
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

/* Who calls can name plugins only, but no word at all is worth an end of the service. */
static size_t find_value(const MetricLabel *label, const char *value) {
        size_t n = count_known(label), i = 0;

        while (i < n && !streq_ptr(label->value(i), value))
                i++;
        return i;
}

static Series *find_series(Metrics *m, MetricId id, va_list ap) {
        size_t n_labels = count_labels(id), n = 0;

        for (size_t i = 0; i < n_labels; i++) {
                const MetricLabel *label = &metric_types[id].labels[i];
                const char *value = va_arg(ap, const char *);

                if (label->value)
                        n = n * count_values(label) + find_value(label, value);
                else {
                        int plugin = find_plugin(m, value);

                        if (plugin < 0)
                                return NULL;
                        n = (size_t) plugin;
                }
        }
        return &m->series[id][n];
}

void metrics_count(Metrics *m, MetricId id, ...) {
        va_list ap;
        Series *s;

        va_start(ap, id);
        s = find_series(m, id, ap);
        va_end(ap);
        if (s)
                s->value++;
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

/* The values of the nth series' labels. */
static void get_values(const Metrics *m, MetricId id, size_t n, const char *values[static METRIC_LABELS_MAX]) {
        size_t left = count_combinations(id);

        if (has_plugin(id))
                values[0] = m->plugins[n / left];
        for (size_t i = has_plugin(id); i < count_labels(id); i++) {
                const MetricLabel *label = &metric_types[id].labels[i];

                n %= left;
                left /= count_values(label);
                values[i] = label->value(n / left) ?: other;
        }
}

/* Nothing has been counted there, and nothing should be. */
static bool is_idle_other(const Metrics *m, MetricId id, size_t n) {
        const char *values[METRIC_LABELS_MAX] = { NULL };
        const Series *s = &m->series[id][n];

        get_values(m, id, n, values);
        for (size_t i = has_plugin(id); i < count_labels(id); i++)
                if (values[i] == other)
                        return s->count == 0 && s->value == 0;
        return false;
}

/* {label="value",...,le="bound"} of the nth series; nothing at all without labels and bound. */
static void print_labels(FILE *f, const Metrics *m, MetricId id, size_t n, const char *bound) {
        const char *values[METRIC_LABELS_MAX] = { NULL };
        size_t n_labels = count_labels(id);

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

static void print_sample(FILE *f, const Metrics *m, MetricId id, size_t n) {
        fputs(metric_types[id].name, f);
        print_labels(f, m, id, n, NULL);
        fprintf(f, " %.15g\n", m->series[id][n].value);
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
        char *text = NULL;
        size_t size;
        FILE *f;

        f = open_memstream(&text, &size);
        if (!f)
                return NULL;

        for (MetricId id = 0; id < METRICS; id++) {
                const MetricType *type = &metric_types[id];

                fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", type->name, type->help, type->name,
                        metric_kind_to_string(type->kind));
                for (size_t n = 0; n < count_series(m, id); n++)
                        if (is_idle_other(m, id, n))
                                continue;
                        else if (type->kind == METRIC_HISTOGRAM)
                                print_histogram(f, m, id, n);
                        else
                                print_sample(f, m, id, n);
        }

        if (fclose(f) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

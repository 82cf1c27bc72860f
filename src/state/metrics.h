/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "basic/cleanup.h"
#include "model/request.h"

/* Counters and histograms in Prometheus' text format 0.0.4. The names are those of Kubernetes' storage and
 * SELinux metrics with the prefix selvol_. The counters count transitions, not retries. Volume ids are never
 * labels. See docs/selvol-metrics.7.rst. */

/* The comments list the labels of each metric; metrics.c lists the values of each label. */
typedef enum MetricId {
        METRIC_CONTAINER_ERRORS,               /* access_mode */
        METRIC_VOLUME_CONTEXT_MISMATCH_ERRORS, /* volume_plugin, access_mode */
        METRIC_VOLUMES_ADMITTED,               /* volume_plugin, access_mode */
        METRIC_STORAGE_OPERATION_DURATION,     /* volume_plugin, operation_name, status: histogram */
        METRIC_COMMIT_DURATION,                /* histogram */
        METRIC_RELABELS,                       /* outcome, reason */
        METRIC_RELABEL_ENTRIES,                /* result */
        METRIC_RELABEL_DURATION,               /* histogram */
        METRIC_OWNERSHIP,                      /* outcome, reason */
        METRIC_OWNERSHIP_ENTRIES,              /* result */
        METRIC_OWNERSHIP_DURATION,             /* histogram */
        METRIC_VERIFY_DURATION,                /* depth: histogram */
        METRIC_VERIFICATIONS,                  /* depth, result */
        METRIC_DECISIONS,                      /* strategy, reason */
        METRIC_REFUSALS,                       /* error */
        METRIC_AUTHORIZATIONS,                 /* result */
        METRIC_WORKER_FAILURES,                /* connection */
        METRIC_HOLDERS_LOST,
        METRIC_RECONCILED, /* outcome */
        METRIC_STORE_ERRORS,
        METRIC_TEXTFILE_ERRORS,
        METRIC_TEXTFILE_TIME,     /* gauge */
        METRIC_CONFIG_REJECTED,   /* gauge */
        METRIC_TOTAL_VOLUMES,     /* plugin_name, state: gauge */
        METRIC_VOLUMES_LIMIT,     /* gauge */
        METRIC_VOLUMES_FORGOTTEN, /* reason */
        METRIC_LABEL_STATES,      /* state: gauge */
        METRIC_OWNERSHIP_STATES,  /* state: gauge */
        METRIC_PARTIAL_LABELS,    /* gauge */
        METRIC_TAINTED_VOLUMES,   /* gauge */
        METRIC_HOLDERS,           /* gauge */
        METRIC_UNRECORDED,        /* gauge */
        METRIC_JOBS,              /* gauge */
        METRIC_JOBS_WAITING,      /* gauge */
        METRIC_JOBS_WALKING,      /* gauge */
        METRIC_OLDEST_JOB,        /* state: gauge */
        METRIC_WATCHED,           /* gauge */
        METRIC_ENFORCING,         /* gauge */
        METRIC_BUILD_INFO,        /* version: gauge */
        METRIC_START_TIME,        /* gauge */
        METRICS,
} MetricId;

typedef struct Metrics Metrics;

/* Every series exists from the start, with 0. Exceptions: the series of a plugin exist once a caller has
 * named the plugin, those of "other" once something was counted there. */
Metrics *metrics_new(void);
Metrics *metrics_free(Metrics *m);
DEFINE_CLEANUP_FUNC(Metrics *, metrics_free);

/* The variable arguments are the values of the metric's labels, in their order, as strings. An unknown value,
 * and a plugin beyond the limit, become "other". When memory is out, a sample is lost. metrics_count() adds 1
 * to a counter or a gauge, metrics_add() adds n. */
void metrics_add(Metrics *m, MetricId id, uint64_t n, ...);
void metrics_set(Metrics *m, MetricId id, double value, ...);
void metrics_observe(Metrics *m, MetricId id, uint64_t usec, ...);
#define metrics_count(m, id, ...) metrics_add(m, id, 1 __VA_OPT__(, ) __VA_ARGS__)
/* Sets all series of a gauge to 0, before they are counted again. */
void metrics_reset(Metrics *m, MetricId id);

/* The text, owned by the caller. NULL: out of memory. */
char *metrics_render(const Metrics *m);

/* Kubernetes' abbreviation of the mode. */
const char *metric_access_mode(AccessMode mode);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* Counters and histograms in Prometheus' text format 0.0.4. Names are those of Kubernetes' storage and SELinux
 * metrics with the prefix selvol_, but true counters that count transitions, not retries. Label values come from
 * closed sets; driver names are cut off at a limit, volume ids are never labels. */

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
        METRIC_DECISIONS,                      /* strategy, reason */
        METRIC_REFUSALS,                       /* error */
        METRIC_AUTHORIZATIONS,                 /* result */
        METRIC_HOLDERS_LOST,
        METRIC_RECONCILED, /* outcome */
        METRIC_STORE_ERRORS,
        METRIC_TOTAL_VOLUMES,   /* volume_plugin, state: gauge */
        METRIC_TAINTED_VOLUMES, /* gauge */
        METRIC_HOLDERS,         /* gauge */
        METRIC_UNRECORDED,      /* gauge */
        METRIC_JOBS,            /* gauge */
        METRIC_JOBS_WAITING,    /* gauge */
        METRIC_JOBS_WALKING,    /* gauge */
        METRIC_ENFORCING,       /* gauge */
        METRIC_BUILD_INFO,      /* version: gauge */
        METRIC_START_TIME,      /* gauge */
        METRICS,
} MetricId;

typedef struct Metrics Metrics;

Metrics *metrics_new(void);
Metrics *metrics_free(Metrics *m);
DEFINE_CLEANUP_FUNC(Metrics *, metrics_free);

/* All take the values of the metric's labels, in the order above, as strings; lack of memory loses a sample.
 * metrics_count() adds one, to a counter or a gauge, metrics_add() n. */
void metrics_count(Metrics *m, MetricId id, ...);
void metrics_add(Metrics *m, MetricId id, uint64_t n, ...);
void metrics_set(Metrics *m, MetricId id, double value, ...);
void metrics_observe(Metrics *m, MetricId id, uint64_t usec, ...);
/* Forgets all samples of a gauge, before it is set anew. */
void metrics_reset(Metrics *m, MetricId id);

/* The text, owned by the caller; NULL on lack of memory. */
char *metrics_render(const Metrics *m);

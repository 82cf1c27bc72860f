/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

#include "model/request.h"

/* What metrics there are: names, labels, and all values that a label can have, so that every series is there from the start.
 * Names are those of Kubernetes' storage and SELinux metrics with the prefix selvol_, but true counters that count transitions,
 * not retries. Volume ids are never labels. docs/selvol-metrics.7.rst explains them. */

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
        METRIC_TEXTFILE_TIME,    /* gauge */
        METRIC_CONFIG_REJECTED,  /* gauge */
        METRIC_TOTAL_VOLUMES,    /* plugin_name, state: gauge */
        METRIC_LABEL_STATES,     /* state: gauge */
        METRIC_OWNERSHIP_STATES, /* state: gauge */
        METRIC_PARTIAL_LABELS,   /* gauge */
        METRIC_TAINTED_VOLUMES,  /* gauge */
        METRIC_HOLDERS,          /* gauge */
        METRIC_UNRECORDED,       /* gauge */
        METRIC_JOBS,             /* gauge */
        METRIC_JOBS_WAITING,     /* gauge */
        METRIC_JOBS_WALKING,     /* gauge */
        METRIC_OLDEST_JOB,       /* state: gauge */
        METRIC_WATCHED,          /* gauge */
        METRIC_ENFORCING,        /* gauge */
        METRIC_BUILD_INFO,       /* version: gauge */
        METRIC_START_TIME,       /* gauge */
        METRICS,
} MetricId;

enum { METRIC_LABELS_MAX = 3, METRIC_BUCKETS_MAX = 14 };

typedef enum MetricKind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_KINDS } MetricKind;

typedef struct MetricLabel {
        const char *name;
        /* The values by their number, NULL past the last. No function: the plugin, which callers name. */
        const char *(*value)(size_t i);
} MetricLabel;

typedef struct MetricType {
        const char *name;
        const char *help;
        MetricKind kind;
        MetricLabel labels[METRIC_LABELS_MAX]; /* the plugin is the first, if it is one */
        const double *buckets;
        size_t n_buckets;
} MetricType;

extern const MetricType metric_types[METRICS];

const char *metric_kind_to_string(MetricKind kind);
/* As Kubernetes abbreviates them. */
const char *metric_access_mode(AccessMode mode);

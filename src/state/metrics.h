/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"
#include "state/metrics-table.h"

/* Counters and histograms in Prometheus' text format 0.0.4; metrics-table.c has their names and labels. */

typedef struct Metrics Metrics;

/* All series are there from the start, with 0; those of a plugin from when it is named first, those of "other" from when
 * something is counted there. */
Metrics *metrics_new(void);
Metrics *metrics_free(Metrics *m);
DEFINE_CLEANUP_FUNC(Metrics *, metrics_free);

/* All take the values of the metric's labels, in the order of metrics-table.c, as strings. One that is not there, and a plugin
 * beyond a limit, is "other". Lack of memory loses a sample.
 * metrics_count() adds one, to a counter or a gauge, metrics_add() n. */
void metrics_count(Metrics *m, MetricId id, ...);
void metrics_add(Metrics *m, MetricId id, uint64_t n, ...);
void metrics_set(Metrics *m, MetricId id, double value, ...);
void metrics_observe(Metrics *m, MetricId id, uint64_t usec, ...);
/* Sets all series of a gauge to 0, before they are counted anew. */
void metrics_reset(Metrics *m, MetricId id);

/* The text, owned by the caller; NULL on lack of memory. */
char *metrics_render(const Metrics *m);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Writes the metrics for node_exporter's textfile collector (MetricsTextfile=): every five seconds a new file, renamed
 * over the old one. Failures are logged. */
typedef struct MetricsExport {
        const Jobs *jobs;
        sd_event_source *source;
        bool failed; /* the last time; said once */
} MetricsExport;

/* Begins, or ends, as the configuration says. Returns 0 or a negative errno. */
int metrics_export_start(MetricsExport *e, const Jobs *jobs) _warn_unused_;
void metrics_export_stop(MetricsExport *e);

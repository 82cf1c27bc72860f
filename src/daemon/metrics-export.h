/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Writes the metrics to MetricsTextfile=, for node_exporter's textfile collector and selvol-metrics: every
 * five seconds a new file, renamed over the old one. An error is logged when it begins, counted, and shown in
 * the status of the service. */
typedef struct MetricsExport {
        const Api *api;
        sd_event_source *source;
} MetricsExport;

/* Starts or stops the export, by the configuration. Returns 0 or a negative errno. */
int metrics_export_start(MetricsExport *e, const Api *api) _warn_unused_;
void metrics_export_stop(MetricsExport *e);

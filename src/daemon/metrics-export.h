/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The metrics with the gauges brought up to date; NULL on lack of memory. */
char *metrics_text(Manager *m);

/* Writes them for node_exporter's textfile collector, if one is configured: a new file, renamed over the old one, at
 * most every five seconds. Failures are logged. */
void metrics_export(Manager *m);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The metrics of a Manager with the gauges brought up to date; NULL on lack of memory. */
char *metrics_text(void *userdata);

/* Begins, or ends, as the configuration says, to write them for node_exporter's textfile collector: every five
 * seconds a new file, renamed over the old one. Failures are logged. */
int metrics_export_start(Manager *m);

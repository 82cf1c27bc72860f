/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bus.h"

/* Long work of the service, followed until it ends. Meanwhile standard error shows how far it has come, if that is a
 * terminal and --quiet isn't given. SIGINT and SIGTERM end the following only: it is said that the work goes on and
 * how to end it, and EXIT_SIGNAL plus the signal's number is returned. Otherwise they return as bus_call() does. */

/* Waits for a job, by its object. The answer is Wait's. */
int follow_job(sd_bus *bus, const Args *a, const char *path, sd_bus_message **ret) _warn_unused_;

/* Makes a call that may become a job of that operation on what the first operand names. The answer is the call's. */
int follow_call(sd_bus *bus, const Args *a, sd_bus_message *call, const char *operation,
                sd_bus_message **ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bus.h"

/* Calls that may take long. While one lasts standard error shows the progress, unless there is --quiet: on a
 * line of the terminal, or else with a message now and then. SIGINT and SIGTERM end only the waiting: a note
 * says that the work continues and how to end it, and EXIT_SIGNAL plus the signal's number is returned.
 * Otherwise they return as bus_call_method() does. */

/* Waits for a job, by its object. The answer is Wait's. */
int follow_job(sd_bus *bus, const Args *a, const char *path, sd_bus_message **ret) _warn_unused_;

/* Calls a method of the manager, with the options of the command line after the arguments. The call may
 * become a job of that operation on what the first operand names; NULL: there is no progress to show. */
int follow_request(sd_bus *bus, const Args *a, const char *operation, sd_bus_message **ret, const char *method,
                   const char *types, ...) _warn_unused_;

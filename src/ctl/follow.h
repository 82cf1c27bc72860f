/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bus.h"

/* Calls that may take long. During a call, standard error shows the progress unless --quiet is set: on one
 * line of a terminal, or otherwise as a message now and then. SIGINT and SIGTERM end only the wait: a note
 * says whether the job continues without this caller, and how to cancel it, and the function returns
 * EXIT_SIGNAL plus the signal's number. Otherwise functions return the same as bus_call_method(). */

/* Waits for a job, by the path of its object. *ret is the reply of Wait. */
int follow_job(sd_bus *bus, const Args *a, const char *path, sd_bus_message **ret) _warn_unused_;

/* Calls a method of the manager, with the options of the command line after the arguments. operation: the job
 * of the call has this operation, on the volume or path that is the first operand, and at the target that is
 * the last one, if that is a path; NULL: show no progress. */
int follow_request(sd_bus *bus, const Args *a, const char *operation, sd_bus_message **ret, const char *method,
                   const char *types, ...) _warn_unused_;

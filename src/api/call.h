/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Calls that wait for a job, and the replies to these calls. */

/* Starts a job for an authorized call, or makes the call join an equal job. Takes over the contents of the
 * request. Returns a value for the method's handler to return. */
int call_start(Api *api, sd_bus_message *message, Operation operation, Request *request, VerifyDepth depth,
               sd_bus_error *error) _warn_unused_;
/* Replies to the call when the job has ended. Returns like call_start(). */
int call_follow(Api *api, sd_bus_message *message, Job *job, sd_bus_error *error) _warn_unused_;

/* Drops the calls of a caller that has left the bus, except calls without a reply: their jobs go on. */
void calls_forget(Api *api, const char *name);
void calls_teardown(Api *api);
/* Drops all calls, because the connection to the bus is gone. */
void calls_abandon(Api *api);

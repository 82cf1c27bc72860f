/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Calls that wait for a job, and what is answered when it has ended. */

/* Starts a job for an authorized call, or lets it join one. The request is taken over. Returns what a
 * method's handler returns. */
int call_start(Api *api, sd_bus_message *message, Operation operation, Request *request, VerifyDepth depth,
               sd_bus_error *error) _warn_unused_;
/* Has the call answered when the job has ended. Returns likewise. */
int call_follow(Api *api, sd_bus_message *message, Job *job, sd_bus_error *error) _warn_unused_;

/* The caller has left the bus: its calls are forgotten, but for those that asked for no reply. */
void calls_forget(Api *api, const char *name);
void calls_teardown(Api *api);
/* The callers have gone: the connection has. */
void calls_abandon(Api *api);

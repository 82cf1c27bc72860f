/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Calls that wait for a job. */

/* Starts a job for an authorized call, or lets it join one. The request is taken over. Returns what a method's handler
 * returns. */
int call_start(Api *api, sd_bus_message *message, Operation operation, Request *request, VerifyDepth depth,
               sd_bus_error *error) _warn_unused_;
/* Has the call answered when the job has ended. Returns likewise. */
int call_follow(Api *api, sd_bus_message *message, Job *job, sd_bus_error *error) _warn_unused_;

/* A job waits in line: if one of its callers goes, it is told. */
void calls_watch_callers(Api *api, const Job *job);
void calls_teardown(Api *api);

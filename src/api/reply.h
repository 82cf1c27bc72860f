/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* What each operation answers; documented in org.selvol1(5). All return 0 or a negative errno. */

/* The answer of the method that started the job, which went well. */
int reply_append(sd_bus_message *m, const Job *job) _warn_unused_;
/* The answer of Job.Wait. */
int reply_append_wait(sd_bus_message *m, const Job *job) _warn_unused_;
/* Sends either, or the job's error. */
int reply_send(sd_bus_message *call, const Job *job) _warn_unused_;

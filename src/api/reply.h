/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Sends what the operation answers, or the job's error; documented in org.selvol1(5). Returns 0 or a
 * negative errno. */
int reply_send(sd_bus_message *call, const Job *job) _warn_unused_;

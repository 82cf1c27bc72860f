/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/job-object.h"

/* What Wait answers: the result and its details. What each operation answers is declared in job.h. */
int job_object_append(const JobObject *o, sd_bus_message *reply);

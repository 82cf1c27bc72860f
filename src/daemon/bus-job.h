/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/job-object.h"

/* The job objects on the bus. */
int job_bus_register(Manager *m);

/* The object path of a job, owned by the caller; NULL on lack of memory. */
char *job_bus_path(uint64_t id);

/* Answers Wait or Cancel, of a job that has ended. */
int job_bus_answer(const JobObject *o, sd_bus_message *call);

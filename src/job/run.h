/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* Starts the child of a job whose turn it is, and takes its reply. */
void job_run(Job *job);

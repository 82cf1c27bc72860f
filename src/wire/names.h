/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The names of the D-Bus API, for those who offer it and those who call it. Described in org.selvol1(5). */

#define BUS_NAME "org.selvol1"

#define MANAGER_PATH      "/org/selvol1"
#define MANAGER_INTERFACE "org.selvol1.Manager"

/* Objects have one more element: a volume its id in sd_bus_path_encode()'s form, a job its number. */
#define VOLUME_PREFIX    "/org/selvol1/volume"
#define VOLUME_INTERFACE "org.selvol1.Volume"
#define JOB_PREFIX       "/org/selvol1/job"
#define JOB_INTERFACE    "org.selvol1.Job"

/* Followed by the name of a failure, see model/failure.h. */
#define ERROR_PREFIX "org.selvol1.Error."

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* The names of the D-Bus API, for selvold and its callers. See org.selvol1(5). */

#define BUS_NAME "org.selvol1"

#define MANAGER_PATH      "/org/selvol1"
#define MANAGER_INTERFACE "org.selvol1.Manager"

/* Objects have one more element: the id of a volume, encoded by sd_bus_path_encode(), or the number of a
 * job. */
#define VOLUME_PREFIX    "/org/selvol1/volume"
#define VOLUME_INTERFACE "org.selvol1.Volume"
#define JOB_PREFIX       "/org/selvol1/job"
#define JOB_INTERFACE    "org.selvol1.Job"

/* Followed by the name of a failure, see model/failure.h. */
#define ERROR_PREFIX "org.selvol1.Error."

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan.h"
#include "daemon/job-object.h"
#include "daemon/manager.h"

/* What the bus, systemd and Prometheus are told without asking. */

void notify_teardown(Manager *m);

/* PropertiesChanged, at most four times a second; InterfacesAdded and -Removed at once. */
void notify_volume_changed(Manager *m, const Volume *v);
void notify_volume_added(Manager *m, const Volume *v);
void notify_volume_removed(Manager *m, const Volume *v);

/* Of jobs that walk: InterfacesAdded and JobNew, PropertiesChanged likewise, JobRemoved at their end, and
 * InterfacesRemoved when the result is no longer kept. */
void notify_job_new(const JobObject *o);
void notify_job_changed(const JobObject *o);
void notify_job_removed(const JobObject *o);
void notify_job_forgotten(const JobObject *o);

void notify_context_conflict(Manager *m, const char *volume, const Plan *plan);
void notify_context_released(Manager *m, const Volume *v);

/* STATUS= for systemctl status. */
void notify_status(Manager *m);

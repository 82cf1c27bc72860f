/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/plan.h"
#include "daemon/manager.h"

/* What the bus, systemd and Prometheus are told without asking. */

void notify_teardown(Manager *m);

/* PropertiesChanged, at most four times a second; InterfacesAdded and -Removed at once. */
void notify_volume_changed(Manager *m, const Volume *v);
void notify_volume_added(Manager *m, const Volume *v);
void notify_volume_removed(Manager *m, const Volume *v);

void notify_context_conflict(Manager *m, const char *volume, const Plan *plan);
void notify_context_released(Manager *m, const Volume *v);

/* STATUS= for systemctl status. */
void notify_status(Manager *m);

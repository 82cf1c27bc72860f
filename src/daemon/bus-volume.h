/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* The volume objects on the bus. */
int volume_bus_register(Manager *m);

/* The object path of a volume, owned by the caller; NULL on lack of memory. */
char *volume_bus_path(const char *id);

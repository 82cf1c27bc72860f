/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "daemon/manager.h"

/* Connects to the system bus and puts the objects on it; log and return a negative errno if that fails. */
int bus_connect(Manager *m);
int bus_own_name(Manager *m);

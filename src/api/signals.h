/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* What the bus and systemd are told without asking. Registers with the state's events. */
void signals_setup(Api *api);
void signals_teardown(Api *api);
/* STATUS= for systemctl status. */
void signals_notify_status(const Api *api);

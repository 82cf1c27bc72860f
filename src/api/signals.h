/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Signals on the bus, and STATUS= for systemd. Registers with the state's events. */
void signals_setup(Api *api);
void signals_teardown(Api *api);
/* Updates the line that systemctl status shows. */
void signals_notify_status(const Api *api);

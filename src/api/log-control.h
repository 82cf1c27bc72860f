/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

/* org.freedesktop.LogControl1, by which systemctl service-log-level reads and changes the log level. Access is
 * checked where that to all properties is. Returns 0 or a negative errno. */
int log_control_register(sd_bus *bus);

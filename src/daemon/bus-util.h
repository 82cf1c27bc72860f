/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/failure.h"

/* One entry of an open a{sv}. */
int bus_append_option(sd_bus_message *m, const char *key, const char *type, ...);
/* Around the value of one. */
int bus_open_option(sd_bus_message *m, const char *key, const char *type);
int bus_close_option(sd_bus_message *m);
int bus_append_strv(sd_bus_message *m, const char *key, char **l);

/* Sets the D-Bus error that a failure stands for and returns what a method handler returns then. */
int bus_error_set_failure(sd_bus_error *error, const Failure *f);

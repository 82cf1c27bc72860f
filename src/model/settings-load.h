/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* The one file of model that reads files: both processes read the configuration, and this is the highest folder that both
 * link and that knows what settings are. */

/* The exit status for a mistake in the configuration, which systemd calls EXIT_CONFIG: the units don't start a service
 * again that ended with it. */
enum { EXIT_CONFIG = 78 };

/* Reads and checks the configuration beneath the directories (NULL: /usr/lib/selvol and /etc/selvol). Returns what
 * settings_parse() does. */
int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) _warn_unused_;

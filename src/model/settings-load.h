/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* The one file of model that reads files: both processes read the configuration, and this is the highest folder that both
 * link and that knows what settings are. */

/* The exit status for an error in the configuration, which systemd calls EXIT_CONFIG: the units don't start a service
 * again that ended with it. */
enum { EXIT_CONFIG = 78 };

/* What a mistake that is found at a reload comes to. */
#define SETTINGS_KEPT " The earlier configuration stays in force."

#define SETTINGS_USR "/usr/lib/selvol"
#define SETTINGS_ETC "/etc/selvol"

/* Reads the configuration beneath the directories (NULL: those above), without a look at what it says. Returns 0, INVALID_OPTION
 * for a file that isn't one, or a negative errno. */
int settings_read(const char *usr_dir, const char *etc_dir, Config **ret, Failure *f) _warn_unused_;
/* Reads and checks it. Returns what settings_parse() does. */
int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* Whether a mount at the path waits there for whoever opens the directory, as systemd's automount units make it. */
bool automount_is_at(const char *path);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* Exit statuses of mount(8). */
enum { MOUNT_USAGE = 1, MOUNT_SYSTEM = 2, MOUNT_INTERRUPTED = 8, MOUNT_FAILED = 32 };

#define PROGRAM "mount.selvol"

/* Prints "mount.selvol: MESSAGE" on standard error, with what a terminal would obey escaped. Returns the status. */
int report(int status, const char *format, ...) _printf_(2, 3);

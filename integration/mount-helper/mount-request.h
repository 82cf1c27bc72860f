/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "client/values.h"

/* Exit statuses of mount(8). */
enum { MOUNT_USAGE = 1, MOUNT_SYSTEM = 2, MOUNT_INTERRUPTED = 8, MOUNT_FAILED = 32 };

#define PROGRAM "mount.selvol"

/* Prints "mount.selvol: MESSAGE" on standard error and escapes what a terminal would obey. Returns status. */
int report(int status, const char *format, ...) _printf_(2, 3);

/* A mount that mount(8) asks for. */
typedef struct MountRequest {
        const char *source, *target;
        char **options; /* as mount(8) passed them */
        char **words;   /* the same, cut into names and values; owns the strings below */
        const char *volume;
        OptionValue values[REQUEST_OPTIONS];
        char *holder;
} MountRequest;

void mount_request_done(MountRequest *q);

/* Sorts the options into those of selvolctl, by their names, those that only matter to mount(8), and mount
 * options for the file system. type is selvol or selvol.TYPE. Returns 0, -ENOMEM, or an exit status after a
 * report. */
int mount_request_read(MountRequest *q, const char *type) _warn_unused_;

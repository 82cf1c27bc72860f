/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* The block devices that the host names as its own: swap in use, and the sources of /etc/fstab and of
 * systemd's mount and swap units, which may be mounted at any time. The bus is not asked. A line or unit of
 * type selvol names none, nor does one with a target that a volume may have (settings_may_have_volume()).
 *
 * The files are read once: the process keeps their names of devices, and reads the files again when one of
 * them, or of the directories, has changed. The server of the worker reads before it forks a child. */

typedef struct HostName {
        dev_t device;
        char *file;   /* that names the device, escaped for messages */
        char *target; /* escaped; NULL: the device is for swap */
} HostName;

void host_name_done(HostName *n);

/* Reads the files if anything has changed. Returns 0 or a negative errno, also if a file can't be read. */
int host_names_refresh(void) _warn_unused_;
/* The path that the last refresh could not read; NULL: none. */
const char *host_names_unread(void);

/* Finds the first name of any of the devices, after a refresh. Release *ret with host_name_done(). Returns 1,
 * 0 or a negative errno. */
int host_find_name(const Settings *settings, const dev_t *devices, size_t n_devices, HostName *ret) _warn_unused_;

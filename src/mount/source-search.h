/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/source.h"

/* Finds the file system of a volume that nobody has mounted. Names of devices move: after a reboot /dev/sdb
 * may be another disk. So the recorded path proves nothing, and the file system is known by its identity. */

typedef struct SourceSearch {
        const char *volume; /* for messages */
        const char *source; /* the recorded one */
        const char *fs_type;
        const char *link;         /* the own link of the device (device.h); NULL or "": none */
        const Identity *identity; /* the wanted one; unknown: whatever the source has */
        const Settings *settings;
        SourceUser user;
} SourceSearch;

/* Opens the file system by the recorded source, by the own link of its device, or by udev's link for its
 * UUID; never looks at other disks. Returns as source_open(), and SOURCE_CHANGED: the source has another file
 * system, and the links don't lead to the wanted one; or two devices have the wanted one, and the
 * recorded source is not the volume's own device. */
int source_search(const SourceSearch *search, Source *ret, Failure *f) _warn_unused_;

/* Whether the recorded file system, of which the search has link and identity, is still on this node although
 * found is another one. *ret is the link, for the caller; NULL: no. Returns 0 or a negative errno. */
int source_find_elsewhere(const SourceSearch *search, const Identity *found, char **ret) _warn_unused_;

/* Says that the source has another file system than the volume. Returns SOURCE_CHANGED or -ENOMEM. */
int source_changed_failure(const char *volume, const Identity *wanted, const char *source, const Identity *found,
                           Failure *f);

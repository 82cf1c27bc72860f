/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* A place where a driver has mounted a volume. */

typedef struct CsiPlace {
        char *target;
        char *source; /* udev's link to the block device, which its number names; NULL: it is of none */
        char *named;  /* the device by the name with which the driver mounted it; NULL: none */
} CsiPlace;

/* Finds the mount at the path; if nothing is mounted there and beneath is true, the only mount beneath it, as
 * some drivers stage in a directory of their own. mountinfo: the mount table, NULL: the own one. Returns 1
 * with *ret, 0 if there is none, or a negative errno. */
int csi_place_find(const char *mountinfo, const char *path, bool beneath, CsiPlace *ret) _warn_unused_;
void csi_place_done(CsiPlace *p);
#define _cleanup_csi_place_ _cleanup_(csi_place_done)

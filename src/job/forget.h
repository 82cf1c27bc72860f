/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The end of records. A node sees new volumes for ever, and selvold keeps VOLUMES_MAX records: a new volume
 * takes the place of one that nobody uses. The mark on the volume says what is known of its files; xfs and
 * btrfs, whose record has the fingerprint, pay one walk that compares. Lost is which file system the id stood
 * for.
 *
 * Records in use stay: those with a holder or a job, and those that alone know that others could write to
 * files which the mark calls right. Of the rest a caller with VOLUMES_OF_CALLER records or more loses its
 * own ones first, so that no caller can drop everything that selvold knows of others. Records of partial
 * walks go last. In each group the record that was used longest ago goes first. */

/* A mount adds this to the records. */
typedef struct Growth {
        size_t volumes, holders, bytes;
} Growth;

/* Whether the records have room for what the caller adds. Returns 0, or LIMIT_REACHED. */
int forget_check_room(const Jobs *jobs, const Caller *caller, const Growth *growth, Failure *f) _warn_unused_;
/* Makes room for the volume, with its new holder. Returns 0, or LIMIT_REACHED. */
int forget_make_room(Jobs *jobs, const Caller *caller, const Growth *growth, const char *volume,
                     Failure *f) _warn_unused_;
/* Drops the records of ephemeral volumes that have no holder any more. */
void forget_ephemeral(Jobs *jobs);

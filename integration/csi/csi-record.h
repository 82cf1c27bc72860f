/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <systemd/sd-bus.h>

#include "basic/cleanup.h"

/* The record that selvold has of a volume, and its job with it. */

typedef struct CsiHolder {
        char *target;
        bool adopted; /* the driver has made the mount */
} CsiHolder;

/* The job that is queued, or that walks over files. */
typedef struct CsiJob {
        char *path; /* of the object; NULL: there is no job */
        char *operation, *target;
        uint64_t done, total; /* files; total 0: not known */
        uint64_t end_usec;    /* since the epoch, when the walk will end; 0: not known */
} CsiJob;

typedef struct CsiRecord {
        char *source;
        CsiHolder *holders;
        size_t n_holders;
        CsiJob job;
} CsiRecord;

/* Reads the record of a volume, in the connection's time-out for each call; one without holders if selvold
 * does not know the volume. Returns 0, or a negative errno with error set. */
int csi_record_read(sd_bus *bus, const char *volume, CsiRecord *ret, sd_bus_error *error) _warn_unused_;
void csi_record_done(CsiRecord *r);
#define _cleanup_csi_record_ _cleanup_(csi_record_done)

/* Returns the target at the path or, if beneath is true, beneath it, where selvol itself has mounted the
 * volume or is about to; NULL: there is none. */
const char *csi_record_find_own(const CsiRecord *r, const char *path, bool beneath) _pure_;

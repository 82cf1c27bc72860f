/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>

#include "client/values.h"
#include "model/failure.h"

/* What a volume was created with: the options of MountVolume by their names on selvolctl's command line, and these two. The strings
 * belong to the JSON object that they were read from. */
typedef struct VolumeOptions {
        const char *volume; /* id; the volume's name if not given */
        const char *source;
        char *default_holder;
        OptionValue values[REQUEST_OPTIONS];
} VolumeOptions;

/* Reads and checks the options of a volume with that name. Returns 0, a negative errno, or a positive FailureKind. */
int volume_options_read(const char *name, const json_t *options, VolumeOptions *ret, Failure *f) _warn_unused_;
void volume_options_done(VolumeOptions *o);

#define _cleanup_options_ _cleanup_(volume_options_done)

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "client/values.h"
#include "model/failure.h"

/* The plugin's records: a file for each volume that podman created, with the volume's name and its options as
 * JSON. A file exists completely or not at all, and is on disk when record_write() returns. Functions return
 * 0 or a negative errno. */

#define _cleanup_json_ _cleanup_(json_decrefp)

enum { RECORD_NAME_MAX = 200, RECORD_SIZE_MAX = 65536, RECORDS_MAX = 4096 };

/* Whether podman accepts the name: letters, digits, and after the first character also . _ and -. Such a name
 * is a valid name of a file, and id of a volume. */
bool record_name_is_valid(const char *name) _pure_;

/* Returns -EEXIST if the record exists, -EDQUOT if there are RECORDS_MAX. */
int record_write(int directory, const char *name, const json_t *options) _warn_unused_;
/* Returns -ENOENT if there is none, -EBADMSG if the file is no record. */
int record_read(int directory, const char *name, json_t **ret) _warn_unused_;
int record_remove(int directory, const char *name) _warn_unused_;
/* Returns all names in an array. */
int record_list(int directory, json_t **ret) _warn_unused_;

/* The options of a volume, from its creation: those of MountVolume by their names on selvolctl's command
 * line, and volume and source. The JSON object that has the options owns the strings. */
typedef struct VolumeOptions {
        const char *volume; /* the id; by default the name after the plugin's prefix */
        const char *source;
        char *default_volume, *default_holder;
        OptionValue values[REQUEST_OPTIONS];
} VolumeOptions;

/* Reads and checks the options of the volume called name. Returns 0, a negative errno, or a positive
 * FailureKind. */
int volume_options_read(const char *id_prefix, const char *name, const json_t *options, VolumeOptions *ret,
                        Failure *f) _warn_unused_;
void volume_options_done(VolumeOptions *o);

#define _cleanup_options_ _cleanup_(volume_options_done)

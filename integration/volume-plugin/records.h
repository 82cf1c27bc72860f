/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <jansson.h>

#include "client/values.h"
#include "model/failure.h"

/* The memory of the plugin: a file for each volume that was created, with its name and its options as
 * JSON. It is there as a whole or not at all, and on disk when record_write() returns. Functions return 0
 * or a negative errno. */

#define _cleanup_json_ _cleanup_(json_decrefp)

enum { RECORD_NAME_MAX = 200, RECORD_SIZE_MAX = 65536, RECORDS_MAX = 4096 };

/* Letters, digits, and further on . _ and -, as podman has it: what can be the name of a file, and a
 * volume's id. */
bool record_name_is_valid(const char *name) _pure_;

/* -EEXIST if there is one, -EDQUOT if there are RECORDS_MAX. */
int record_write(int directory, const char *name, const json_t *options) _warn_unused_;
/* -ENOENT if there is none, -EBADMSG if it is not such a file. */
int record_read(int directory, const char *name, json_t **ret) _warn_unused_;
int record_remove(int directory, const char *name) _warn_unused_;
/* All names, in an array. */
int record_list(int directory, json_t **ret) _warn_unused_;

/* The options with which a volume was created: those of MountVolume by their names on selvolctl's command
 * line, and these two. The strings belong to the JSON object that they were read from. */
typedef struct VolumeOptions {
        const char *volume; /* id; the volume's name if not given */
        const char *source;
        char *default_holder;
        OptionValue values[REQUEST_OPTIONS];
} VolumeOptions;

/* Reads and checks the options of a volume with that name. Returns 0, a negative errno, or a positive
 * FailureKind. */
int volume_options_read(const char *name, const json_t *options, VolumeOptions *ret, Failure *f) _warn_unused_;
void volume_options_done(VolumeOptions *o);

#define _cleanup_options_ _cleanup_(volume_options_done)

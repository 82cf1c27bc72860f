/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "model/failure.h"

typedef struct Plugin {
        int records;              /* directory of the records, see records.h */
        int targets;              /* directory of the targets: one for each volume, by its name */
        const char *targets_path; /* the path of targets */
        const char *id_prefix;    /* what selvold's ids of the volumes begin with, before their names */
        uint64_t timeout_usec;    /* the limit for a call of selvold */
} Plugin;

/* The requests of a container engine. The caller has checked the names. A repeated call succeeds, and
 * completes one that was interrupted. All return 0, a negative errno, or a positive FailureKind with words
 * for the person who started the container. */

int volume_create(const Plugin *p, const char *name, const json_t *options, Failure *f) _warn_unused_;
int volume_remove(const Plugin *p, const char *name, Failure *f) _warn_unused_;
/* Returns the target, also if the volume is mounted already. */
int volume_mount(const Plugin *p, const char *name, char **ret_target, Failure *f) _warn_unused_;
int volume_unmount(const Plugin *p, const char *name, Failure *f) _warn_unused_;
/* Returns the target; NULL if the volume is not mounted. */
int volume_find(const Plugin *p, const char *name, char **ret_target, Failure *f) _warn_unused_;
int volume_list(const Plugin *p, json_t **ret_names, Failure *f) _warn_unused_;

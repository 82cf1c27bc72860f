/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "model/failure.h"

typedef struct Plugin {
        int records;              /* directory of what was created, see records.h */
        int targets;              /* directory of the targets: one for each volume, with its name */
        const char *targets_path; /* the same */
        uint64_t timeout_usec;    /* how long a call of selvold's may take */
} Plugin;

/* The requests of a container engine. Names have been checked. Whatever was done before is success; a call
 * that was interrupted is completed by the same call. All return 0, a negative errno, or a positive
 * FailureKind with words for whoever started the container. */

int volume_create(const Plugin *p, const char *name, const json_t *options, Failure *f) _warn_unused_;
int volume_remove(const Plugin *p, const char *name, Failure *f) _warn_unused_;
/* Returns the target, also if it is mounted already. */
int volume_mount(const Plugin *p, const char *name, char **ret_target, Failure *f) _warn_unused_;
int volume_unmount(const Plugin *p, const char *name, Failure *f) _warn_unused_;
/* Returns the target; NULL if it is not mounted. */
int volume_find(const Plugin *p, const char *name, char **ret_target, Failure *f) _warn_unused_;
int volume_list(const Plugin *p, json_t **ret_names, Failure *f) _warn_unused_;

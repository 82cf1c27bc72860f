/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/settings.h"

/* The worker's configuration. The worker and each child have a copy of their own. The two processes never
 * work with different configurations: each call has the digest of selvold's, and a child with another one
 * reads the files again. If the files don't have selvold's configuration, the child refuses the call. selvold
 * never reads the files for the worker's sake, so a child that an attacker controls can't choose the time. */
typedef struct Configuration {
        const char *usr_dir, *etc_dir; /* NULL: the default ones */
        Settings settings;
        bool propagating; /* mounts beneath the roots reach the host */
} Configuration;

/* Reads the files, and keeps the earlier configuration after an error. Returns 0, a negative errno, or
 * INVALID_OPTION. */
int configuration_read(Configuration *c, Failure *f) _warn_unused_;
/* Reads the files if selvold's digest is another one. *ret_changed: the files have selvold's configuration,
 * which is in force now. Returns 0; WORKER_FAILED if they have another one, or an error; or a negative
 * errno. */
int configuration_follow(Configuration *c, uint64_t digest, bool *ret_changed, Failure *f) _warn_unused_;
void configuration_done(Configuration *c);

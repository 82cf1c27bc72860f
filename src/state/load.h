/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

typedef struct StateOptions {
        const char *directory; /* where state.db is */
        const char *worker_socket;
        const char *usr_config, *etc_config; /* NULL: the installed places */
        sd_event *event;
} StateOptions;

/* Loads configuration and record, and sets the commits up; after a reboot holders are released. What went
 * wrong has been logged. Returns 0, a negative errno, or INVALID_OPTION for an error in the configuration. */
int state_load(const StateOptions *options, State **ret) _warn_unused_;
/* Commits what is left, without anybody being told. */
State *state_free(State *s);
DEFINE_CLEANUP_FUNC(State *, state_free);

/* Reads the configuration again; the old one stays if that fails, which is logged. Returns likewise. */
int state_reload_settings(State *s, const char *usr_config, const char *etc_config) _warn_unused_;

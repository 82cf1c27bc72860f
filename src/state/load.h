/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

typedef struct StateOptions {
        const char *directory; /* the directory of state.db */
        const char *worker_socket;
        const char *usr_config, *etc_config; /* NULL: the installed paths */
        sd_event *event;
} StateOptions;

/* Loads the configuration and the record, and sets up commits. After a reboot it releases all holders.
 * Returns 0, a negative errno, or INVALID_OPTION for an error in the configuration; errors have been
 * logged. */
int state_load(const StateOptions *options, State **ret) _warn_unused_;
/* Commits the remaining changes without emitting events. */
State *state_free(State *s);
DEFINE_CLEANUP_FUNC(State *, state_free);

/* Reads the configuration again. After an error, which is logged, the old one stays in force. Returns like
 * state_load(). */
int state_reload_settings(State *s, const char *usr_config, const char *etc_config) _warn_unused_;

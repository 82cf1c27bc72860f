/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* Reads the history of a volume, or the latest entries of all if id is NULL, with all that has been recorded so far. Returns 0, and calls back; or -ENOMEM. */
int history_read(State *s, const char *id, StoreHistory callback, void *userdata) _warn_unused_;

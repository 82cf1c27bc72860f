/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Connects to the system bus and adds the objects. Returns 0 or a negative errno, which has been logged. */
int api_new(State *state, uid_t trusted_uid, unsigned polkit_timeout, Api **ret) _warn_unused_;
/* Takes the bus name, so that callers find the service. */
int api_own_name(Api *api) _warn_unused_;
/* Replies to all calls that still wait; calls whose job has not ended get CANCELED. */
Api *api_free(Api *api);
DEFINE_CLEANUP_FUNC(Api *, api_free);

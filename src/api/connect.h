/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Connects to the system bus and puts the objects on it; logs and returns a negative errno if that fails. */
int api_new(State *state, uid_t trusted_uid, unsigned polkit_timeout, Api **ret) _warn_unused_;
/* Takes the name, so that callers find the service. */
int api_own_name(Api *api) _warn_unused_;
/* Answers all calls, with CANCELED those whose job has not ended. */
Api *api_free(Api *api);
DEFINE_CLEANUP_FUNC(Api *, api_free);

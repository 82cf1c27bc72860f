/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Connects to the system bus and puts the objects on it; log and return a negative errno if that fails. metrics_text
 * renders the metrics; see Api. */
int api_new(State *state, uid_t trusted_uid, char *(*metrics_text)(void *userdata), void *userdata,
            Api **ret) _warn_unused_;
/* Takes the name, so that callers find the service. */
int api_own_name(Api *api) _warn_unused_;
/* Answers all calls, with CANCELED those whose job has not ended. */
Api *api_free(Api *api);
DEFINE_CLEANUP_FUNC(Api *, api_free);

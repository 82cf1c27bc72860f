/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/request.h"

/* Checks a context that files are to get, and makes it canonical: well formed, of a type that volumes may be labelled
 * with, known by the loaded policy. *ret is the caller's. Returns 0, a negative errno, INVALID_CONTEXT or
 * TYPE_NOT_ALLOWED. */
int check_context(const Settings *settings, const char *context, char **ret, Failure *f) _warn_unused_;

/* Gives a request without a target one that passes, and that is never looked at. Returns 0 or -ENOMEM. */
int check_invent_target(Request *q, const Settings *settings) _warn_unused_;

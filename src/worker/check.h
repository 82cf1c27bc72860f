/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "core/settings.h"

/* Checks a context that files are to get, and makes it canonical: well formed, of a type that volumes may be labelled
 * with, known by the loaded policy. *ret is the caller's. Returns 0, a negative errno, INVALID_CONTEXT or
 * TYPE_NOT_ALLOWED. */
int check_context(const Settings *settings, const char *context, char **ret, Failure *f) _warn_unused_;

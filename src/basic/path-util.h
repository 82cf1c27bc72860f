/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "basic/cleanup.h"

/* Whether path is absolute and in its only spelling: no empty, "." or ".." component, no trailing slash, no control
 * characters, valid UTF-8, shorter than PATH_MAX. Says nothing of what the path leads to. */
bool path_is_normalized(const char *path) _pure_;

/* Whether path, normalized, is strictly beneath root, by its spelling alone. */
bool path_is_beneath(const char *path, const char *root) _pure_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "basic/cleanup.h"

/* Texts of selvold and of the bus, for somebody who typed the options. selvold writes the name of an option
 * in double quotes, and nothing else is replaced: pass "SELinuxLevel" becomes pass --level with the prefix
 * "--", or pass level where options have none. Both return a new string, NULL on lack of memory. */
char *explain_text(const char *prefix, const char *text) _warn_unused_;

/* An error, with what to do about it on this node. */
char *explain_error(const char *prefix, const char *name, const char *message) _warn_unused_;

/* Whether the error says that selvold does not run, or that there is no bus yet. */
bool explain_is_absent(const char *name) _pure_;

/* Whether the error (NULL: none) says that the target is beneath none of TargetRoots=, and that selvold has
 * mounted nothing there: what unmounts it then is done. It may have been beneath one. */
bool explain_is_outside(const char *name) _pure_;

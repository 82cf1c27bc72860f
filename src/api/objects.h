/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Add the objects to the bus. Both return 0 or a negative errno. */
int manager_object_add(Api *api) _warn_unused_;
int objects_add(Api *api) _warn_unused_; /* all others */

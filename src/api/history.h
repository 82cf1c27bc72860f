/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Answers a GetHistory with what is recorded of a volume; of all if id is NULL, the latest entries, each with its volume.
 * Returns 1 or a negative errno, as a method of sd-bus. */
int history_answer(Api *api, sd_bus_message *call, const char *id) _warn_unused_;

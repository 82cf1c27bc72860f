/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* Text that may have escaped bytes in it already, as the service writes it: as it is, unless a terminal would obey
 * it; then escaped, again. NULL on lack of memory. */
char *format_text(const char *s) _warn_unused_;

/* How long something took: "250us", "40ms", "2.5s", from a minute on as below; "" for 0. NULL on lack of memory. */
char *format_duration(uint64_t usec) _warn_unused_;

/* A longer time by its two largest units: "5s", "2min 5s", "1h 20min", "3d 4h". NULL on lack of memory. */
char *format_seconds(uint64_t seconds) _warn_unused_;

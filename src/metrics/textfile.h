/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>

/* Reads what selvold has written to MetricsTextfile=. Returns 0, or a negative errno: -ENOENT if there is no such file, -ESTALE if
 * selvold has not written it for TEXTFILE_AGE_SEC, -EFBIG if it is larger than TEXTFILE_MAX. The text is the caller's. */
int textfile_read(const char *path, char **ret, size_t *ret_size);

enum { TEXTFILE_AGE_SEC = 30, TEXTFILE_MAX = 4 << 20 };

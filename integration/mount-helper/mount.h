/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount-helper/request.h"

/* Has selvold mount it, and waits for that; then says what came of it if verbose, and in any case if files have not got a label. Returns an exit status after a report, 0 or a negative
 * errno. */
int mount_run(const MountRequest *q, const char *type, bool verbose) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/job.h"

/* The ids of new volumes. An id stands for one file system, and belongs to the first caller that uses it. So
 * that no user can take ids that others need, an id that a user introduces begins with the user's name, or
 * number, and a slash. Root introduces any. polkit decides about calls on a volume that has a record already.
 *
 * The name is that of /etc/passwd. To ask NSS would block selvold for as long as a server of names is slow:
 * users of other databases have their numbers. */

/* The file with the users. */
#define INTRODUCE_PASSWD "/etc/passwd"

/* Whether a user other than root may introduce a volume with the id. passwd: INTRODUCE_PASSWD, but for tests.
 * Returns 0, -ENOMEM or INVALID_VOLUME. */
int introduce_check(const char *passwd, uid_t uid, const char *volume, Failure *f) _warn_unused_;

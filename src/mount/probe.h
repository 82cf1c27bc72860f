/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

/* What a device or image holds, found by libblkid. libmount's own search doesn't tell what it could not read from what holds
 * nothing, and who believes the latter makes a file system. */

typedef struct Probed {
        char *fs_type;         /* NULL: no file system was found, and all was read */
        char *partition_table; /* its type, "gpt" for instance; only without a file system; NULL: none */
        bool ambivalent;       /* there are signatures of several file systems; then nothing else is known */
} Probed;

void probed_done(Probed *p);

/* Looks for all types that there are. fd is open for reading; its offset changes. Returns 0, or a negative errno: that of the
 * read that failed, or -ENOMEM. */
int probe(int fd, Probed *ret);

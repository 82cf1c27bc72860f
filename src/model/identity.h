/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "basic/string-util.h"

/* The identity of a file system says which data a record or a mark speaks of, whatever path leads there:
 *
 *   ext4:UUID              also of ext2 and ext3; likewise xfs and other types that have a UUID on disk
 *   btrfs:UUID:SUBVOLUME   the id of the subvolume; without it for a disk that nobody has mounted
 *   nfs:SERVER:/EXPORT     also of nfs4
 *   fsid:NUMBER            in a mark only, if there is nothing else: what statfs(2) says, such as of a tmpfs
 *
 * "" is unknown: the type has no UUID (the serial numbers of vfat and exfat are none), or it is null, or
 * can't be read. An unknown identity equals no other, and differs from no other.
 *
 * Two copies of a disk have the same identity, but are two file systems: each is mounted by itself, and
 * Observed.superblock tells them apart. */

enum { IDENTITY_MAX = 512 };

typedef struct Identity {
        char text[IDENTITY_MAX];
} Identity;

bool identity_is_known(const Identity *i) _pure_;

/* The name of the type's driver: one for ext2, ext3 and ext4, and one for nfs and nfs4. */
const char *fs_type_family(const char *fs_type) _pure_;

/* Whether both are known and the same, with the subvolume. */
bool identity_equal(const Identity *a, const Identity *b) _pure_;
/* Whether both are known and not the same. A subvolume is compared only if both have one. */
bool identity_differs(const Identity *a, const Identity *b) _pure_;

/* Joins the type and the other parts to an identity; part may be NULL. Unknown if the text can't be one. */
Identity identity_make(const char *fs_type, const char *name, const char *part);
/* Reads a text from outside: one word of printable UTF-8, or "". Returns 0 or -EBADMSG. */
int identity_from_string(const char *text, Identity *ret);
/* The UUID in the text, as a new string; NULL if there is none, or on lack of memory. */
char *identity_uuid(const Identity *i) _warn_unused_;
/* Describes the identity, "ext4 with UUID ..." or "none with a UUID". NULL on lack of memory. */
char *identity_describe(const Identity *i) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* The mount table, proc_pid_mountinfo(5), is read completely before it is parsed, because libmount returns a
 * partial table when it runs out of memory. Octal escapes are decoded; lines may have any length. A table
 * that is unreadable, malformed or cut off is an error: "not mounted" and "unknown" must never look alike. A
 * single mount is read instead of the whole table where one is enough: the mount of a descriptor, by
 * statx(2), and its attributes, by statmount(2) of Linux 6.8, as a table of one line. */

/* A line of the table. The strings point into MountTable.text. */
typedef struct Mount {
        uint64_t id, parent;
        dev_t device;
        const char *root, *target, *options, *fs_type, *source;
        const char *fs_options; /* still escaped, so no value looks like several options */
        uint64_t peer_group;    /* mount_namespaces(7); 0: the mount is not shared */
        bool slave;
} Mount;

typedef struct MountTable {
        char *text;
        Mount *mounts; /* in the kernel's order */
        size_t n;
        const Mount **by_id;
} MountTable;

/* Reads path, or /proc/self/mountinfo if path is NULL. Returns 0 or a negative errno; -EBADMSG for a
 * malformed line or no line at all. */
int mount_table_read(const char *path, MountTable **ret) _warn_unused_;
/* Reads only the mount with the id: much faster with many mounts. Returns -ENOENT if the whole table has no
 * such mount. */
int mount_table_read_mount(const char *path, uint64_t id, MountTable **ret) _warn_unused_;
/* Reads only the mount of fd, by statmount(2) if the kernel has it: faster still. The source is right only if
 * with_source is set. */
int mount_table_read_own(int fd, bool with_source, MountTable **ret) _warn_unused_;
MountTable *mount_table_free(MountTable *table);
DEFINE_CLEANUP_FUNC(MountTable *, mount_table_free);

/* Finds the mount of fd, by statx(2). STATX_MNT_ID: Linux 5.8. Causes no network request. Returns 0 or a
 * negative errno. */
int mount_identify(int fd, uint64_t *ret_mount_id, bool *ret_is_mount) _warn_unused_;
/* Finds the unique id, too, which the kernel does not reuse until the next boot (STATX_MNT_ID_UNIQUE: Linux
 * 6.8); 0 if the kernel has none. Returns 0 or a negative errno. */
int mount_identify_unique(int fd, uint64_t *ret_mount_id, uint64_t *ret_unique_id) _warn_unused_;

/* Whether the mount with the unique id is in the caller's namespace and has this id in mountinfo. Returns 1,
 * 0, -EOPNOTSUPP if this kernel can't tell, or another negative errno. */
int statmount_is_there(uint64_t unique_id, uint64_t id) _warn_unused_;

/* For the tests: behave as on a kernel without statmount(2). */
void statmount_disable(void);

/* Returns the mount with the id; NULL: none. */
const Mount *mountinfo_find(const MountTable *table, uint64_t id);

/* Decodes, in place, the kernel's escapes: a backslash and three octal digits. */
void mountinfo_unescape(char *s);
/* Escapes blanks and backslashes like the kernel. NULL: out of memory. */
char *mountinfo_escape(const char *s);

/* Parses "MAJOR:MINOR". Returns 0, -EINVAL or -ENOMEM. */
int device_parse(const char *s, dev_t *ret) _warn_unused_;
bool device_is_among(dev_t device, const dev_t *devices, size_t n) _pure_;

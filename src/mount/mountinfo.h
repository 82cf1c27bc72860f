/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "basic/cleanup.h"

/* The mount table, proc_pid_mountinfo(5), read whole before anything of it is parsed: libmount returns what
 * it has read when it runs out of memory. Octal escapes are decoded, lines may be of any length. What could
 * not be read or understood, or ends in the middle of a line, is an error: "not mounted" and "not known" must
 * never look alike. */

/* A line. The strings lie in the table's text. */
typedef struct Mount {
        uint64_t id, parent;
        dev_t device;
        const char *root, *target, *options, *fs_type, *source;
        const char *fs_options; /* still escaped, so that no value can pass for several options */
        bool shared, slave;     /* mount_namespaces(7) */
} Mount;

typedef struct MountTable {
        char *text;
        Mount *mounts; /* in the kernel's order */
        size_t n;
        const Mount **by_id;
} MountTable;

/* Reads path, or /proc/self/mountinfo if NULL. Returns 0 or a negative errno; -EBADMSG for a malformed line
 * or no line at all. */
int mount_table_read(const char *path, MountTable **ret) _warn_unused_;
/* The same with only the mount with the id in it: much quicker when there are many. -ENOENT if the table,
 * read to its end, has none. */
int mount_table_read_mount(const char *path, uint64_t id, MountTable **ret) _warn_unused_;
/* That of the mount that fd is on, by statmount(2) where the kernel has it: quicker still. The source is only
 * what it is if with_source is set. */
int mount_table_read_own(int fd, bool with_source, MountTable **ret) _warn_unused_;
MountTable *mount_table_free(MountTable *table);
DEFINE_CLEANUP_FUNC(MountTable *, mount_table_free);

/* The mount with the id; NULL: there is none. */
const Mount *mountinfo_find(const MountTable *table, uint64_t id);

/* Decodes in place what the kernel has written as a backslash and three octal digits. */
void mountinfo_unescape(char *s);

/* "MAJOR:MINOR" as a device number. Returns 0 or -EINVAL. */
int device_parse(const char *s, dev_t *ret) _warn_unused_;
bool device_is_among(dev_t device, const dev_t *devices, size_t n) _pure_;

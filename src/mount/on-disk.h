/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/mark.h"
#include "model/settings.h"

/* Superblocks read by hand, from a device or image that anybody may have written. The kernel and libblkid
 * tell the rest. */

/* Whether a device or image lacks the magic number that each file system of the type has in its superblock:
 * one read of a block that mounting reads anyway, where probing for all types takes some forty. false also
 * where it is not known, for other types and where reading fails: mounting tells. */
bool magic_is_missing(int fd, const char *fs_type);

/* Whether it is ext2, ext3 or ext4: one driver mounts all three. */
bool ext_is_type(const char *fs_type) _pure_;

enum { EXT_SUPERBLOCK_OFFSET = 1024, EXT_SUPERBLOCK_SIZE = 1024 };

/* Checks the requests that a superblock of ext2, ext3 or ext4 makes by itself against the list that callers
 * are held to: mount options (tune2fs(8), -o and -E mount_opts), which the kernel takes before those that
 * are passed; and a journal on another device, which the kernel would open by its number. source: for the
 * message, escaped. Returns 0, -ENOMEM, or INVALID_OPTION. */
int ext_options_check(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE], const Settings *settings,
                      const FileSystem *fs, const char *source, Failure *f) _warn_unused_;

enum { UUID_SIZE = 16, UUID_TEXT_SIZE = 37 };

/* Formats one as everybody writes it; returns text. */
const char *uuid_format(const uint8_t uuid[static UUID_SIZE], char text[static UUID_TEXT_SIZE]);

/* The UUID of a btrfs, which may not be mounted. *ret is the caller's; NULL: it is no btrfs. Returns 0 or a
 * negative errno. */
int btrfs_read_uuid_on_disk(int fd, char **ret) _warn_unused_;

/* On how many devices a btrfs says that it is; 0 if it is none. Returns 0 or a negative errno. */
int btrfs_count_devices_on_disk(int fd, uint64_t *ret) _warn_unused_;

/* Reads the fingerprint from a device or image, open for reading, as it is on disk now. That of ext4 is
 * right at any time; those of xfs and btrfs while nobody has the file system mounted for writing, or right
 * after a syncfs(2). Not known: other types, xfs before version 5 or with a log elsewhere, btrfs of several
 * devices, what was not unmounted cleanly, makes no sense, or can't be read. */
Fingerprint fingerprint_read(int fd, const char *fs_type);

/* The same of bytes. */

enum { XFS_SUPERBLOCK_SIZE = 512, BTRFS_SUPERBLOCK_SIZE = 4096 };

Fingerprint fingerprint_of_ext(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE]);
Fingerprint fingerprint_of_btrfs(const uint8_t superblock[static BTRFS_SUPERBLOCK_SIZE]);

/* The log of an xfs, in blocks of 512 bytes. */
typedef struct XfsLog {
        off_t offset;      /* on the device, in bytes */
        uint32_t n_blocks; /* of all of it */
        uint32_t head;     /* the block of sb_lsn */
        uint32_t cycle;    /* of sb_lsn */
} XfsLog;

/* The blocks that are read of the log, from the block of sb_lsn on, or all if there are fewer. */
enum { XFS_LOG_BLOCK = 512, XFS_LOG_BLOCKS_READ = 128 };

/* Whether the superblock has a log that can be looked at. */
bool xfs_find_log(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], XfsLog *ret);
/* Not known if the newest record is not that of an unmount, or was not found among the n blocks. */
Fingerprint fingerprint_of_xfs(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], const XfsLog *log,
                               const uint8_t *blocks, size_t n_blocks);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/mark.h"

/* Reads the fingerprint from a device or image, open for reading, as it is on disk now. That of ext4 is right at any time; those
 * of xfs and btrfs while nobody has the file system mounted for writing, or right after a syncfs(2). Not known: other types,
 * xfs before version 5 or with a log elsewhere, btrfs of several devices, what was not unmounted cleanly, makes no sense, or
 * can't be read. */
Fingerprint fingerprint_read(int fd, const char *fs_type);

/* The same of bytes, which anybody may have written. */

enum {
        EXT_SUPERBLOCK_OFFSET = 1024,
        EXT_SUPERBLOCK_SIZE = 1024,
        XFS_SUPERBLOCK_SIZE = 512,
        BTRFS_SUPERBLOCK_SIZE = 4096
};

Fingerprint fingerprint_of_ext(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE]);
Fingerprint fingerprint_of_btrfs(const uint8_t superblock[static BTRFS_SUPERBLOCK_SIZE]);

/* The log of an xfs, in blocks of 512 bytes. */
typedef struct XfsLog {
        off_t offset;      /* on the device, in bytes */
        uint32_t n_blocks; /* of all of it */
        uint32_t head;     /* the block of sb_lsn */
        uint32_t cycle;    /* of sb_lsn */
} XfsLog;

/* What is read of it, from the block of sb_lsn on, or all if there is less. */
enum { XFS_LOG_BLOCK = 512, XFS_LOG_BLOCKS_READ = 128 };

/* Whether the superblock has a log that can be looked at. */
bool xfs_find_log(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], XfsLog *ret);
/* Not known if the newest record is not that of an unmount, or was not found among the n blocks. */
Fingerprint fingerprint_of_xfs(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], const XfsLog *log,
                               const uint8_t *blocks, size_t n_blocks);

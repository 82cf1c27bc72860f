/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/mark.h"
#include "model/settings.h"

/* Reads superblocks directly from a device or image that anybody may have written. The kernel and libblkid
 * provide the rest. */

/* Whether a device or image lacks the magic number of its type's superblock. Reads one block, which the mount
 * needs anyway; a probe for all types reads about forty. Returns false also for other types and after read
 * errors: then the mount fails. */
bool magic_is_missing(int fd, const char *fs_type);

/* Whether the type is ext2, ext3 or ext4, which one driver mounts. */
bool ext_is_type(const char *fs_type) _pure_;

enum { EXT_SUPERBLOCK_OFFSET = 1024, EXT_SUPERBLOCK_SIZE = 1024 };

/* Checks the settings of an ext2, ext3 or ext4 superblock against the list of options that callers may use:
 * its own mount options (tune2fs(8), -o and -E mount_opts), which the kernel applies before those of
 * mount(2); and a journal on another device, which the kernel would open by its number. source: for the
 * message, escaped. Returns 0, -ENOMEM, or INVALID_OPTION. */
int ext_options_check(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE], const Settings *settings,
                      const FileSystem *fs, const char *source, Failure *f) _warn_unused_;

/* Checks one option that a mounted ext2, ext3 or ext4 has, by the same list, if a superblock can ask for it
 * by a bit. Options that the kernel enables by itself pass. Returns like ext_options_check(). */
int ext_check_mounted_option(const char *option, const Settings *settings, const FileSystem *fs, const char *source,
                             Failure *f) _warn_unused_;

enum { UUID_SIZE = 16, UUID_TEXT_SIZE = 37 };

/* Formats a UUID in the usual form; returns text. */
const char *uuid_format(const uint8_t uuid[static UUID_SIZE], char text[static UUID_TEXT_SIZE]);

/* Reads the identity of the file system on a device or image, open for reading; that of a btrfs has no
 * subvolume. Unknown for other types than ext2, ext3, ext4, xfs, btrfs, f2fs and erofs, without a UUID, and
 * after read errors. */
Identity identity_read(int fd, const char *fs_type);

/* Reads the number of devices of a btrfs from its superblock; 0: no btrfs. Returns 0 or a negative errno. */
int btrfs_count_devices_on_disk(int fd, uint64_t *ret) _warn_unused_;

/* Reads the present fingerprint from a device or image, open for reading. The fingerprint of ext4 is right at
 * any time; that of xfs and btrfs while nobody has the file system mounted for writing, or right after
 * syncfs(2). Not known for other types, xfs before version 5 or with an external log, btrfs of several
 * devices, and file systems that were not unmounted cleanly, are malformed, or can't be read. */
Fingerprint fingerprint_read(int fd, const char *fs_type);

/* The same from bytes in memory. */

enum { XFS_SUPERBLOCK_SIZE = 512, BTRFS_SUPERBLOCK_SIZE = 4096 };

Fingerprint fingerprint_of_ext(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE]);
Fingerprint fingerprint_of_btrfs(const uint8_t superblock[static BTRFS_SUPERBLOCK_SIZE]);

/* The log of an xfs, in blocks of 512 bytes. */
typedef struct XfsLog {
        off_t offset;      /* on the device, in bytes */
        uint32_t n_blocks; /* of the whole log */
        uint32_t head;     /* the block of sb_lsn */
        uint32_t cycle;    /* of sb_lsn */
} XfsLog;

/* The number of log blocks that are read, from the block of sb_lsn on, or all if there are fewer. */
enum { XFS_LOG_BLOCK = 512, XFS_LOG_BLOCKS_READ = 128 };

/* Whether the superblock has a log that can be read. */
bool xfs_find_log(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], XfsLog *ret);
/* Not known if the newest record is not of an unmount, or is not among the n blocks. */
Fingerprint fingerprint_of_xfs(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], const XfsLog *log,
                               const uint8_t *blocks, size_t n_blocks);

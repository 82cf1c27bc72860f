/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mount/fingerprint.h"
#include "mount/uuid.h"

/* Where on the device, and where in the superblock. Linux: fs/ext4/ext4.h, fs/xfs/libxfs/xfs_format.h,
 * include/uapi/linux/btrfs_tree.h. */
enum {
        EXT_MTIME = 0x2c,
        EXT_MOUNT_COUNT = 0x34,
        EXT_MAGIC = 0x38,
        EXT_LAST_CHECK = 0x40,
        EXT_UUID = 0x68,

        BTRFS_OFFSET = 64 * 1024,
        BTRFS_UUID = 0x20,
        BTRFS_MAGIC = 0x40,
        BTRFS_GENERATION = 0x48,
        BTRFS_LOG_ROOT = 0x60,
        BTRFS_DEVICES = 0x88,

        XFS_BLOCK_SIZE = 4,
        XFS_UUID = 32,
        XFS_LOG_START = 48,
        XFS_GROUP_BLOCKS = 84,
        XFS_GROUPS = 88,
        XFS_LOG_BLOCKS = 96,
        XFS_VERSION = 100,
        XFS_GROUP_BLOCKS_LOG = 124,
        XFS_LSN = 240,
};

#define DEFINE_READER(name, Type, to_host)   \
        static Type name(const uint8_t *p) { \
                Type n;                      \
                                             \
                memcpy(&n, p, sizeof(n));    \
                return to_host(n);           \
        }                                    \
        struct name##_needs_a_semicolon

DEFINE_READER(le16, uint16_t, le16toh);
DEFINE_READER(le32, uint32_t, le32toh);
DEFINE_READER(le64, uint64_t, le64toh);
DEFINE_READER(be16, uint16_t, be16toh);
DEFINE_READER(be32, uint32_t, be32toh);
DEFINE_READER(be64, uint64_t, be64toh);

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a: against a copy of the file system that went another way for as long, not against forgers. */
static uint64_t hash(uint64_t h, const uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++)
                h = (h ^ p[i]) * UINT64_C(0x100000001b3);
        return h;
}

/* --- ext2, ext3, ext4: mounts are counted, in the superblock --- */

Fingerprint fingerprint_of_ext(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE]) {
        char uuid[UUID_TEXT_SIZE];
        Fingerprint f = { 0 };

        if (memcmp(superblock + EXT_MAGIC, "\x53\xef", 2) != 0)
                return f;
        (void) snprintf(f.text, sizeof(f.text), "ext4:%s:%" PRIu32 ":%" PRIu32 ":%" PRIu16,
                        uuid_format(superblock + EXT_UUID, uuid), le32(superblock + EXT_LAST_CHECK),
                        le32(superblock + EXT_MTIME), le16(superblock + EXT_MOUNT_COUNT));
        return f;
}

/* --- btrfs: transactions are counted. An fsync(2) since the last one is in a log of its own --- */

Fingerprint fingerprint_of_btrfs(const uint8_t superblock[static BTRFS_SUPERBLOCK_SIZE]) {
        char uuid[UUID_TEXT_SIZE];
        Fingerprint f = { 0 };

        if (memcmp(superblock + BTRFS_MAGIC, "_BHRfS_M", 8) != 0 || le64(superblock + BTRFS_DEVICES) != 1 ||
            le64(superblock + BTRFS_LOG_ROOT) != 0)
                return f;
        (void) snprintf(f.text, sizeof(f.text), "btrfs:%s:%" PRIu64 ":%016" PRIx64,
                        uuid_format(superblock + BTRFS_UUID, uuid), le64(superblock + BTRFS_GENERATION),
                        hash(HASH_START, superblock, BTRFS_SUPERBLOCK_SIZE));
        return f;
}

/* --- xfs: the superblock is written at an unmount, and names a record of the log. What comes behind that was written
 * later: the record of the unmount, and then, if that was not the last word, others --- */

bool xfs_find_log(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], XfsLog *ret) {
        const uint64_t start = be64(superblock + XFS_LOG_START), lsn = be64(superblock + XFS_LSN);
        const uint32_t block_size = be32(superblock + XFS_BLOCK_SIZE),
                       group_blocks = be32(superblock + XFS_GROUP_BLOCKS),
                       n_blocks = be32(superblock + XFS_LOG_BLOCKS);
        const uint8_t bits = superblock[XFS_GROUP_BLOCKS_LOG];

        if (memcmp(superblock, "XFSB", 4) != 0 || (be16(superblock + XFS_VERSION) & 0xf) < 5)
                return false;
        if (block_size < 512 || block_size > 65536 || block_size % 512 != 0 || bits > 31 || n_blocks == 0 ||
            n_blocks > UINT32_MAX / (block_size / 512))
                return false;
        /* 0: the log is on another device. */
        if (start == 0 || start >> bits >= be32(superblock + XFS_GROUPS))
                return false;

        XfsLog log = {
                .offset = (off_t) (((start >> bits) * group_blocks + (start & ((UINT64_C(1) << bits) - 1))) *
                                   block_size),
                .n_blocks = n_blocks * (block_size / 512),
                .head = (uint32_t) lsn,
                .cycle = (uint32_t) (lsn >> 32),
        };
        if (log.offset < 0 || log.cycle == 0 || log.head >= log.n_blocks)
                return false;
        *ret = log;
        return true;
}

/* A record: a header of one block or, where records can be longer than 32 KiB, more, and data. Returns how many blocks it
 * has, 0 if there is none of this cycle. */
static size_t record_length(const uint8_t *header, uint32_t cycle) {
        enum {
                MAGIC = 0,
                CYCLE = 4,
                VERSION = 8,
                LENGTH = 12,
                SIZE = 320,
                SIZE_UNIT = 32768,
                LENGTH_MAX = 256 * 1024
        };
        const uint32_t length = be32(header + LENGTH), size = be32(header + SIZE);
        size_t n_headers = 1;

        if (be32(header + MAGIC) != 0xfeedbabe || be32(header + CYCLE) != cycle || length > LENGTH_MAX ||
            size > LENGTH_MAX)
                return 0;
        if ((be32(header + VERSION) & 2) && size > SIZE_UNIT)
                n_headers = (size + SIZE_UNIT - 1) / SIZE_UNIT;
        return n_headers + (length + XFS_LOG_BLOCK - 1) / XFS_LOG_BLOCK;
}

/* Its one operation is by XFS_LOG (0xaa) and has the flag XLOG_UNMOUNT_TRANS. The data is behind the header. */
static bool is_unmount(const uint8_t *record, size_t n_blocks) {
        enum { OPERATIONS = 40, CLIENT = 8, FLAGS = 9 };
        const uint8_t *data = record + XFS_LOG_BLOCK;

        return n_blocks == 2 && be32(record + OPERATIONS) == 1 && data[CLIENT] == 0xaa && data[FLAGS] == 0x20;
}

/* How many blocks from the head on have been written, if the last record is that of an unmount; otherwise 0. */
static size_t clean_length(const XfsLog *log, const uint8_t *blocks, size_t n_blocks) {
        uint32_t cycle = log->cycle, position = log->head;
        bool clean = false;
        size_t i = 0;

        while (i < n_blocks) {
                const uint8_t *record = blocks + i * XFS_LOG_BLOCK;
                size_t n = record_length(record, cycle);

                if (n == 0)
                        return clean ? i : 0;
                if (n >= n_blocks - i)
                        return 0;
                clean = is_unmount(record, n);
                i += n;
                position += (uint32_t) n;
                if (position >= log->n_blocks) {
                        position -= log->n_blocks;
                        cycle++;
                }
        }
        return 0;
}

Fingerprint fingerprint_of_xfs(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], const XfsLog *log,
                               const uint8_t *blocks, size_t n_blocks) {
        const size_t n = clean_length(log, blocks, n_blocks);
        char uuid[UUID_TEXT_SIZE];
        Fingerprint f = { 0 };
        uint64_t h;

        if (n == 0)
                return f;
        h = hash(HASH_START, superblock, XFS_SUPERBLOCK_SIZE);
        h = hash(h, blocks, n * XFS_LOG_BLOCK);
        (void) snprintf(f.text, sizeof(f.text), "xfs:%s:%" PRIx64 ":%016" PRIx64,
                        uuid_format(superblock + XFS_UUID, uuid), be64(superblock + XFS_LSN), h);
        return f;
}

/* --- reading --- */

/* What is cached may be older than what xfs, or another node, has written since. Pages are dropped as a whole or not at
 * all; those of a mounted ext4 stay, and are right. */
static bool read_at(int fd, off_t offset, uint8_t *bytes, size_t n) {
        const off_t page = sysconf(_SC_PAGESIZE), start = offset / page * page,
                    end = (offset + (off_t) n + page - 1) / page * page;

        (void) posix_fadvise(fd, start, end - start, POSIX_FADV_DONTNEED);
        return pread(fd, bytes, n, offset) == (ssize_t) n;
}

static Fingerprint read_ext(int fd) {
        uint8_t superblock[EXT_SUPERBLOCK_SIZE];

        return read_at(fd, EXT_SUPERBLOCK_OFFSET, superblock, sizeof(superblock)) ? fingerprint_of_ext(superblock)
                                                                                  : (Fingerprint){ 0 };
}

static Fingerprint read_btrfs(int fd) {
        uint8_t superblock[BTRFS_SUPERBLOCK_SIZE];

        return read_at(fd, BTRFS_OFFSET, superblock, sizeof(superblock)) ? fingerprint_of_btrfs(superblock)
                                                                         : (Fingerprint){ 0 };
}

/* The log is a ring. */
static bool read_log(int fd, const XfsLog *log, uint8_t *blocks, size_t n_blocks) {
        const size_t to_end = log->n_blocks - log->head, first = n_blocks < to_end ? n_blocks : to_end;

        return read_at(fd, log->offset + (off_t) log->head * XFS_LOG_BLOCK, blocks, first * XFS_LOG_BLOCK) &&
               (first == n_blocks ||
                read_at(fd, log->offset, blocks + first * XFS_LOG_BLOCK, (n_blocks - first) * XFS_LOG_BLOCK));
}

static Fingerprint read_xfs(int fd) {
        uint8_t superblock[XFS_SUPERBLOCK_SIZE], blocks[XFS_LOG_BLOCKS_READ * XFS_LOG_BLOCK];
        size_t n;
        XfsLog log;

        if (!read_at(fd, 0, superblock, sizeof(superblock)) || !xfs_find_log(superblock, &log))
                return (Fingerprint){ 0 };
        n = log.n_blocks < XFS_LOG_BLOCKS_READ ? log.n_blocks : XFS_LOG_BLOCKS_READ;
        return read_log(fd, &log, blocks, n) ? fingerprint_of_xfs(superblock, &log, blocks, n) : (Fingerprint){ 0 };
}

Fingerprint fingerprint_read(int fd, const char *fs_type) {
        if (streq(fs_type, "ext2") || streq(fs_type, "ext3") || streq(fs_type, "ext4"))
                return read_ext(fd);
        if (streq(fs_type, "xfs"))
                return read_xfs(fd);
        return streq(fs_type, "btrfs") ? read_btrfs(fd) : (Fingerprint){ 0 };
}

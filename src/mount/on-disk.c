/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <endian.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model/mount-options.h"
#include "mount/on-disk.h"

/* Offsets on the device, and in the superblock. Linux: fs/ext4/ext4.h, fs/xfs/libxfs/xfs_format.h,
 * include/uapi/linux/btrfs_tree.h. */
enum {
        EXT_MTIME = 0x2c,
        EXT_MOUNT_COUNT = 0x34,
        EXT_MAGIC = 0x38,
        EXT_LAST_CHECK = 0x40,
        EXT_FEATURE_COMPAT = 0x5c,
        EXT_FEATURE_HAS_JOURNAL = 0x4,
        EXT_UUID = 0x68,
        EXT_JOURNAL_INODE = 0xe0,
        EXT_DEFAULT_OPTIONS = 0x100,
        EXT_MOUNT_OPTIONS = 0x200,
        EXT_MOUNT_OPTIONS_SIZE = 64,

        BTRFS_OFFSET = 64 * 1024,
        BTRFS_UUID = 0x20,
        BTRFS_MAGIC = 0x40,
        BTRFS_GENERATION = 0x48,
        BTRFS_LOG_ROOT = 0x60,
        BTRFS_DEVICES = 0x88,
        BTRFS_HEAD_SIZE = 0x90, /* up to the end of the last member */

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

#define EXT_MAGIC_BYTES   "\x53\xef"
#define BTRFS_MAGIC_BYTES "_BHRfS_M"
#define XFS_MAGIC_BYTES   "XFSB"

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

/* The places of a magic number and of the UUID on the disk. */
typedef struct Signature {
        const char *fs_type, *magic;
        off_t magic_offset, uuid_offset;
} Signature;

static const Signature *find_signature(const char *fs_type) {
        static const Signature signatures[] = {
                { "ext2", EXT_MAGIC_BYTES, EXT_SUPERBLOCK_OFFSET + EXT_MAGIC, EXT_SUPERBLOCK_OFFSET + EXT_UUID },
                { "ext3", EXT_MAGIC_BYTES, EXT_SUPERBLOCK_OFFSET + EXT_MAGIC, EXT_SUPERBLOCK_OFFSET + EXT_UUID },
                { "ext4", EXT_MAGIC_BYTES, EXT_SUPERBLOCK_OFFSET + EXT_MAGIC, EXT_SUPERBLOCK_OFFSET + EXT_UUID },
                { "xfs", XFS_MAGIC_BYTES, 0, XFS_UUID },
                { "btrfs", BTRFS_MAGIC_BYTES, BTRFS_OFFSET + BTRFS_MAGIC, BTRFS_OFFSET + BTRFS_UUID },
                { "f2fs", "\x10\x20\xf5\xf2", 1024, 1024 + 0x6c },
                { "erofs", "\xe2\xe1\xf5\xe0", 1024, 1024 + 0x30 },
        };

        for (size_t i = 0; i < ELEMENTSOF(signatures); i++)
                if (streq(signatures[i].fs_type, fs_type))
                        return &signatures[i];
        return NULL;
}

/* Returns 1 if the magic number is there, 0 if not, or -EIO. */
static int read_magic(int fd, const Signature *s) {
        size_t n = strlen(s->magic);
        char found[8];

        if (pread(fd, found, n, s->magic_offset) != (ssize_t) n)
                return -EIO;
        return memcmp(found, s->magic, n) == 0;
}

bool magic_is_missing(int fd, const char *fs_type) {
        const Signature *s = find_signature(fs_type);

        return s && read_magic(fd, s) == 0;
}

const char *uuid_format(const uint8_t uuid[static UUID_SIZE], char text[static UUID_TEXT_SIZE]) {
        char *p = text;

        for (size_t i = 0; i < UUID_SIZE; i++)
                p += sprintf(p, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
        return text;
}

Identity identity_read(int fd, const char *fs_type) {
        static const uint8_t null[UUID_SIZE];
        const Signature *s = find_signature(fs_type);
        char text[UUID_TEXT_SIZE];
        uint8_t uuid[UUID_SIZE];

        if (!s || read_magic(fd, s) <= 0 || pread(fd, uuid, sizeof(uuid), s->uuid_offset) != (ssize_t) sizeof(uuid) ||
            memcmp(uuid, null, sizeof(null)) == 0)
                return (Identity){ 0 };
        return identity_make(fs_type, uuid_format(uuid, text), NULL);
}

bool ext_is_type(const char *fs_type) {
        return streq(fs_type, "ext2") || streq(fs_type, "ext3") || streq(fs_type, "ext4");
}

static int options_failure(const char *source, const char *why, const char *how, const char *what, Failure *f) {
        return failure_set(
                f, FAILURE_INVALID_OPTION,
                "The superblock of '%s' asks for mount options by itself: %s Take them out of it with \"tune2fs %s%s DEVICE\".",
                source, why, how, what);
}

/* The default options; each bit is an option. acl and user_xattr, which mke2fs sets, are left out: the kernel
 * enables both anyway. */
static const struct {
        unsigned mask, value;
        const char *option, *name; /* option of mount(8), name in tune2fs(8) */
        bool of_kernel;            /* the kernel enables it by itself */
} defaults[] = {
        { 0x001, 0x001, "debug", "debug", false },
        { 0x002, 0x002, "grpid", "bsdgroups", false },
        { 0x010, 0x010, "nouid32", "uid16", false },
        { 0x060, 0x020, "data=journal", "journal_data", false },
        { 0x060, 0x040, "data=ordered", "journal_data_ordered", true },
        { 0x060, 0x060, "data=writeback", "journal_data_writeback", false },
        { 0x100, 0x100, "nobarrier", "nobarrier", false },
        { 0x200, 0x200, "block_validity", "block_validity", true },
        { 0x400, 0x400, "discard", "discard", false },
        { 0x800, 0x800, "nodelalloc", "nodelalloc", true }, /* of ext3 */
};

static int check_default_option(size_t i, const Settings *settings, const FileSystem *fs, const char *source,
                                Failure *f) {
        char *const options[] = { (char *) defaults[i].option, NULL };
        _cleanup_failure_ Failure why = { 0 };
        int r = mount_options_check(options, settings, fs, &why);

        return r <= 0 ? r : options_failure(source, why.message, "-o ^", defaults[i].name, f);
}

int ext_check_mounted_option(const char *option, const Settings *settings, const FileSystem *fs, const char *source,
                             Failure *f) {
        for (size_t i = 0; i < ELEMENTSOF(defaults); i++)
                if (streq(option, defaults[i].option) && !defaults[i].of_kernel)
                        return check_default_option(i, settings, fs, source, f);
        return 0;
}

int ext_options_check(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE], const Settings *settings,
                      const FileSystem *fs, const char *source, Failure *f) {
        _cleanup_(mount_options_done) MountOptions options = { 0 };
        _cleanup_failure_ Failure why = { 0 };
        _cleanup_strv_ char **split = NULL;
        _cleanup_free_ char *text = NULL;
        unsigned defaults_set;
        int r;

        if ((superblock[EXT_FEATURE_COMPAT] & EXT_FEATURE_HAS_JOURNAL) && le32(superblock + EXT_JOURNAL_INODE) == 0)
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "The file system of '%s' has its journal on another device, which is not allowed: give it one of its own (tune2fs -O ^has_journal DEVICE, e2fsck -f DEVICE, tune2fs -j DEVICE).",
                        source);

        defaults_set = le16(superblock + EXT_DEFAULT_OPTIONS);
        for (size_t i = 0; i < ELEMENTSOF(defaults); i++)
                if ((defaults_set & defaults[i].mask) == defaults[i].value) {
                        r = check_default_option(i, settings, fs, source, f);
                        if (r != 0)
                                return r;
                }

        text = strndup((const char *) superblock + EXT_MOUNT_OPTIONS, EXT_MOUNT_OPTIONS_SIZE);
        if (!text)
                return -ENOMEM;
        r = strv_split(text, ",", &split);
        if (r < 0)
                return r;
        r = mount_options_parse(split, &options, &why);
        if (r == 0)
                r = options.context ? FAILURE_INVALID_OPTION
                                    : mount_options_check(options.options, settings, fs, &why);
        if (r <= 0)
                return r;
        return options_failure(source, options.context ? "a context is not to be among them." : why.message,
                               "-E mount_opts=", "", f);
}

/* Returns 1, 0 if the device has no btrfs, or a negative errno. */
static int read_btrfs_head(int fd, uint8_t ret[static BTRFS_HEAD_SIZE]) {
        ssize_t n = pread(fd, ret, BTRFS_HEAD_SIZE, BTRFS_OFFSET);

        if (n < 0)
                return -errno;
        return n == BTRFS_HEAD_SIZE && memcmp(ret + BTRFS_MAGIC, BTRFS_MAGIC_BYTES, 8) == 0;
}

int btrfs_count_devices_on_disk(int fd, uint64_t *ret) {
        uint8_t head[BTRFS_HEAD_SIZE];
        int r;

        r = read_btrfs_head(fd, head);
        if (r >= 0)
                *ret = r > 0 ? le64(head + BTRFS_DEVICES) : 0;
        return r < 0 ? r : 0;
}

/* --- fingerprints --- */

#define HASH_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a: tells apart copies of a file system that were changed separately; no protection against forgery. */
static uint64_t hash_bytes(uint64_t h, const uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++)
                h = (h ^ p[i]) * UINT64_C(0x100000001b3);
        return h;
}

/* ext2, ext3 and ext4 count mounts in the superblock. */
Fingerprint fingerprint_of_ext(const uint8_t superblock[static EXT_SUPERBLOCK_SIZE]) {
        char uuid[UUID_TEXT_SIZE];
        Fingerprint f = { 0 };

        if (memcmp(superblock + EXT_MAGIC, EXT_MAGIC_BYTES, 2) != 0)
                return f;
        (void) snprintf(f.text, sizeof(f.text), "ext4:%s:%" PRIu32 ":%" PRIu32 ":%" PRIu16,
                        uuid_format(superblock + EXT_UUID, uuid), le32(superblock + EXT_LAST_CHECK),
                        le32(superblock + EXT_MTIME), le16(superblock + EXT_MOUNT_COUNT));
        return f;
}

/* btrfs counts transactions. A separate log has each fsync(2) since the last transaction. */
Fingerprint fingerprint_of_btrfs(const uint8_t superblock[static BTRFS_SUPERBLOCK_SIZE]) {
        char uuid[UUID_TEXT_SIZE];
        Fingerprint f = { 0 };

        if (memcmp(superblock + BTRFS_MAGIC, BTRFS_MAGIC_BYTES, 8) != 0 || le64(superblock + BTRFS_DEVICES) != 1 ||
            le64(superblock + BTRFS_LOG_ROOT) != 0)
                return f;
        (void) snprintf(f.text, sizeof(f.text), "btrfs:%s:%" PRIu64 ":%016" PRIx64,
                        uuid_format(superblock + BTRFS_UUID, uuid), le64(superblock + BTRFS_GENERATION),
                        hash_bytes(HASH_START, superblock, BTRFS_SUPERBLOCK_SIZE));
        return f;
}

/* At an unmount xfs writes the superblock, which names a record of the log. Later records follow: the record
 * of the unmount, and then others if xfs was mounted again. */
bool xfs_find_log(const uint8_t superblock[static XFS_SUPERBLOCK_SIZE], XfsLog *ret) {
        const uint64_t start = be64(superblock + XFS_LOG_START), lsn = be64(superblock + XFS_LSN);
        const uint32_t block_size = be32(superblock + XFS_BLOCK_SIZE),
                       group_blocks = be32(superblock + XFS_GROUP_BLOCKS),
                       n_blocks = be32(superblock + XFS_LOG_BLOCKS);
        const uint8_t bits = superblock[XFS_GROUP_BLOCKS_LOG];

        if (memcmp(superblock, XFS_MAGIC_BYTES, 4) != 0 || (be16(superblock + XFS_VERSION) & 0xf) < 5)
                return false;
        if (block_size < 512 || block_size > 65536 || block_size % 512 != 0 || bits > 31 || n_blocks == 0 ||
            n_blocks > UINT32_MAX / (block_size / 512))
                return false;
        /* start is 0 if the log is on another device. */
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

/* Returns the number of blocks of a log record; 0 if there is no record of this cycle. A record has a header
 * of one block, or more if records can be longer than 32 KiB, and data. */
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

/* Whether the record is of an unmount: one operation of the client XFS_LOG (0xaa) with the flag
 * XLOG_UNMOUNT_TRANS. The data follows the header. */
static bool record_is_unmount(const uint8_t *record, size_t n_blocks) {
        enum { OPERATIONS = 40, CLIENT = 8, FLAGS = 9 };
        const uint8_t *data = record + XFS_LOG_BLOCK;

        return n_blocks == 2 && be32(record + OPERATIONS) == 1 && data[CLIENT] == 0xaa && data[FLAGS] == 0x20;
}

/* Returns the number of blocks written from the head on, if the last record is of an unmount; otherwise 0. */
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
                clean = record_is_unmount(record, n);
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
        h = hash_bytes(HASH_START, superblock, XFS_SUPERBLOCK_SIZE);
        h = hash_bytes(h, blocks, n * XFS_LOG_BLOCK);
        (void) snprintf(f.text, sizeof(f.text), "xfs:%s:%" PRIx64 ":%016" PRIx64,
                        uuid_format(superblock + XFS_UUID, uuid), be64(superblock + XFS_LSN), h);
        return f;
}

/* Reads from the disk: cached pages may be older than later writes of xfs or of another node. The kernel
 * drops only whole pages; it keeps those of a mounted ext4, which are right. */
static bool read_at(int fd, off_t offset, uint8_t *bytes, size_t n) {
        const off_t page = sysconf(_SC_PAGESIZE), start = offset / page * page,
                    end = (offset + (off_t) n + page - 1) / page * page;

        (void) posix_fadvise(fd, start, end - start, POSIX_FADV_DONTNEED);
        return pread(fd, bytes, n, offset) == (ssize_t) n;
}

static Fingerprint read_xfs(int fd) {
        uint8_t superblock[XFS_SUPERBLOCK_SIZE], blocks[XFS_LOG_BLOCKS_READ * XFS_LOG_BLOCK];
        size_t n, to_end, first;
        XfsLog log;

        if (!read_at(fd, 0, superblock, sizeof(superblock)) || !xfs_find_log(superblock, &log))
                return (Fingerprint){ 0 };
        /* The log is a ring, so the blocks may continue at its start. */
        n = log.n_blocks < XFS_LOG_BLOCKS_READ ? log.n_blocks : XFS_LOG_BLOCKS_READ;
        to_end = log.n_blocks - log.head;
        first = n < to_end ? n : to_end;
        if (!read_at(fd, log.offset + (off_t) log.head * XFS_LOG_BLOCK, blocks, first * XFS_LOG_BLOCK) ||
            (first < n && !read_at(fd, log.offset, blocks + first * XFS_LOG_BLOCK, (n - first) * XFS_LOG_BLOCK)))
                return (Fingerprint){ 0 };
        return fingerprint_of_xfs(superblock, &log, blocks, n);
}

Fingerprint fingerprint_read(int fd, const char *fs_type) {
        uint8_t superblock[BTRFS_SUPERBLOCK_SIZE];

        if (ext_is_type(fs_type) && read_at(fd, EXT_SUPERBLOCK_OFFSET, superblock, EXT_SUPERBLOCK_SIZE))
                return fingerprint_of_ext(superblock);
        if (streq(fs_type, "btrfs") && read_at(fd, BTRFS_OFFSET, superblock, sizeof(superblock)))
                return fingerprint_of_btrfs(superblock);
        return streq(fs_type, "xfs") ? read_xfs(fd) : (Fingerprint){ 0 };
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "mount/on-disk.h"
#include "support/cases.h"

/* selvol makes fingerprints of superblocks as mkfs and the kernel leave them, and must bear any other bytes.
 * The root ring reads real superblocks. */

#define UUID_BYTES "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef"
#define UUID       "01234567-89ab-cdef-0123-456789abcdef"

static void put_le(uint8_t *p, guint64 n, size_t size) {
        for (size_t i = 0; i < size; i++)
                p[i] = (uint8_t) (n >> (8 * i));
}

static void put_be(uint8_t *p, guint64 n, size_t size) {
        for (size_t i = 0; i < size; i++)
                p[i] = (uint8_t) (n >> (8 * (size - 1 - i)));
}

/* --- text --- */

TEST(test_next, "/fingerprint/next") {
        static const struct {
                const char *before, *now;
                bool next;
        } rows[] = {
                { "ext4:" UUID ":5:100:7", "ext4:" UUID ":5:200:8", true },
                { "ext4:" UUID ":5:100:7", "ext4:" UUID ":5:100:8", true },
                { "ext4:" UUID ":5:100:65535", "ext4:" UUID ":5:200:0", true },
                { "ext4:" UUID ":5:100:7", "ext4:" UUID ":5:200:7", false },
                { "ext4:" UUID ":5:100:7", "ext4:" UUID ":5:200:9", false },
                { "ext4:" UUID ":5:100:7", "ext4:" UUID ":5:200:6", false },
                /* A check of the file system starts the count anew; and the other UUID is of another file
                 * system. */
                { "ext4:" UUID ":5:100:7", "ext4:" UUID ":6:200:8", false },
                { "ext4:" UUID ":5:100:7", "ext4:0" UUID ":5:200:8", false },
                { "ext4:" UUID ":5:100:7", "", false },
                { "", "ext4:" UUID ":5:200:8", false },
                { "", "", false },
                { "btrfs:" UUID ":7:1", "btrfs:" UUID ":8:1", false },
                { "xfs:" UUID ":7", "xfs:" UUID ":8", false },
                { "ext4:7", "ext4:8", false },
                { "ext4:" UUID ":5:100:-1", "ext4:" UUID ":5:200:0", false },
                { "ext4:" UUID ":5:100:65536", "ext4:" UUID ":5:200:1", false },
                { "ext4:" UUID ":5:100:", "ext4:" UUID ":5:200:1", false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Fingerprint before, now;

                g_assert_cmpint(fingerprint_from_string(rows[i].before, &before), ==, 0);
                g_assert_cmpint(fingerprint_from_string(rows[i].now, &now), ==, 0);
                g_assert_cmpint(fingerprint_is_next(&before, &now), ==, rows[i].next);
                g_assert_cmpint(fingerprint_equal(&before, &before), ==, rows[i].before[0] != '\0');
                g_assert_false(fingerprint_equal(&before, &now));
        }
}

TEST(test_from_string, "/fingerprint/from-string") {
        g_autofree char *longest = g_strnfill(FINGERPRINT_MAX - 1, 'a'), *longer = g_strnfill(FINGERPRINT_MAX, 'a');
        const struct {
                const char *text;
                int r;
        } rows[] = {
                { "", 0 },           { longest, 0 },    { longer, -EBADMSG }, { "a b", -EBADMSG },
                { "a\n", -EBADMSG }, { "A", -EBADMSG }, { "a=b", -EBADMSG },  { "\xc3\xa9", -EBADMSG },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                Fingerprint f = { "before" };

                g_assert_cmpint(fingerprint_from_string(rows[i].text, &f), ==, rows[i].r);
                g_assert_cmpstr(f.text, ==, rows[i].r == 0 ? rows[i].text : "before");
        }
}

/* --- ext4 --- */

TEST(test_ext, "/fingerprint/ext") {
        uint8_t superblock[EXT_SUPERBLOCK_SIZE] = { 0 };

        g_assert_cmpstr(fingerprint_of_ext(superblock).text, ==, "");
        memcpy(superblock + 0x38, "\x53\xef", 2);
        memcpy(superblock + 0x68, UUID_BYTES, 16);
        put_le(superblock + 0x40, 11, 4);
        put_le(superblock + 0x2c, 4294967295, 4);
        put_le(superblock + 0x34, 65535, 2);
        g_assert_cmpstr(fingerprint_of_ext(superblock).text, ==, "ext4:" UUID ":11:4294967295:65535");
        memset(superblock, 0xff, sizeof(superblock));
        g_assert_cmpstr(fingerprint_of_ext(superblock).text, ==, "");
}

/* --- btrfs --- */

TEST(test_btrfs, "/fingerprint/btrfs") {
        static const struct {
                size_t offset, size;
                guint64 value;
                bool known;
        } rows[] = {
                { 0x88, 8, 1, true },                                                /* devices */
                { 0x88, 8, 0, false }, { 0x88, 8, 2, false }, { 0x60, 8, 1, false }, /* log_root */
                { 0x60, 8, 0, true },  { 0x40, 1, 0, false },                        /* magic */
        };
        uint8_t superblock[BTRFS_SUPERBLOCK_SIZE] = { 0 };
        Fingerprint f, other;

        g_assert_cmpstr(fingerprint_of_btrfs(superblock).text, ==, "");
        memcpy(superblock + 0x40, "_BHRfS_M", 8);
        memcpy(superblock + 0x20, UUID_BYTES, 16);
        put_le(superblock + 0x48, 12345678901, 8);
        put_le(superblock + 0x88, 1, 8);
        f = fingerprint_of_btrfs(superblock);
        g_assert_true(g_str_has_prefix(f.text, "btrfs:" UUID ":12345678901:"));

        /* The other file system has the same number of transactions. */
        superblock[0] ^= 1;
        other = fingerprint_of_btrfs(superblock);
        g_assert_true(fingerprint_is_known(&other));
        g_assert_false(fingerprint_equal(&f, &other));

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                uint8_t changed[BTRFS_SUPERBLOCK_SIZE];

                memcpy(changed, superblock, sizeof(changed));
                put_le(changed + rows[i].offset, rows[i].value, rows[i].size);
                f = fingerprint_of_btrfs(changed);
                g_assert_cmpint(fingerprint_is_known(&f), ==, rows[i].known);
        }
}

/* --- xfs --- */

enum { LOG_BLOCKS = 65536 };

/* mkfs.xfs, and the kernel after some mounts, leave such a superblock: version 5, blocks of 4096 bytes, 4
 * groups of 20480 blocks, the log in the third group. */
static void make_xfs(uint8_t superblock[static XFS_SUPERBLOCK_SIZE], uint32_t cycle, uint32_t head) {
        memset(superblock, 0, XFS_SUPERBLOCK_SIZE);
        memcpy(superblock, "XFSB", 4);
        put_be(superblock + 4, 4096, 4);
        memcpy(superblock + 32, UUID_BYTES, 16);
        put_be(superblock + 48, (2 << 15) + 6, 8);
        put_be(superblock + 84, 20480, 4);
        put_be(superblock + 88, 4, 4);
        put_be(superblock + 96, LOG_BLOCKS / 8, 4);
        put_be(superblock + 100, 0xb4b5, 2);
        superblock[124] = 15;
        put_be(superblock + 240, (guint64) cycle << 32 | head, 8);
}

TEST(test_find_log, "/fingerprint/xfs/find-log") {
        static const struct {
                size_t offset, size;
                guint64 value;
        } rows[] = {
                { 0, 1, 0 }, /* magic */
                { 4, 4, 0 },
                { 4, 4, 513 }, /* size of a block */
                { 4, 4, 131072 },
                { 48, 8, 0 }, /* where the log is */
                { 48, 8, 4 << 15 },
                { 48, 8, UINT64_MAX },
                { 96, 4, 0 }, /* how long it is */
                { 96, 4, UINT32_MAX },
                { 100, 2, 0xb4b4 }, /* version */
                { 124, 1, 32 },
                { 124, 1, 255 },                            /* bits of a number in a group */
                { 240, 8, 5 },                              /* a cycle that isn't */
                { 240, 8, UINT64_C(1) << 32 | LOG_BLOCKS }, /* beyond the end */
        };
        uint8_t superblock[XFS_SUPERBLOCK_SIZE];
        XfsLog log;

        make_xfs(superblock, 3, 77);
        g_assert_true(xfs_find_log(superblock, &log));
        g_assert_cmpint(log.offset, ==, (2 * 20480 + 6) * 4096);
        g_assert_cmpuint(log.n_blocks, ==, LOG_BLOCKS);
        g_assert_cmpuint(log.head, ==, 77);
        g_assert_cmpuint(log.cycle, ==, 3);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                make_xfs(superblock, 3, 77);
                put_be(superblock + rows[i].offset, rows[i].value, rows[i].size);
                g_assert_false(xfs_find_log(superblock, &log));
        }
}

typedef struct LogWriter {
        uint8_t blocks[XFS_LOG_BLOCKS_READ * XFS_LOG_BLOCK];
        size_t n;
} LogWriter;

static void add_record(LogWriter *w, uint32_t cycle, uint32_t length, uint32_t size, uint32_t operations,
                       bool unmount) {
        uint8_t *header = w->blocks + w->n * XFS_LOG_BLOCK, *data = header + XFS_LOG_BLOCK;

        put_be(header, 0xfeedbabe, 4);
        put_be(header + 4, cycle, 4);
        put_be(header + 8, 2, 4);
        put_be(header + 12, length, 4);
        put_be(header + 40, operations, 4);
        put_be(header + 320, size, 4);
        if (w->n + 1 < XFS_LOG_BLOCKS_READ) {
                data[8] = unmount ? 0xaa : 0x69;
                data[9] = unmount ? 0x20 : 0x01;
        }
        w->n += (size > 32768 ? size / 32768 : 1) + (length + 511) / 512;
}

/* Each letter is a record: of the superblock (s), of changes (c; C is longer, with more headers), of an
 * unmount (u; U is of the cycle after), of the cycle before (-) or after (+), with a length (l) or a size (z)
 * that can't be. */
TEST(test_log, "/fingerprint/xfs/log") {
        static const struct {
                const char *records;
                uint32_t head;
                bool clean;
        } rows[] = {
                { "su-", 77, true },
                { "u-", 77, true },
                { "su", 77, true },
                { "sCCu", 77, true },
                { "", 77, false },
                { "-", 77, false },
                { "s-", 77, false },
                { "suc-", 77, false },
                { "suC", 77, false },
                { "sucu-", 77, true },
                { "sul", 77, true },
                { "suz", 77, true },
                { "su+", 77, true },
                /* The ring ends behind the first record, or behind the second. */
                { "s+u", LOG_BLOCKS - 2, false },
                { "sU", LOG_BLOCKS - 2, true },
                { "su", LOG_BLOCKS - 4, true },
                { "suc", LOG_BLOCKS - 4, true },
                { "su+", LOG_BLOCKS - 4, false },
                { "sU-", LOG_BLOCKS - 2, true },
                { "su", LOG_BLOCKS - 2, false },
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                g_autofree LogWriter *w = g_new0(LogWriter, 1);
                uint8_t superblock[XFS_SUPERBLOCK_SIZE];
                Fingerprint f;
                XfsLog log;

                make_xfs(superblock, 3, rows[i].head);
                g_assert_true(xfs_find_log(superblock, &log));
                for (const char *p = rows[i].records; *p; p++)
                        add_record(w,
                                   *p == '-'                ? 2
                                   : *p == '+' || *p == 'U' ? 4
                                                            : 3,
                                   *p == 'l'   ? UINT32_MAX
                                   : *p == 'c' ? 1536
                                   : *p == 'C' ? 9000
                                               : 512,
                                   *p == 'z'   ? UINT32_MAX
                                   : *p == 'C' ? 65536
                                               : 32768,
                                   g_ascii_tolower(*p) == 'u' ? 1 : 5, g_ascii_tolower(*p) == 'u');
                f = fingerprint_of_xfs(superblock, &log, w->blocks, XFS_LOG_BLOCKS_READ);
                if (fingerprint_is_known(&f) != rows[i].clean)
                        g_error("row %zu, '%s': '%s'", i, rows[i].records, f.text);
        }
}

/* No bytes lead the reader beyond the end of the log, even if records fill all of it. */
TEST(test_log_bytes, "/fingerprint/xfs/bytes") {
        g_autofree LogWriter *w = g_new0(LogWriter, 1);
        const XfsLog log = { .n_blocks = LOG_BLOCKS, .head = 1, .cycle = 3 };
        uint8_t superblock[XFS_SUPERBLOCK_SIZE];
        Fingerprint f;

        make_xfs(superblock, 3, 1);
        while (w->n + 2 <= XFS_LOG_BLOCKS_READ)
                add_record(w, 3, 512, 32768, 1, true);
        for (size_t n = 0; n <= XFS_LOG_BLOCKS_READ; n++) {
                /* The sanitizer knows where a copy ends. */
                g_autofree uint8_t *part = g_memdup2(w->blocks, n * XFS_LOG_BLOCK);

                f = fingerprint_of_xfs(superblock, &log, part, n);
                g_assert_cmpstr(f.text, ==, "");
        }
        for (unsigned i = 0; i < 20000; i++) {
                for (size_t k = 0; k < 16; k++)
                        w->blocks[g_test_rand_int_range(0, 40 * XFS_LOG_BLOCK)] =
                                (uint8_t) g_test_rand_int_range(0, 256);
                (void) fingerprint_of_xfs(superblock, &log, w->blocks, XFS_LOG_BLOCKS_READ);
        }
}

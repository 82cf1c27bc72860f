/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/on-disk.h"
#include "fuzz.h"

/* The input is the start of a disk, read as each type of file system. Its fingerprint has to be one word. */

static void check(const Fingerprint *f) {
        assert(memchr(f->text, '\0', sizeof(f->text)));
        assert(strpbrk(f->text, " \t\n") == NULL && text_is_clean(f->text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        enum { BLOCKS = 4 };
        uint8_t superblock[BTRFS_SUPERBLOCK_SIZE] = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        Fingerprint found;
        XfsLog log;

        memcpy(superblock, data, size < sizeof(superblock) ? size : sizeof(superblock));
        found = fingerprint_of_ext(superblock);
        check(&found);
        found = fingerprint_of_btrfs(superblock);
        check(&found);
        if (xfs_find_log(superblock, &log)) {
                assert(log.offset >= 0 && log.head < log.n_blocks);
                found = fingerprint_of_xfs(superblock, &log, superblock + XFS_SUPERBLOCK_SIZE, BLOCKS);
                check(&found);
        }
        fuzz_check_failure(ext_options_check(superblock, fuzz_settings(),
                                             settings_file_system(fuzz_settings(), "ext4"), "disk", &f),
                           &f);
        return 0;
}

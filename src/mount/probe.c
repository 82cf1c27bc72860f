/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include <blkid/blkid.h>

#include "basic/string-util.h"
#include "mount/probe.h"

/* Where nearly all file systems and RAIDs have their signatures. */
enum { PROBED_HEAD = 264 * 1024, PROBED_TAIL = 512 * 1024 };

/* Of blkid_do_safeprobe(), which has names for them only since libblkid 2.39; otherwise it returns a negative errno, or -1. */
enum { PROBE_NOTHING = 1, PROBE_FAILED = -1, PROBE_AMBIVALENT = -2 };

DEFINE_CLEANUP_FUNC(blkid_probe, blkid_free_probe);

void probed_done(Probed *p) {
        free(p->fs_type);
        free(p->partition_table);
        *p = (Probed){ 0 };
}

/* libblkid looks for signatures in about forty places near both ends, one read after the other, and the cache of a
 * device that is not open elsewhere is empty. Two large reads are faster, above all on network storage. */
static void read_ahead(int fd) {
        off_t end = lseek(fd, 0, SEEK_END);

        (void) posix_fadvise(fd, 0, PROBED_HEAD, POSIX_FADV_WILLNEED);
        if (end > PROBED_TAIL)
                (void) posix_fadvise(fd, end - PROBED_TAIL, PROBED_TAIL, POSIX_FADV_WILLNEED);
}

static int copy_value(blkid_probe p, const char *name, char **ret) {
        const char *value;

        if (blkid_probe_lookup_value(p, name, &value, NULL) < 0)
                return 0;
        *ret = strdup(value);
        return *ret ? 0 : -ENOMEM;
}

static int search(blkid_probe p, Probed *found) {
        int r;

        errno = 0;
        r = blkid_do_safeprobe(p);
        if (r == PROBE_NOTHING)
                return 0;
        if (r == PROBE_AMBIVALENT) {
                found->ambivalent = true;
                return 0;
        }
        if (r == PROBE_FAILED)
                return errno > 0 ? -errno : -EIO;
        if (r < 0)
                return r;
        r = copy_value(p, "TYPE", &found->fs_type);
        return r < 0 || found->fs_type ? r : copy_value(p, "PTTYPE", &found->partition_table);
}

/* A file system whose values libblkid has no memory for is none to it: nothing is believed if it is found twice. What was read
 * for the first search serves the second. */
static int search_twice(blkid_probe p, Probed *found) {
        int r;

        if (blkid_probe_enable_superblocks(p, 1) < 0 || blkid_probe_set_superblocks_flags(p, BLKID_SUBLKS_TYPE) < 0)
                return -ENOMEM;
        r = search(p, found);
        if (r < 0 || found->fs_type || found->ambivalent)
                return r;
        blkid_reset_probe(p);
        if (blkid_probe_enable_partitions(p, 1) < 0)
                return -ENOMEM;
        return search(p, found);
}

int probe(int fd, Probed *ret) {
        _cleanup_(blkid_free_probep) blkid_probe p = blkid_new_probe();
        _cleanup_(probed_done) Probed found = { 0 };
        int r;

        assert(fd >= 0);
        assert(ret);

        if (!p)
                return -ENOMEM;
        read_ahead(fd);
        errno = 0;
        if (blkid_probe_set_device(p, fd, 0, 0) < 0)
                return errno > 0 ? -errno : -EIO;
        r = search_twice(p, &found);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(found);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include <blkid/blkid.h>

#include "mount/on-disk.h"
#include "mount/probe.h"

/* Where nearly all file systems and RAIDs have their signatures. */
enum { PROBED_HEAD = 264 * 1024, PROBED_TAIL = 512 * 1024 };

/* Of blkid_do_safeprobe(), which has names for them only since libblkid 2.39; otherwise it returns a
 * negative errno, or -1. */
enum { PROBE_NOTHING = 1, PROBE_FAILED = -1, PROBE_AMBIVALENT = -2 };

DEFINE_CLEANUP_FUNC(blkid_probe, blkid_free_probe);

typedef struct Probed {
        char *fs_type;         /* NULL: no file system was found, and all was read */
        char *partition_table; /* its type, "gpt" for instance; only without a file system; NULL: none */
        bool ambivalent;       /* there are signatures of several file systems; then nothing else is known */
} Probed;

static void probed_done(Probed *p) {
        free(p->fs_type);
        free(p->partition_table);
        *p = (Probed){ 0 };
}

/* libblkid looks for signatures in about forty places near both ends, one read after the other, and the
 * cache of a device that is not open elsewhere is empty. Two large reads are faster, above all on network
 * storage. */
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

/* A file system whose values libblkid has no memory for is none to it: nothing is believed if it is found
 * twice. What was read for the first search serves the second. */
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

/* Looks for all types that there are. The offset of fd changes. Returns 0, or a negative errno: that of the
 * read that failed, or -ENOMEM. */
static int probe(int fd, Probed *ret) {
        _cleanup_(blkid_free_probep) blkid_probe p = blkid_new_probe();

        if (!p)
                return -ENOMEM;
        read_ahead(fd);
        errno = 0;
        if (blkid_probe_set_device(p, fd, 0, 0) < 0)
                return errno > 0 ? -errno : -EIO;
        return search_twice(p, ret);
}

/* source: escaped. */
static int find_type(int fd, const char *source, char **ret, Failure *f) {
        _cleanup_(probed_done) Probed found = { 0 };
        int r;

        r = probe(fd, &found);
        if (r == -ENOMEM)
                return r;
        /* Only a search that has read all that it looks for finds nothing. */
        if (r < 0)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "Source '%s' could not be read (%s), so that it is not known what it holds: check the device, the kernel's log says more (journalctl -k).",
                        source, strerrorname_np(-r));
        if (found.ambivalent)
                return failure_set(
                        f, FAILURE_INVALID_VOLUME,
                        "Source '%s' carries the signatures of several file systems: remove the wrong one with wipefs(8).",
                        source);
        if (found.partition_table)
                return failure_set(f, FAILURE_INVALID_VOLUME,
                                   "Source '%s' has no file system, but partitions (%s): pass one of those.", source,
                                   found.partition_table);
        if (!found.fs_type)
                return failure_set(f, FAILURE_INVALID_VOLUME,
                                   "Source '%s' has no file system: make one, e.g. with mkfs.ext4(8).", source);
        *ret = TAKE_PTR(found.fs_type);
        return 0;
}

int probe_type(int fd, const char *source, const char *fs_type, bool search, const Settings *settings,
               const FileSystem **ret, Failure *f) {
        _cleanup_free_ char *name = string_escape(source, 200), *found = NULL;
        int r;

        if (!name)
                return -ENOMEM;
        if (search || isempty(fs_type) || magic_is_missing(fd, fs_type)) {
                r = find_type(fd, name, &found, f);
                if (r != 0)
                        return r;
                assert(found);
                if (isempty(fs_type))
                        fs_type = found;
                else if (!streq(fs_type, found) && !(ext_is_type(fs_type) && ext_is_type(found)))
                        return failure_set(f, FAILURE_INCOMPATIBLE,
                                           "Source '%s' has a file system of type %s, not %s.", name, found, fs_type);
        }

        *ret = settings_file_system(settings, fs_type);
        if (!*ret)
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "File system type '%s' is not allowed. To allow it, add a section [FileSystem %s] " SETTINGS_REMEDY,
                        fs_type, fs_type);
        if ((*ret)->source != SOURCE_BLOCK)
                return failure_set(f, FAILURE_INVALID_VOLUME,
                                   "Source '%s' is a device or image, which this type of file system does not take.",
                                   name);
        return 0;
}

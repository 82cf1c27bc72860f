/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <blkid/blkid.h>

#include "mount/on-disk.h"
#include "mount/source-type.h"

/* libblkid finds the type of the file system: libmount's own search does not tell an unreadable device from
 * an empty one, and a caller would format an empty one. */

/* Nearly all file systems and RAIDs have their signatures in these bytes. */
enum { PROBED_HEAD = 264 * 1024, PROBED_TAIL = 512 * 1024 };

/* Results of blkid_do_safeprobe(), named only since libblkid 2.39; other errors are a negative errno, or
 * -1. */
enum { PROBE_NOTHING = 1, PROBE_FAILED = -1, PROBE_AMBIVALENT = -2 };

DEFINE_CLEANUP_FUNC(blkid_probe, blkid_free_probe);

static int copy_value(blkid_probe p, const char *name, char **ret) {
        const char *value;

        if (blkid_probe_lookup_value(p, name, &value, NULL) < 0)
                return 0;
        *ret = strdup(value);
        return *ret ? 0 : -ENOMEM;
}

/* The findings of libblkid; all are NULL if everything was read and nothing found. */
typedef struct Finding {
        char *type, *usage; /* TYPE and USAGE, such as "ext4" and "filesystem" */
        char *table;        /* without a type: the partition table, such as "gpt" */
} Finding;

static void finding_done(Finding *n) {
        free(n->type);
        free(n->usage);
        free(n->table);
}

static int search_once(blkid_probe p, Finding *n) {
        int r;

        errno = 0;
        r = blkid_do_safeprobe(p);
        if (r == PROBE_NOTHING)
                return 0;
        if (r == PROBE_AMBIVALENT)
                return 1;
        if (r == PROBE_FAILED)
                return errno > 0 ? -errno : -EIO;
        if (r < 0)
                return r;
        r = copy_value(p, "TYPE", &n->type);
        if (r < 0 || !n->type)
                return r < 0 ? r : copy_value(p, "PTTYPE", &n->table);
        return copy_value(p, "USAGE", &n->usage);
}

/* Looks for all types. Changes the offset of fd. Returns 0; 1 if there are signatures of several file
 * systems; or a negative errno: of the failed read, or -ENOMEM. */
static int search_twice(int fd, Finding *n) {
        _cleanup_(blkid_free_probep) blkid_probe p = blkid_new_probe();
        off_t end;
        int r;

        if (!p)
                return -ENOMEM;
        /* libblkid reads about forty places near both ends, one after the other, and the cache of a device
         * that is not open elsewhere is empty. Two large reads are faster, most of all on network storage. */
        end = lseek(fd, 0, SEEK_END);
        (void) posix_fadvise(fd, 0, PROBED_HEAD, POSIX_FADV_WILLNEED);
        if (end > PROBED_TAIL)
                (void) posix_fadvise(fd, end - PROBED_TAIL, PROBED_TAIL, POSIX_FADV_WILLNEED);
        errno = 0;
        if (blkid_probe_set_device(p, fd, 0, 0) < 0)
                return errno > 0 ? -errno : -EIO;

        if (blkid_probe_enable_superblocks(p, 1) < 0 ||
            blkid_probe_set_superblocks_flags(p, BLKID_SUBLKS_TYPE | BLKID_SUBLKS_USAGE) < 0)
                return -ENOMEM;
        r = search_once(p, n);
        if (r != 0 || n->type)
                return r;
        /* Without memory libblkid reports a file system as nothing, so the result "nothing" counts only if it
         * is found twice. The second search uses the cache of the first. */
        blkid_reset_probe(p);
        if (blkid_probe_enable_partitions(p, 1) < 0)
                return -ENOMEM;
        return search_once(p, n);
}

static int refuse_partitions(int fd, const char *source, const char *table, Failure *f) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return -errno;
        if (S_ISREG(st.st_mode))
                return failure_set(
                        f, FAILURE_INVALID_VOLUME,
                        "Source '%s' has no file system, but partitions (%s). Attach it with 'losetup -Pf --show IMAGE', and pass the device of a partition, such as /dev/loop0p1.",
                        source, table);
        return failure_set(f, FAILURE_INVALID_VOLUME,
                           "Source '%s' has no file system, but partitions (%s): pass one of those.", source, table);
}

/* Finds the type by libblkid. name: the source, escaped. */
static int find_type(int fd, const char *source, const char *name, char **ret, Failure *f) {
        _cleanup_(finding_done) Finding n = { 0 };
        int r;

        r = search_twice(fd, &n);
        if (r == -ENOMEM)
                return r;
        /* "Nothing found" is true only if everything could be read. */
        if (r < 0)
                return failure_set(
                        f, FAILURE_MOUNT_FAILED,
                        "Source '%s' could not be read (%s), so that it is not known what it holds: check the device, the kernel's log says more (journalctl -k).",
                        name, strerrorname_np(-r));
        if (r > 0)
                return failure_set(
                        f, FAILURE_INVALID_VOLUME,
                        "Source '%s' carries the signatures of several file systems: remove the wrong one with wipefs(8).",
                        name);
        if (n.table)
                return refuse_partitions(fd, name, n.table, f);
        if (!n.type)
                return failure_set(f, FAILURE_INVALID_VOLUME,
                                   "Source '%s' has no file system: make one, e.g. with mkfs.ext4(8).", name);
        r = fs_type_check_usage(source, n.type, strempty(n.usage), f);
        if (r == 0)
                *ret = TAKE_PTR(n.type);
        return r;
}

int source_find_type(int fd, const char *source, const char *fs_type, bool search, const Settings *settings,
                     const FileSystem **ret, Failure *f) {
        _cleanup_free_ char *name = string_escape(source, 200), *found = NULL;
        int r;

        if (!name)
                return -ENOMEM;
        if (search || isempty(fs_type) || magic_is_missing(fd, fs_type)) {
                r = find_type(fd, source, name, &found, f);
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
                return fs_type_refuse(fs_type, f);
        if ((*ret)->source != SOURCE_BLOCK)
                return failure_set(f, FAILURE_INVALID_VOLUME,
                                   "Source '%s' is a device or image, which this type of file system does not take.",
                                   name);
        return 0;
}

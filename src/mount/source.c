/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/open-util.h"
#include "mount/device.h"
#include "mount/loop.h"
#include "mount/mount-table.h"
#include "mount/on-disk.h"
#include "mount/probe.h"
#include "mount/source-path.h"
#include "mount/source.h"

void source_done(Source *s) {
        free(s->path);
        free(s->name);
        s->fd = fd_close(s->fd);
        *s = SOURCE_INIT;
}

static int open_device(Source *s, int pinned, dev_t device, const char *source, const Settings *settings,
                       Failure *f) {
        int read_only = 0, r;

        s->device = device;
        r = host_uses_device(settings, device);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set_about(f, FAILURE_PATH_NOT_ALLOWED, source,
                                         "Source '%s' holds the host's own system and can't be used as a volume.");

        s->fd = open_again(pinned, O_RDONLY);
        if (s->fd < 0)
                return s->fd;
        if (ioctl(s->fd, BLKROGET, &read_only) < 0)
                return -errno;
        s->read_only = read_only;
        return 0;
}

/* Nothing is opened for writing before it is mounted: who only asks for a plan must not have that done. */
static int open_image(Source *s, int pinned, const struct stat *st) {
        _cleanup_free_ char *path = strdup_printf("/proc/self/fd/%i", pinned);

        if (!path)
                return -ENOMEM;
        s->is_image = true;
        s->image_device = st->st_dev;
        s->image_inode = st->st_ino;
        /* On a read-only file system, or immutable. EACCES is an error: a volume must not become read-only because of
         * the permissions of its image. */
        if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) < 0) {
                if (errno != EROFS && errno != EPERM)
                        return -errno;
                s->read_only = true;
        }
        s->fd = open_again(pinned, O_RDONLY);
        return s->fd < 0 ? s->fd : 0;
}

static int open_local(const char *source, const Settings *settings, Source *s, Failure *f) {
        _cleanup_close_ int pinned = -EBADF;
        struct stat st;
        int r;

        r = source_path_open(source, settings, &pinned, &st, &s->path, f);
        if (r != 0)
                return r;
        r = S_ISBLK(st.st_mode) ? open_device(s, pinned, st.st_rdev, source, settings, f)
                                : open_image(s, pinned, &st);
        return r < 0 ? source_path_failure(source, r, f) : r;
}

static bool types_agree(const char *wanted, const char *found) {
        return streq(wanted, found) || (ext_is_type(wanted) && ext_is_type(found));
}

/* Only a search that has read all that it looks for finds nothing. */
static int unreadable_failure(const char *source, int error, Failure *f) {
        _cleanup_free_ char *escaped = string_escape(source, 200);

        if (error == -ENOMEM || !escaped)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "Source '%s' could not be read (%s), so that it is not known what it holds: check the device, the kernel's log says more (journalctl -k).",
                escaped, strerrorname_np(-error));
}

static int no_file_system_failure(const char *source, const Probed *found, Failure *f) {
        _cleanup_free_ char *escaped = NULL;

        if (!found->partition_table)
                return failure_set_about(f, FAILURE_INVALID_VOLUME, source,
                                         "Source '%s' has no file system: make one, e.g. with mkfs.ext4(8).");
        escaped = string_escape(source, 200);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_VOLUME,
                           "Source '%s' has no file system, but partitions (%s): pass one of those.", escaped,
                           found->partition_table);
}

static int find_type(const Source *s, const char *source, char **ret, Failure *f) {
        _cleanup_(probed_done) Probed found = { 0 };
        int r;

        r = probe(s->fd, &found);
        if (r < 0)
                return unreadable_failure(source, r, f);
        if (found.ambivalent)
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' carries the signatures of several file systems: remove the wrong one with wipefs(8).");
        if (!found.fs_type)
                return no_file_system_failure(source, &found, f);
        *ret = TAKE_PTR(found.fs_type);
        return 0;
}

static int check_type(const char *source, const char *wanted, const char *found, Failure *f) {
        _cleanup_free_ char *escaped = NULL;

        if (isempty(wanted) || types_agree(wanted, found))
                return 0;
        escaped = string_escape(source, 200);
        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INCOMPATIBLE, "Source '%s' has a file system of type %s, not %s.", escaped,
                           found, wanted);
}

static int choose_type(Source *s, const char *source, const char *fs_type, bool search, const Settings *settings,
                       Failure *f) {
        _cleanup_free_ char *found = NULL;
        int r;

        if (search || isempty(fs_type) || magic_is_missing(s->fd, fs_type)) {
                r = find_type(s, source, &found, f);
                if (r != 0)
                        return r;
                assert(found);
                r = check_type(source, fs_type, found, f);
                if (r != 0)
                        return r;
                if (isempty(fs_type))
                        fs_type = found;
        }

        s->fs = settings_file_system(settings, fs_type);
        if (!s->fs)
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "File system type '%s' is not allowed. To allow it, add a section [FileSystem %s] " SETTINGS_REMEDY,
                        fs_type, fs_type);
        if (s->fs->source != SOURCE_BLOCK)
                return failure_set_about(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' is a device or image, which this type of file system does not take.");
        return 0;
}

/* Of a superblock that can't be read mounting tells. */
static int check_ext_options(const Source *s, const Settings *settings, Failure *f) {
        uint8_t superblock[EXT_SUPERBLOCK_SIZE];

        if (!ext_is_type(s->fs->name) ||
            pread(s->fd, superblock, sizeof(superblock), EXT_SUPERBLOCK_OFFSET) != (ssize_t) sizeof(superblock))
                return 0;
        return ext_options_check(superblock, settings, s->fs, s->name, f);
}

/* The kernel would write to the other devices, too, which nobody has checked: it finds them by the UUID that this one names. */
static int check_btrfs_devices(const Source *s, Failure *f) {
        uint64_t n;
        int r;

        if (!streq(s->fs->name, "btrfs"))
                return 0;
        r = btrfs_count_devices_on_disk(s->fd, &n);
        if (r < 0 || n <= 1)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The btrfs on %s is on several devices: a volume can be on one only. Remove the others with 'btrfs device remove'.",
                s->name);
}

/* What is to be asked of a server goes through sockets of the worker's. */
static int check_network(const char *fs_type, Failure *f) {
        _cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd >= 0)
                return 0;
        if (errno != EAFNOSUPPORT && errno != EACCES && errno != EPERM)
                return -errno;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "File system type %s needs the network, which selvol-worker may not use. To allow it: install -D -m 644 /usr/share/doc/selvol/selvol-worker-network.conf /etc/systemd/system/selvol-worker.service.d/network.conf; systemctl daemon-reload; systemctl restart selvol-worker; and where SELinux is on: setsebool -P selvol_use_network on.",
                fs_type);
}

int source_open(const char *source, const char *fs_type, bool search, const Settings *settings, Source *ret,
                Failure *f) {
        _cleanup_(source_done) Source s = SOURCE_INIT;
        const FileSystem *fs = isempty(fs_type) ? NULL : settings_file_system(settings, fs_type);
        int r;

        assert(source);
        assert(settings);
        assert(ret);

        if (!isempty(fs_type) && !fs)
                return failure_set_about(
                        f, FAILURE_TYPE_NOT_ALLOWED, fs_type,
                        "File system type '%1$s' is not allowed. To allow it, add a section [FileSystem %1$s] " SETTINGS_REMEDY);

        if (fs && fs->source != SOURCE_BLOCK) {
                if (fs->source == SOURCE_NETWORK) {
                        r = check_network(fs->name, f);
                        if (r != 0)
                                return r;
                }
                s.fs = fs;
                /* Without a source it is named after its type, whatever the caller passes. */
                s.path = strdup(fs->source == SOURCE_NONE ? fs->name : source);
                if (!s.path)
                        return -ENOMEM;
        } else {
                r = open_local(source, settings, &s, f);
                if (r != 0)
                        return r;
                r = choose_type(&s, source, fs_type, search, settings, f);
                if (r != 0)
                        return r;
        }

        s.name = string_escape(s.path, 200);
        if (!s.name)
                return -ENOMEM;
        r = check_ext_options(&s, settings, f);
        if (r != 0)
                return r;
        r = check_btrfs_devices(&s, f);
        if (r != 0)
                return r;
        *ret = s;
        s = SOURCE_INIT;
        return 0;
}

/* Exclusive opening fails exactly if the device is mounted or otherwise claimed, in any mount namespace (open(2),
 * O_EXCL). Returns 1 if it is claimed, 0 if not. */
static int is_claimed(int fd) {
        _cleanup_close_ int again = open_again(fd, O_RDONLY | O_EXCL);

        if (again == -EBUSY)
                return 1;
        return again < 0 ? again : 0;
}

static int find_devices(const Source *s, dev_t **ret, size_t *ret_n) {
        int r;

        if (s->is_image)
                return loop_find(s->image_device, s->image_inode, ret, ret_n);
        r = is_claimed(s->fd);
        if (r < 0)
                return r;
        if (r == 0) {
                *ret = NULL;
                *ret_n = 0;
                return 0;
        }
        return host_find_siblings(s->device, ret, ret_n);
}

static int loop_is_claimed(const Source *s, dev_t device) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *path = NULL;
        int r;

        r = loop_open(device, s->image_device, s->image_inode, &fd, &path, NULL);
        return r > 0 ? is_claimed(fd) : r;
}

int source_is_claimed(const Source *s) {
        _cleanup_free_ dev_t *devices = NULL;
        size_t n = 0;
        int r;

        assert(s && s->fs);

        if (s->fs->source != SOURCE_BLOCK)
                return 0;
        if (!s->is_image)
                return is_claimed(s->fd);
        r = loop_find(s->image_device, s->image_inode, &devices, &n);
        for (size_t i = 0; r == 0 && i < n; i++)
                r = loop_is_claimed(s, devices[i]);
        return r;
}

int source_is_claimed_for_long(const Source *s) {
        enum { ATTEMPTS = 5, ATTEMPT_USEC = 20000 };

        for (unsigned i = 1;; i++) {
                int r = source_is_claimed(s);

                if (r <= 0 || i == ATTEMPTS)
                        return r;
                usleep(ATTEMPT_USEC);
        }
}

Fingerprint source_read_fingerprint(const Source *s) {
        return s->fs->source == SOURCE_BLOCK ? fingerprint_read(s->fd, s->fs->name) : (Fingerprint){ 0 };
}

Fingerprint source_take_fingerprint(const Source *s) {
        return s->fs->source == SOURCE_BLOCK && source_is_claimed_for_long(s) == 0 ? source_read_fingerprint(s)
                                                                                   : (Fingerprint){ 0 };
}

/* A loop device may have gone to another image since it was found, and be mounted as that. */
static int drop_reused(const Source *s, dev_t *devices, size_t *n) {
        size_t kept = 0;

        for (size_t i = 0; i < *n; i++) {
                _cleanup_close_ int fd = -EBADF;
                _cleanup_free_ char *path = NULL;
                int r;

                r = loop_open(devices[i], s->image_device, s->image_inode, &fd, &path, NULL);
                if (r < 0)
                        return r;
                if (r > 0)
                        devices[kept++] = devices[i];
        }
        *n = kept;
        return 0;
}

int source_find_mounts(const Source *s, MountFact **ret, size_t *ret_n) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_free_ dev_t *devices = NULL;
        size_t n = 0;
        int r;

        assert(s && s->fs);
        assert(ret && ret_n);

        if (s->fs->source == SOURCE_BLOCK) {
                r = find_devices(s, &devices, &n);
                if (r < 0)
                        return r;
        }
        if (n == 0) {
                *ret = NULL;
                *ret_n = 0;
                return 0;
        }

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        if (s->is_image) {
                r = drop_reused(s, devices, &n);
                if (r < 0)
                        return r;
        }
        return mount_table_find_devices(table, devices, n, ret, ret_n);
}

int source_is_mounted_as(const Source *s, const MountFact *fact) {
        _cleanup_free_ dev_t *devices = NULL;
        size_t n;
        int r;

        assert(s && s->fs);
        assert(fact);

        if (s->fs->source != SOURCE_BLOCK)
                return streq(fact->source, s->path) && streq(fact->fs_type, s->fs->name);

        r = find_devices(s, &devices, &n);
        if (r < 0)
                return r;
        return mount_fact_is_of_devices(fact, devices, n);
}

bool source_device_is_read_only(dev_t device) {
        _cleanup_free_ char *path = strdup_printf("/sys/dev/block/%u:%u/ro", major(device), minor(device));
        _cleanup_fclose_ FILE *file = path ? fopen(path, "re") : NULL;

        return file && fgetc(file) == '1';
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/log.h"
#include "mount/mount-removal.h"
#include "mount/mount-table.h"
#include "mount/target.h"

/* Unmounts relative to the parent's directory, so nobody can exchange a part of the path; umount2(2) takes no
 * descriptor. */
static int unmount_in(int parent, const char *name) {
        int r = 0;

        if (fchdir(parent) < 0)
                return -errno;
        if (umount2(name, UMOUNT_NOFOLLOW) < 0)
                r = -errno;
        if (chdir("/") < 0)
                return -errno;
        return r;
}

/* Whether the mount at name is of the device. files: st_dev of its files. Returns 1; 0 if not, or if the
 * mount was unmounted meanwhile; or a negative errno. */
static int is_of_device(int parent, const char *name, uint64_t mount_id, dev_t files, const char *device) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        _cleanup_close_ int fd = -EBADF;
        dev_t expected;
        int r;

        r = device_parse(device, &expected);
        if (r < 0)
                return r;
        if (files == expected)
                return 1;
        /* Files of btrfs have the unique device numbers of its subvolumes. The descriptor is closed before
         * the unmount. */
        fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
                return errno == ENOENT ? 0 : -errno;
        r = mount_table_read_own(fd, false, &table);
        if (r >= 0)
                r = mount_table_find_id(table, mount_id, &fact);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        return streq(fact.device, device);
}

static int find_at(const char *path, MountFact **ret, size_t *ret_n) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = mount_table_read(NULL, &table);
        return r < 0 ? r : mount_table_find_at(table, path, ret, ret_n);
}

static bool is_meant(const MountFact *fact, uint64_t mount_id, const char *device) {
        return fact->mount_id == mount_id && streq(fact->device, device);
}

/* For a file system that does not answer, for example after a shutdown. */
static int table_has(const char *path, uint64_t mount_id, const char *device) {
        MountFact *facts;
        size_t n;
        bool there = false;
        int r;

        r = find_at(path, &facts, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (is_meant(&facts[i], mount_id, device) && isempty(facts[i].covered_by))
                        there = true;
        mount_facts_free(facts, n);
        return there;
}

/* Whether the mount is at name, with nothing on top. First tries without opening the mount: a descriptor
 * would keep it busy. Returns 1, 0 or a negative errno. */
static int mount_is_there(const char *path, int parent, const char *name, uint64_t mount_id, const char *device) {
        struct statx sx = { 0 };

        if (statx(parent, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, STATX_MNT_ID, &sx) < 0)
                return errno == ENOENT ? 0 : table_has(path, mount_id, device);
        if (!(sx.stx_attributes & STATX_ATTR_MOUNT_ROOT) || sx.stx_mnt_id != mount_id)
                return 0;
        return is_of_device(parent, name, mount_id, makedev(sx.stx_dev_major, sx.stx_dev_minor), device);
}

static int covered_failure(Failure *f, const char *path) {
        _cleanup_free_ char *escaped = string_escape(path, 200);
        const LogField fields[] = { { "SELVOL_TARGET", escaped } };

        if (!escaped)
                return -ENOMEM;
        log_fields(LOG_WARNING, fields, ELEMENTSOF(fields),
                   "Unmounted another mount at '%s', which was mounted over the volume's meanwhile.", escaped);
        return failure_set(
                f, FAILURE_BUSY,
                "Something else was mounted over the mount at '%s' meanwhile and was unmounted in its place: find out what mounts there, and try again.",
                escaped);
}

static int hidden_failure(Failure *f, const char *path, const MountFact *fact) {
        _cleanup_free_ char *escaped = string_escape(path, 200);

        if (!escaped)
                return -ENOMEM;
        if (isempty(fact->covered_by))
                return failure_set(f, FAILURE_BUSY, "The mounts at '%s' are changing: try again.", escaped);
        return failure_set(
                f, FAILURE_BUSY,
                "What selvol has mounted at '%s' is hidden beneath another mount (%s): unmount that first, with umount(8).",
                escaped, fact->covered_by);
}

static int unknown_failure(Failure *f, const char *path, const MountFact *fact) {
        _cleanup_free_ char *escaped = string_escape(path, 200), *other = mount_fact_describe(fact);

        if (!escaped || !other)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INVALID_TARGET,
                "There is a mount at '%s' (%s) that selvol has no record of: adopt it (selvolctl adopt VOLUME TARGET), or unmount it (umount TARGET).",
                escaped, other);
}

static int check_mounts_at(const char *path, uint64_t mount_id, const char *device,
                           int (*fail)(Failure *f, const char *path, const MountFact *fact), Failure *f) {
        MountFact *facts;
        size_t n;
        int r;

        r = find_at(path, &facts, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; r == 0 && i < n; i++)
                if (mount_id == 0 || is_meant(&facts[i], mount_id, device))
                        r = fail(f, path, &facts[i]);
        mount_facts_free(facts, n);
        return r;
}

int unmount_check_absent(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                         Failure *f) {
        _cleanup_close_ int parent = -EBADF;
        const char *name;
        int r;

        if (settings) {
                r = target_open_parent(path, settings, &parent, &name, f);
                if (r != 0)
                        return r == -ENOENT ? 0 : r;
        }
        return check_mounts_at(path, mount_id, device, unknown_failure, f);
}

int unmount_check_hidden(const char *path, uint64_t mount_id, const char *device, Failure *f) {
        return check_mounts_at(path, mount_id, device, hidden_failure, f);
}

/* Unmounts the mount if the path leads to it. */
static int try_unmount(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                       bool *ret_unmounted, Failure *f) {
        _cleanup_close_ int parent = -EBADF;
        const char *name;
        int r;

        *ret_unmounted = false;
        r = target_open_parent(path, settings, &parent, &name, f);
        if (r == -ENOENT)
                return 0;
        if (r != 0)
                return r;
        r = mount_is_there(path, parent, name, mount_id, device);
        if (r <= 0)
                return r;

        r = unmount_in(parent, name);
        if (r == -EBUSY)
                return failure_set_about(
                        f, FAILURE_BUSY, path,
                        "The mount at '%s' is in use: find its users with 'fuser -vm TARGET' or lsof, and check whether something is mounted beneath it.");
        /* Another program has unmounted the mount. */
        if (r == -EINVAL || r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        /* umount2(2) unmounts the topmost mount, which may be a new one. */
        r = mount_is_there(path, parent, name, mount_id, device);
        if (r < 0)
                return r;
        if (r > 0)
                return covered_failure(f, path);
        *ret_unmounted = true;
        return 0;
}

int unmount_target(const char *path, const Settings *settings, uint64_t mount_id, const char *device,
                   bool *ret_unmounted, Failure *f) {
        int r;

        assert(path);
        assert(ret_unmounted);

        r = try_unmount(path, settings, mount_id, device, ret_unmounted, f);
        if (r != 0 || *ret_unmounted)
                return r;
        /* The mount may be hidden beneath another one, where umount2(2) can't reach it. */
        return check_mounts_at(path, mount_id, device, hidden_failure, f);
}

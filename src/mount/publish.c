/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <sys/mount.h>

#include "mount/mountinfo.h"
#include "mount/publish.h"

static int changed_failure(Failure *f, const Target *target) {
        _cleanup_free_ char *path = string_escape(target->path, 200);

        if (!path)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INVALID_TARGET,
                "Target '%s' was replaced, removed or mounted on in the meantime: make sure that nothing else changes it and try again.",
                path);
}

/* By its descriptor, wherever it is, if it was not unmounted already. That keeps it busy, so it is detached, and goes with the
 * descriptor. Needs no memory: a mount that stayed visible would be nobody's once its note is removed. */
static int withdraw(int tree) {
        char path[sizeof("/proc/self/fd/-2147483648")];

        (void) snprintf(path, sizeof(path), "/proc/self/fd/%i", tree);
        return umount2(path, MNT_DETACH) < 0 && errno != EINVAL ? -errno : 0;
}

static bool is_at(int tree, uint64_t id, const char *path) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        const Mount *m;

        if (mount_table_read_own(tree, false, &table) < 0)
                return false;
        m = mountinfo_find(table, id);
        return m && streq(m->target, path);
}

/* The directory may have been moved before it was mounted on, which the kernel is not asked to notice; from then on it can't
 * be, but what is above it can. */
static int check_published(int tree, const Target *target, uint64_t id, Failure *f) {
        int r, k;

        r = target_leads_to(target, id);
        /* It may be there all the same, beneath another mount. */
        if (r > 0 || is_at(tree, id, target->path))
                return 0;
        k = withdraw(tree);
        if (r < 0 || k < 0)
                return r < 0 ? r : k;
        return changed_failure(f, target);
}

int publish_mount(int tree, const Target *target, bool (*is_canceled)(void *userdata), void *userdata,
                  MountOutcome *outcome, Failure *f) {
        uint64_t id;
        int r;

        assert(tree >= 0);
        assert(target);
        assert(is_canceled);
        assert(outcome);

        r = free_and_strdup(&outcome->fact.target, target->path);
        if (r < 0)
                return r;
        r = mount_identify(tree, &id, NULL);
        if (r < 0)
                return r;
        r = target_is_unchanged(target);
        if (r < 0)
                return r;
        if (r == 0)
                return changed_failure(f, target);
        if (is_canceled(userdata))
                return failure_set(f, FAILURE_CANCELED, "The caller disconnected.");

        if (move_mount(tree, "", target->fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0) {
                if (errno == ENOENT || errno == ENOTDIR)
                        return changed_failure(f, target);
                return -errno;
        }

        r = check_published(tree, target, id, f);
        if (r != 0)
                return r;
        outcome->fact.mount_id = id;
        return 0;
}

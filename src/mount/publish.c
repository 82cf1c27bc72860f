/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/mount.h>

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

        outcome->fact.mount_id = id;
        return 0;
}

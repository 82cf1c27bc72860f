/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include "basic/string-util.h"
#include "worker/foreign.h"
#include "worker/noted.h"

int noted_write(int fd, MountNote *note, Failure *f) {
        int r = mount_note_write(fd, note);

        if (r >= 0 || r == -ENOMEM)
                return r;
        if (r == -ENAMETOOLONG)
                return failure_set_about(f, FAILURE_INVALID_TARGET, note->target,
                                         "Target '%s' is too long to be noted: use one that is shorter.");
        return failure_set(
                f, FAILURE_WORKER_FAILED,
                "The mount can't be noted in " MOUNT_NOTES
                ": %s. Make room in /run, or restart selvol-worker, which makes the directory, and try again.",
                strerrordesc_np(-r));
}

static bool may_be_secret(const Child *c, const MountFact *fact) {
        const FileSystem *fs = settings_file_system(c->settings, fact->fs_type);

        return fs && fs->source == SOURCE_NONE;
}

int noted_check_shared(const Child *c, const Source *source, const MountFact *fact, Failure *f) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        int r;

        r = mount_note_find(fact->mount_id, fact->device, fact->target, &note);
        if (r < 0)
                return r;
        /* Of what the worker has mounted itself the source has been checked. */
        if (r > 0 && !note.adopted)
                return 0;
        if (source->fs->source == SOURCE_BLOCK)
                return foreign_check_unobserved(c, source, f);
        if (r > 0 && !may_be_secret(c, fact))
                return foreign_check(c, fact, f);
        return failure_set_about(
                f, FAILURE_PATH_NOT_ALLOWED, fact->target,
                "What is mounted at '%s' is somebody else's, and is not shared: let selvol mount it, or adopt it if it is on a server.");
}

int noted_check_change(const Child *c, const MountFact *fact, bool adopting, Failure *f) {
        _cleanup_(mount_note_done) MountNote note = { .adopted = true };
        int r;

        r = mount_note_find(fact->mount_id, fact->device, fact->target, &note);
        if (r < 0)
                return r;
        if (r == 0 && !adopting)
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, fact->target,
                        "What is mounted at '%s' is somebody else's, and its files are not changed: adopt it first.");
        if (note.adopted && may_be_secret(c, fact))
                return failure_set_about(
                        f, FAILURE_PATH_NOT_ALLOWED, fact->target,
                        "What is mounted at '%s' has no device and was mounted by somebody else: it may hold a secret, so its files are not changed. Let selvol mount it.");
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "mount/mount-table.h"
#include "mount/stage.h"
#include "worker/staged.h"
#include "worker/subject.h"

void subject_done(Subject *s) {
        s->root = fd_close(s->root);
        clone_done(&s->clone);
        target_done(&s->target);
        mount_outcome_done(&s->outcome);
        strv_free(s->mounts_inside);
        *s = SUBJECT_INIT;
}

int subject_clone(const Target *target, CloneMode mode, Clone *ret, Failure *f) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = clone_open(target->fd, mode, ret);
        if (r != -EINVAL)
                return r;
        path = string_escape(target->path, 200);
        if (!path)
                return -ENOMEM;
        return failure_set(f, FAILURE_NOT_SUPPORTED,
                           "What is mounted at '%s' is unbindable, so no private copy can be made to work on: see "
                           "mount(8), --make-unbindable.",
                           path);
}

static int open_staged(const Staged *staged, Subject *s) {
        const MountOutcome *o = &staged->mounted.outcome;
        int r;

        s->root = openat(staged->tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->root < 0)
                return -errno;
        s->part = staged->part;
        s->outcome.inodes_used = o->inodes_used;
        s->outcome.superblock_read_only = o->superblock_read_only;
        s->outcome.fact.seclabel = o->fact.seclabel;
        s->outcome.fact.read_only = o->fact.read_only;
        r = free_and_strdup(&s->outcome.fact.context, o->fact.context);
        return r < 0 ? r : free_and_strdup(&s->outcome.fact.source, o->fact.source);
}

static int open_live(const Child *child, const char *path, uint64_t mount_id, CloneMode mode, Subject *s,
                     Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = target_open_id(path, mount_id, child->settings, &s->target, f);
        if (r != 0)
                return r;
        if (!s->target.is_directory)
                return failure_set(f, FAILURE_NOT_SUPPORTED, "What is mounted there is a single file, no volume.");
        r = subject_clone(&s->target, mode, &s->clone, f);
        if (r != 0)
                return r;
        s->root = openat(s->clone.root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->root < 0)
                return -errno;

        r = stage_read_back(s->target.fd, path, &s->outcome);
        if (r >= 0)
                r = mount_table_read(NULL, &table);
        if (r >= 0)
                r = mount_table_find_inside(table, mount_id, &s->mounts_inside);
        if (r >= 0)
                r = clone_is_part(s->target.fd);
        if (r < 0)
                return r;
        s->part = r > 0;
        return 0;
}

int subject_open(const Child *child, const char *target, uint64_t mount_id, CloneMode mode, Subject *ret,
                 Failure *f) {
        _cleanup_(subject_done) Subject s = SUBJECT_INIT;
        int r;

        if (isempty(target)) {
                r = staged_check(child, true, f);
                if (r == 0)
                        r = open_staged(child->staged, &s);
        } else
                r = open_live(child, target, mount_id, mode, &s, f);
        if (r != 0)
                return r;

        *ret = s;
        s = SUBJECT_INIT;
        return 0;
}

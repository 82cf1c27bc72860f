/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "mount/host-device.h"
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
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "What is mounted at '%s' is unbindable, so no private copy can be made to work on: see mount(8), --make-unbindable.",
                path);
}

/* Where the file system is mounted for others, beneath none of the roots; NULL if nowhere. */
static int find_outside(const Subject *s, char *const *roots, char **ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        dev_t device;
        int r;

        r = device_parse(s->outcome.fact.device, &device);
        if (r >= 0)
                r = mount_table_read(NULL, &table);
        return r < 0 ? r : mount_table_find_outside(table, device, roots, ret);
}

static int open_staged(const Staged *staged, Subject *s) {
        const MountOutcome *o = &staged->mounted.outcome;
        _cleanup_free_ char *elsewhere = NULL;
        int r;

        s->root = openat(staged->tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s->root < 0)
                return -errno;
        s->part = staged->part;
        s->outcome.inodes_used = o->inodes_used;
        s->outcome.superblock_read_only = o->superblock_read_only;
        s->outcome.overrides_labels = o->overrides_labels;
        s->outcome.idmapped = o->idmapped;
        s->outcome.fact.seclabel = o->fact.seclabel;
        s->outcome.fact.read_only = o->fact.read_only;
        r = free_and_strdup(&s->outcome.fact.context, o->fact.context);
        if (r >= 0)
                r = free_and_strdup(&s->outcome.fact.device, o->fact.device);
        if (r >= 0)
                r = free_and_strdup(&s->outcome.fact.fs_type, o->fact.fs_type);
        if (r >= 0)
                r = free_and_strdup(&s->outcome.fact.source, o->fact.source);
        if (r >= 0)
                r = find_outside(s, NULL, &elsewhere);
        s->contended = elsewhere;
        return r;
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
        s->root = TAKE_FD(s->clone.root);

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
        s->contended = true;
        return 0;
}

int subject_check(const Child *child, const Subject *s, Failure *f) {
        const char *fs_type = s->outcome.fact.fs_type;
        _cleanup_free_ char *escaped = NULL;
        int r;

        if (!settings_file_system(child->settings, fs_type)) {
                escaped = string_escape(fs_type, 200);
                if (!escaped)
                        return -ENOMEM;
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "The files are on a file system of type '%s', which is not one that volumes may have; an administrator can add a section [FileSystem %s].",
                        escaped, escaped);
        }
        r = host_uses_file_system(child->settings, s->root);
        if (r <= 0)
                return r;
        return failure_set(f, FAILURE_PATH_NOT_ALLOWED,
                           "The files are on a file system of the host's own, which is never relabelled.");
}

int subject_check_overridden(bool overrides_labels, Failure *f) {
        if (!overrides_labels)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The volume is mounted with defcontext= or rootcontext=, so files show labels that are not on disk: mount it without.");
}

int subject_check_elsewhere(const Child *child, const Subject *s, Failure *f) {
        _cleanup_free_ char *target = NULL, *escaped = NULL;
        int r;

        r = find_outside(s, child->settings->target_roots, &target);
        if (r < 0 || !target)
                return r;
        escaped = string_escape(target, 200);
        if (!escaped)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "The file system is mounted at '%s' as well, outside of TargetRoots=, so it may be the host's: unmount it there, or let an administrator add a directory above to TargetRoots= of [Worker].",
                escaped);
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

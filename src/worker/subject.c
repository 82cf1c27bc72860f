/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "model/limits.h"
#include "model/walk.h"
#include "label/selinux.h"
#include "mount/host-device.h"
#include "mount/mount-table.h"
#include "worker/foreign.h"
#include "worker/subject.h"

void subject_done(Subject *s) {
        s->root = fd_close(s->root);
        s->tree = fd_close(s->tree);
        strv_free(s->submounts);
        *s = SUBJECT_INIT;
}

static int fail_unbindable(const Target *target, Failure *f) {
        _cleanup_free_ char *path = string_escape(target->path, 200);

        if (!path)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "What is mounted at '%s' is unbindable, so no private copy can be made to work on: see mount(8), --make-unbindable.",
                path);
}

static int fail_no_directory(const Target *target, Failure *f) {
        _cleanup_free_ char *path = string_escape(target->path, 200);

        if (!path)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "'%s' is a file that is mounted, not a directory: only a directory can be relabeled, given to a group or verified.",
                path);
}

int subject_copy(const Target *target, CloneMode mode, Subject *ret, Failure *f) {
        Clone clone = CLONE_INIT;
        int part, r;

        if (!target->is_directory)
                return fail_no_directory(target, f);
        part = clone_is_part(target->fd);
        if (part < 0)
                return part;
        r = clone_open(target->fd, mode, &clone);
        if (r == -EINVAL)
                return fail_unbindable(target, f);
        if (r < 0)
                return r;
        *ret = (Subject){ .tree = clone.tree, .root = clone.root, .live = true, .part = part };
        return 0;
}

int subject_check(const Child *c, const Subject *s, const MountOutcome *o, Failure *f) {
        _cleanup_free_ char *escaped = NULL;
        int r;

        if (!settings_file_system(c->settings, o->fact.fs_type)) {
                escaped = string_escape(o->fact.fs_type, 200);
                if (!escaped)
                        return -ENOMEM;
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "The files are on a file system of type '%s', which is not allowed. To allow it, add a section [FileSystem %s] " SETTINGS_REMEDY,
                        escaped, escaped);
        }
        r = host_uses_file_system(c->settings, s->root);
        if (r <= 0)
                return r;
        return failure_set(f, FAILURE_PATH_NOT_ALLOWED,
                           "The files are on a file system of the host's own, which is never changed.");
}

int subject_check_overridden(bool overrides_labels, Failure *f) {
        if (!overrides_labels)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The volume is mounted with defcontext= or rootcontext=, so files show labels that are not on disk: mount it without.");
}

/* As it is told: escaped, and no more of them than fit. */
static int find_submounts(const MountTable *table, uint64_t mount_id, char ***ret) {
        _cleanup_strv_ char **paths = NULL, **escaped = NULL;
        int r;

        r = mount_table_find_inside(table, mount_id, &paths);
        if (r < 0)
                return r;
        for (size_t i = 0; paths && paths[i] && i < WALK_SUBMOUNTS_MAX; i++) {
                r = strv_consume(&escaped, string_escape(paths[i], PATH_MAX));
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(escaped);
        return 0;
}

/* The same with one look at the mount table for all that is to be known of it. */
static int check_table(const Child *c, Subject *s, const MountOutcome *o, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        size_t n_mounts;
        int r;

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = foreign_check_table(c, table, &o->fact, &n_mounts, f);
        if (r != 0)
                return r;
        s->contended = s->contended || s->live || n_mounts > 0;
        return s->live ? find_submounts(table, o->fact.mount_id, &s->submounts) : 0;
}

static int fail_hidden(Failure *f, const MountFact *fact) {
        _cleanup_free_ char *context = string_escape(fact->context, CONTEXT_MAX);

        if (!context)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The volume is mounted with context %s, which hides the labels of its files: they can be changed only when it is mounted without.",
                context);
}

static int check_labels(const Subject *s, const MountOutcome *o, Failure *f) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        r = subject_check_overridden(o->overrides_labels, f);
        if (r != 0)
                return r;
        if (!isempty(o->fact.context))
                return fail_hidden(f, &o->fact);
        r = selinux_read_node(&node);
        if (r < 0)
                return r;
        if (node.selinux && !o->fact.seclabel)
                return selinux_fail_unlabeled(f);
        return selinux_require_labels(s->root, f);
}

/* What selvold supposes would go into the volume's mark. */
static int check_group(const MountOutcome *o, const FilesDecision *d, Failure *f) {
        if ((d->gid != d->disk_gid) == o->idmapped)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                o->idmapped
                        ? "The mount is idmapped, so it is not known which group files would have on disk: unmount it first."
                        : "The mount is not idmapped, so files have the group that they show.");
}

int subject_check_change(const Child *c, Subject *s, const MountOutcome *o, const FilesDecision *d, Failure *f) {
        int r;

        r = subject_check(c, s, o, f);
        if (r != 0)
                return r;
        r = check_table(c, s, o, f);
        if (r != 0)
                return r;
        if (d->relabel == RELABEL_WALK) {
                r = check_labels(s, o, f);
                if (r != 0)
                        return r;
        }
        if (d->ownership == OWNERSHIP_WALK) {
                r = check_group(o, d, f);
                if (r != 0)
                        return r;
        }
        if (o->fact.read_only)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "The volume is mounted read-only, so its files can't be changed. Mount it read-write.");
        return 0;
}

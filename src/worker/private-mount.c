/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <limits.h>

#include "basic/log.h"
#include "model/limits.h"
#include "label/selinux.h"
#include "mount/device.h"
#include "mount/mount-table.h"
#include "mount/stage.h"
#include "mount/superblock.h"
#include "worker/check.h"
#include "worker/private-mount.h"

void private_mount_done(PrivateMount *s) {
        s->root = fd_close(s->root);
        s->tree = fd_close(s->tree);
        strv_free(s->submounts);
        *s = PRIVATE_MOUNT_INIT;
}

int private_mount_copy(const Target *target, CloneMode mode, PrivateMount *ret, Failure *f) {
        Clone clone = CLONE_INIT;
        int part, r;

        if (!target->is_directory)
                return failure_set_about(
                        f, FAILURE_NOT_SUPPORTED, target->path,
                        "'%s' is a file that is mounted, not a directory: only a directory can be relabeled, given to a group or verified.");
        part = clone_is_part(target->fd);
        if (part < 0)
                return part;
        r = clone_open(target->fd, mode, &clone);
        if (r == -EINVAL)
                return failure_set_about(
                        f, FAILURE_NOT_SUPPORTED, target->path,
                        "The mount at '%s' is unbindable, so no private copy can be made to work on: see mount(8), --make-unbindable.");
        if (r < 0)
                return r;
        *ret = (PrivateMount){ .tree = clone.tree, .root = clone.root, .live = true, .part = part };
        return 0;
}

/* The source was at most checked for the magic number of the given type, so probes the source: another file
 * system, or none, explains the failure. */
static int explain_mount_failure(const Child *c, const Source *s, Failure *f) {
        _cleanup_(source_done) Source probed = SOURCE_INIT;
        _cleanup_failure_ Failure found = { 0 };
        int r;

        r = source_open(s->path, s->fs->name, true, c->settings, SOURCE_FOR_SELVOL, &probed, &found);
        if (r <= 0)
                return FAILURE_MOUNT_FAILED;
        failure_done(f);
        *f = TAKE_STRUCT(found);
        return r;
}

/* Whether the mount still exists, hidden by another mount, and shows the whole source. */
static int find_hidden(const Source *source, uint64_t id, MountFact *ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        _cleanup_free_ char *root = NULL;
        int r;

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, id, &fact);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = mount_table_find_root(table, id, &root);
        if (r < 0)
                return r;
        r = streq(root, "/") ? source_is_mounted_as(source, &fact) : 0;
        if (r <= 0)
                return r;
        *ret = TAKE_STRUCT(fact);
        return 1;
}

static int fail_gone(Failure *f) {
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "The mount that was to be shared is gone, or another one hides it: unmount that one, or try again.");
}

/* If the mount is hidden, a disk is mounted again, because its superblock still exists. */
static int share_hidden(const StageSpec *spec, uint64_t id, PrivateMount *s, MountOutcome *o, Failure *f) {
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        if (spec->source->fs->source != SOURCE_BLOCK)
                return fail_gone(f);
        r = find_hidden(spec->source, id, &fact);
        if (r <= 0)
                return r < 0 ? r : fail_gone(f);
        r = stage_mount(spec, &s->tree, o, f);
        if (r != 0)
                return r;
        return streq(o->fact.device, fact.device) ? 0 : fail_gone(f);
}

static int share_mount(const Child *c, const StageSpec *spec, const PlanAnswer *a, PrivateMount *s, MountOutcome *o,
                       Failure *f) {
        _cleanup_(target_done) Target share = TARGET_INIT;
        int r;

        r = target_open(a->share_target, c->settings, &share, f);
        if (r != 0)
                return r;
        if (!share.is_mount || share.mount_id != a->share_id)
                return share_hidden(spec, a->share_id, s, o, f);
        r = stage_share(spec, &share, &s->tree, o, f);
        if (r != 0)
                return r;
        r = clone_root_is_part(s->tree, o->fact.root);
        if (r < 0)
                return r;
        s->part = r > 0;
        return 0;
}

/* Another program may have written to the source since the child has looked, however long selvold has held
 * its answer back; or, before Linux 6.6, have mounted the source, so that a new mount shares the
 * superblock. */
static int check_alone(const Child *c, const Source *source, const MountOutcome *o, Failure *f) {
        dev_t device;
        size_t n;
        int r;

        r = device_parse(o->fact.device, &device);
        if (r == 0)
                r = source_check_mounted(source, device, c->settings, f);
        if (r != 0 || o->exclusive)
                return r;
        r = foreign_check_mounts(c, source, &n, f);
        if (r != 0 || n == 0)
                return r;
        return failure_set(f, FAILURE_BUSY, "%s was mounted by somebody else meanwhile: try again.", source->name);
}

static int check_others(const StageSpec *spec, Failure *f) {
        return foreign_check_unobserved(spec->userdata, spec->source, f);
}

int private_mount_stage(const Child *c, const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                        PrivateMount *ret, MountOutcome *ret_outcome, Failure *f) {
        const Observed *observed = &question->observed;
        const bool share = !isempty(answer->share_target);
        const StageSpec spec = {
                .source = source,
                .options = answer->mount_options,
                .context = answer->context,
                .superblock = observed->superblock,
                .read_only = answer->read_only,
                .selinux = question->node.selinux,
                .alone = observed->n_mounts == 0 && !observed->mounts_unknown && !observed->hidden,
                .swaps = answer->files.swapped_gid != GID_NONE,
                .staging = c->staging,
                .check_others = check_others,
                .userdata = c,
        };
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(private_mount_done) PrivateMount s = PRIVATE_MOUNT_INIT;
        int r;

        log_debug("Staging %s as %s%s%s.", source->name, source->fs->name, share ? " from " : "",
                  strempty(answer->share_target));
        if (share) {
                r = share_mount(c, &spec, answer, &s, &o, f);
                if (r != 0)
                        return r;
                r = noted_check_shared(c, source,
                                       &(MountFact){ .mount_id = answer->share_id,
                                                     .target = answer->share_target,
                                                     .device = o.fact.device,
                                                     .fs_type = o.fact.fs_type },
                                       f);
        } else {
                r = observed->mounts_unknown ? foreign_check_unobserved(c, source, f) : 0;
                if (r != 0)
                        return r;
                r = stage_mount(&spec, &s.tree, &o, f);
                if (r == FAILURE_MOUNT_FAILED)
                        r = explain_mount_failure(c, source, f);
                if (r == 0 && spec.alone && source->fs->source == SOURCE_BLOCK)
                        r = check_alone(c, source, &o, f);
        }
        if (r != 0)
                return r;
        s.contended = observed->hidden || observed->mounts_unknown;
        s.root = openat(s.tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s.root < 0)
                return -errno;
        log_debug("Staged: device %s, context '%s', seclabel %i, %s.", o.fact.device, o.fact.context, o.fact.seclabel,
                  o.fact.read_only ? "read-only" : "read-write");

        *ret = s;
        s = PRIVATE_MOUNT_INIT;
        *ret_outcome = TAKE_STRUCT(o);
        return 0;
}

int private_mount_check(const Child *c, const PrivateMount *s, const MountOutcome *o, Failure *f) {
        int r;

        if (!settings_file_system(c->settings, o->fact.fs_type))
                return fs_type_refuse(o->fact.fs_type, f);
        r = host_uses_file_system(c->settings, s->root);
        if (r <= 0)
                return r;
        return failure_set(f, FAILURE_PATH_NOT_ALLOWED,
                           "The files are on a file system of the host's own, which is never changed.");
}

int private_mount_check_overridden(bool overrides_labels, Failure *f) {
        if (!overrides_labels)
                return 0;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "The volume is mounted with defcontext= or rootcontext=, so files show labels that are not on disk: mount it without.");
}

/* Reads the mount table once and checks everything in it. */
static int check_mount_table(const Child *c, PrivateMount *s, const MountOutcome *o, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_strv_ char **paths = NULL;
        size_t n_mounts;
        int r;

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = foreign_check_table(c, table, &o->fact, &n_mounts, f);
        if (r != 0)
                return r;
        s->contended = s->contended || s->live || n_mounts > 0;
        if (!s->live)
                return 0;
        r = mount_table_find_inside(table, o->fact.mount_id, &paths);
        if (r < 0)
                return r;
        /* The paths are sent escaped, and at most WALK_SUBMOUNTS_MAX. */
        for (size_t i = 0; paths && paths[i] && i < WALK_SUBMOUNTS_MAX; i++) {
                r = strv_consume(&s->submounts, string_escape(paths[i], PATH_MAX));
                if (r < 0)
                        return r;
        }
        return 0;
}

static int check_labels(const PrivateMount *s, const MountOutcome *o, Failure *f) {
        _cleanup_free_ char *context = NULL;
        _cleanup_(node_done) Node node = { 0 };
        int r;

        r = private_mount_check_overridden(o->overrides_labels, f);
        if (r != 0)
                return r;
        if (!isempty(o->fact.context)) {
                context = string_escape(o->fact.context, CONTEXT_MAX);
                if (!context)
                        return -ENOMEM;
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "The volume is mounted with context %s, which hides the labels of its files: they can be changed only when it is mounted without.",
                        context);
        }
        r = selinux_read_node(&node);
        if (r < 0)
                return r;
        if (node.selinux && !o->fact.seclabel)
                return selinux_fail_unlabeled(f);
        return selinux_require_labels(s->root, f);
}

int private_mount_check_change(const Child *c, PrivateMount *s, const MountOutcome *o, const FilesDecision *d,
                               Failure *f) {
        int r;

        r = private_mount_check(c, s, o, f);
        if (r != 0)
                return r;
        r = check_mount_table(c, s, o, f);
        if (r != 0)
                return r;
        if (d->relabel == RELABEL_WALK) {
                r = check_labels(s, o, f);
                if (r != 0)
                        return r;
        }
        /* A wrong assumption of selvold would get into the volume's mark. */
        if (d->ownership == OWNERSHIP_WALK && (d->gid != d->disk_gid) != o->idmapped)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        o->idmapped
                                ? "The mount is idmapped, so it is not known which group files would have on disk: unmount it first."
                                : "The mount is not idmapped, so files have the group that they show.");
        if (o->fact.read_only)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "The volume is mounted read-only, so its files can't be changed. Mount it read-write.");
        return 0;
}

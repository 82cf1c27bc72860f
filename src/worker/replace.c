/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "mount/detached.h"
#include "mount/mount-note.h"
#include "mount/mount-removal.h"
#include "mount/mount-table.h"
#include "mount/superblock.h"
#include "worker/check.h"
#include "worker/observe.h"
#include "worker/replace.h"

static int fail_gone(const char *path, Failure *f) {
        return failure_set_about(f, FAILURE_BUSY, path,
                                 "The mount that another program made at '%s' was unmounted meanwhile: try again.");
}

/* Reads the mount of the target. *ret_table: a table with this mount. */
static int read_mount(const Target *target, MountTable **ret_table, MountFact *ret, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = mount_table_read_mount(NULL, target->mount_id, &table);
        if (r >= 0)
                r = mount_table_find_id(table, target->mount_id, ret);
        if (r < 0)
                return r == -ENOENT ? fail_gone(target->path, f) : r;
        *ret_table = TAKE_PTR(table);
        return 0;
}

int replace_check_target(const MountCall *call, const Target *target, MountIdentity *ret, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        *ret = (MountIdentity){ 0 };
        if (!call->origin.by_root || !target->is_mount || !target->is_directory)
                return target_check_free(target, f);
        r = read_mount(target, &table, &fact, f);
        if (r != 0)
                return r;
        /* A mount of selvol's own that is not the recorded one: its record was lost. */
        r = mount_note_find(fact.mount_id, fact.device, target->path, NULL);
        if (r != 0)
                return r < 0 ? r : target_check_free(target, f);
        *ret = (MountIdentity){ .id = fact.mount_id, .device = TAKE_PTR(fact.device) };
        return 0;
}

static int refuse_source(const Source *source, const MountFact *fact, Failure *f) {
        _cleanup_free_ char *mounted = mount_fact_describe(fact);

        return mounted ? failure_set(f, FAILURE_INVALID_TARGET,
                                     "The mount at the target is not of %s, so it is not replaced: %s.", source->name,
                                     mounted)
                       : -ENOMEM;
}

/* A part of a file system, or other owners than on disk, would have to be mounted otherwise. */
static int check_whole(const Target *target, const MountTable *table, const MountFact *fact, Failure *f) {
        int r;

        r = clone_root_is_part(target->fd, fact->root);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set_about(
                        f, FAILURE_NOT_SUPPORTED, target->path,
                        "The mount at '%s' shows one directory of its file system, so it is not replaced: only a mount of the whole is.");
        r = mount_table_is_idmapped(table, fact->mount_id);
        if (r <= 0)
                return r;
        return failure_set_about(f, FAILURE_NOT_SUPPORTED, target->path,
                                 "The mount at '%s' is idmapped, so it is not replaced: unmount it first.");
}

/* All mounts of the superblock but the one to be replaced, and those that the kernel unmounts with it. */
static int check_others(const Target *target, const MountIdentity *replaced, Observed *o, Failure *f) {
        bool there = false;
        int r;

        r = observe_drop_peers(replaced->id, o->mounts, &o->n_mounts);
        if (r < 0)
                return r;
        for (size_t i = 0; i < o->n_mounts; i++) {
                if (o->mounts[i].mount_id == replaced->id)
                        there = true;
                else
                        return failure_set_about(
                                f, FAILURE_BUSY, o->mounts[i].target,
                                "The file system is mounted at '%s' too, so its mount at the target is not replaced: stop what uses it there, then unmount it.");
        }
        return there ? 0 : fail_gone(target->path, f);
}

int replace_observe(const Child *c, const Source *source, const Target *target, const MountIdentity *replaced,
                    Observed *o, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        r = read_mount(target, &table, &fact, f);
        if (r != 0)
                return r;
        r = source->fs->source == SOURCE_BLOCK ? source_is_mounted_as(source, &fact) : 0;
        if (r <= 0)
                return r < 0 ? r : refuse_source(source, &fact, f);
        r = check_whole(target, table, &fact, f);
        if (r != 0)
                return r;
        r = foreign_check_source(c, source, o, f);
        if (r != 0)
                return r;
        r = check_others(target, replaced, o, f);
        if (r != 0)
                return r;
        o->mounts = mount_facts_free(o->mounts, o->n_mounts);
        o->n_mounts = 0;
        o->hidden = false;
        return mount_table_find_options(table, replaced->id, &o->replaced);
}

int replace_unmount(Child *c, const Source *source, const PlanAnswer *answer, const MountIdentity *replaced,
                    Target *target, Failure *f) {
        _cleanup_free_ char *path = strdup(target->path);
        bool unmounted;
        int r;

        if (!path)
                return -ENOMEM;
        if (!isempty(answer->share_target))
                return failure_set_about(
                        f, FAILURE_BUSY, answer->share_target,
                        "The volume is recorded as mounted at '%s', so its mount at the target is not replaced: unmount it there first.");
        target_done(target);
        r = tell_at(c, WORKER_AT_UNMOUNT);
        if (r >= 0)
                r = unmount_target(path, c->settings, replaced->id, replaced->device, &unmounted, f);
        if (r != 0)
                return r;
        if (!unmounted)
                return fail_gone(path, f);
        r = tell_at(c, WORKER_AT_REPLACED);
        if (r < 0)
                return r;
        log_debug("Unmounted the mount that another program made at the target.");
        r = source_is_claimed_for_long(source);
        if (r < 0)
                return r;
        if (r > 0)
                return failure_set(
                        f, FAILURE_BUSY,
                        "%s is still in use, most likely by a process with a copy of the mount in its own mount namespace, so it can't get another context.",
                        source->name);
        r = target_open(path, c->settings, target, f);
        if (r != 0)
                return r;
        r = target_check_free(target, f);
        return r != 0 ? r : target_check_policy(target, f);
}

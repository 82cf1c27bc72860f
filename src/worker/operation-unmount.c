/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/sysmacros.h>

#include "basic/log.h"
#include "mount/mount-note.h"
#include "mount/mount-removal.h"
#include "mount/mount-table.h"
#include "mount/superblock.h"
#include "worker/check.h"
#include "worker/operations.h"

/* Whether the mount is of the source. For an image or btrfs the mount table tells. */
static bool is_mounted_from(const Source *s, const MountIdentity *identity) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        dev_t device;

        if (!s->is_image && device_parse(strempty(identity->device), &device) >= 0 && major(device) != 0)
                return device == s->device;
        return mount_table_read_mount(NULL, identity->id, &table) >= 0 &&
               mount_table_find_id(table, identity->id, &fact) >= 0 && source_is_mounted_as(s, &fact) > 0;
}

/* Leaves *ret empty if the source can't be opened as a volume's, or leads to something else now. */
static void open_unmounted_source(const Child *c, const UnmountCall *call, Source *ret) {
        _cleanup_(source_done) Source s = SOURCE_INIT;
        _cleanup_failure_ Failure ignored = { 0 };

        if (isempty(call->source) ||
            source_open(call->source, call->fs_type, false, c->settings, SOURCE_FOR_SELVOL, &s, &ignored) != 0 ||
            !is_mounted_from(&s, &call->identity))
                return;
        *ret = s;
        s = SOURCE_INIT;
}

/* A mount without a note is gone, or the worker must not unmount it. */
static int check_absent(const Child *c, const UnmountCall *call, Failure *f) {
        _cleanup_failure_ Failure there = { 0 };
        int r = 1;

        if (roots_contain(c->settings->target_roots, call->target))
                return unmount_check_absent(call->target, c->settings, call->identity.id, call->identity.device, f);
        /* Outside of the roots the reply only tells whether the mount is absent. */
        if (call->identity.id != 0)
                r = unmount_check_absent(call->target, NULL, call->identity.id, call->identity.device, &there);
        return r > 0 ? target_validate(call->target, c->settings, f) : r;
}

static int unmount_noted(const Child *c, const UnmountCall *call, bool *ret_unmounted, Failure *f) {
        const MountIdentity *m = &call->identity;
        _cleanup_free_ char *directory = NULL;
        Settings settings = *c->settings;
        int r;

        if (roots_contain(c->settings->target_roots, call->target))
                return unmount_target(call->target, c->settings, m->id, m->device, ret_unmounted, f);
        /* If the target is no longer beneath a root, the target's directory serves as the root here. */
        directory = strndup(call->target, (size_t) (strrchr(call->target, '/') - call->target));
        if (!directory)
                return -ENOMEM;
        settings.target_roots = (char *[]){ directory, NULL };
        r = unmount_target(call->target, &settings, m->id, m->device, ret_unmounted, f);
        /* The message has to name the real roots. */
        return r == FAILURE_PATH_NOT_ALLOWED ? target_validate(call->target, c->settings, f) : r;
}

/* Whether the mount is still anywhere: another program may have moved the mount, and may move it back. */
static bool is_anywhere(uint64_t id) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;

        return mount_table_read_mount(NULL, id, &table) != -ENOENT;
}

/* Opened before the unmount: a loop device stays attached to its image while it is open. */
static int open_last_device(const UnmountCall *call) {
        return call->last ? superblock_open_device(call->identity.id, call->identity.device) : -ENODEV;
}

int operation_unmount(Child *c, const UnmountCall *call, UnmountResult *result, Failure *f) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        _cleanup_(source_done) Source source = SOURCE_INIT;
        _cleanup_close_ int device = -EBADF;
        _cleanup_free_ char *target = NULL;
        int r;

        r = child_enter(c, WORKER_UNMOUNT, &call->origin, call->target, f);
        if (r != 0)
                return r;
        r = mount_note_find(call->identity.id, call->identity.device, call->target, &note);
        if (r < 0)
                return r;
        if (r == 0)
                return check_absent(c, call, f);
        open_unmounted_source(c, call, &source);
        device = open_last_device(call);
        r = tell_at(c, WORKER_AT_UNMOUNT);
        if (r >= 0)
                r = unmount_noted(c, call, &result->unmounted, f);
        if (r != 0)
                return r;
        if (result->unmounted || !is_anywhere(note.id))
                mount_note_remove(note.id, note.unique_id);
        if (!result->unmounted)
                return 0;
        result->still_open = device >= 0 && device_is_claimed_for_long(device) > 0;
        device = fd_close(device);
        if (source.fs && !result->still_open)
                result->fingerprint = source_take_fingerprint(&source);
        target = string_escape(call->target, 200);
        log_fields(LOG_INFO, (LogField[]){ { "SELVOL_TARGET", target } }, 1, "Unmounted %s%s.", strempty(target),
                   result->still_open ? ", whose device is still in use" : "");
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "basic/log.h"
#include "mount/mount-table.h"
#include "mount/stage.h"
#include "mount/superblock.h"
#include "worker/foreign.h"
#include "worker/noted.h"
#include "worker/staged.h"

/* Of the type that was given at most the magic number was looked at. If the source holds something else, or nothing, that is
 * why. */
static int explain_failure(const Child *c, const Source *s, Failure *f) {
        _cleanup_(source_done) Source probed = SOURCE_INIT;
        _cleanup_failure_ Failure found = { 0 };
        int r;

        r = source_open(s->path, s->fs->name, true, c->settings, &probed, &found);
        if (r <= 0)
                return FAILURE_MOUNT_FAILED;
        failure_done(f);
        *f = TAKE_STRUCT(found);
        return r;
}

/* Whether the mount is there still, where another one hides it, and is all of the source. */
static int find_hidden(const Source *source, uint64_t id, MountFact *ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        _cleanup_free_ char *root = NULL;
        int r;

        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_id(table, id, &fact);
        if (r == -ENOENT)
                return 0;
        if (r < 0)
                return r;
        r = mount_table_find_root(table, id, &root);
        if (r < 0)
                return r;
        if (!streq(root, "/"))
                return 0;
        r = source_is_mounted_as(source, &fact);
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

/* A disk can be mounted once more where its mount can't be reached: the superblock is alive. */
static int share_hidden(const StageSpec *spec, uint64_t id, Subject *s, MountOutcome *o, Failure *f) {
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        int r;

        if (spec->source->fs->source != SOURCE_BLOCK)
                return fail_gone(f);
        r = find_hidden(spec->source, id, &fact);
        if (r < 0)
                return r;
        if (r == 0)
                return fail_gone(f);
        r = stage_mount(spec, &s->tree, o, f);
        if (r != 0)
                return r;
        return streq(o->fact.device, fact.device) ? 0 : fail_gone(f);
}

static int share_mount(const Child *c, const StageSpec *spec, const PlanAnswer *a, Subject *s, MountOutcome *o,
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

static int stage(const Child *c, const Source *source, const PlanQuestion *question, const PlanAnswer *a, Subject *s,
                 MountOutcome *o, Failure *f) {
        const StageSpec spec = {
                .source = source,
                .options = a->mount_options,
                .context = a->context,
                .superblock = question->observed.superblock,
                .read_only = a->read_only,
                .selinux = question->node.selinux,
                .alone = question->observed.n_mounts == 0 && !question->observed.mounts_unknown &&
                         !question->observed.hidden,
                .swaps = a->files.swapped_gid != GID_NONE,
                .staging = c->staging,
        };
        int r;

        if (!isempty(a->share_target))
                return share_mount(c, &spec, a, s, o, f);
        r = stage_mount(&spec, &s->tree, o, f);
        return r == FAILURE_MOUNT_FAILED ? explain_failure(c, source, f) : r;
}

static int check_shared(const Child *c, const Source *source, const PlanAnswer *a, const MountFact *staged,
                        Failure *f) {
        const MountFact shared = {
                .mount_id = a->share_id,
                .target = a->share_target,
                .device = staged->device,
                .fs_type = staged->fs_type,
        };

        return noted_check_shared(c, source, &shared, f);
}

int staged_make(const Child *c, const Source *source, const PlanQuestion *question, const PlanAnswer *answer,
                Subject *ret, MountOutcome *ret_outcome, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(subject_done) Subject s = SUBJECT_INIT;
        int r;

        log_debug("Staging %s as %s%s%s.", source->name, source->fs->name,
                  isempty(answer->share_target) ? "" : " from ", strempty(answer->share_target));
        if (isempty(answer->share_target) && question->observed.mounts_unknown) {
                r = foreign_check_unobserved(c, source, f);
                if (r != 0)
                        return r;
        }
        r = stage(c, source, question, answer, &s, &o, f);
        if (r != 0)
                return r;
        if (!isempty(answer->share_target)) {
                r = check_shared(c, source, answer, &o.fact, f);
                if (r != 0)
                        return r;
        }
        s.contended = question->observed.hidden || question->observed.mounts_unknown;
        s.root = openat(s.tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (s.root < 0)
                return -errno;
        log_debug("Staged: device %s, context '%s', seclabel %i, %s.", o.fact.device, o.fact.context, o.fact.seclabel,
                  o.fact.read_only ? "read-only" : "read-write");

        *ret = s;
        s = SUBJECT_INIT;
        *ret_outcome = TAKE_STRUCT(o);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <sys/stat.h>

#include "basic/log.h"
#include "label/entry.h"
#include "label/selinux.h"
#include "mount/mount-state.h"
#include "mount/mount-table.h"
#include "worker/files-change.h"
#include "worker/observe.h"
#include "worker/operations.h"

/* *ret is the context to compare, canonical; unchanged if labels don't matter. */
static int check_expected(const VerifyCall *call, char **ret, Failure *f) {
        const WalkOptions options = { .entries_per_sec = call->entries_per_sec };
        int r;

        r = walk_options_validate(&options, f);
        if (r != 0)
                return r;
        if (call->depth == VERIFY_ROOT && call->gid != GID_NONE)
                return failure_set(f, FAILURE_INVALID_OPTION, "Groups can't be compared with depth root.");
        if (isempty(call->expected) && call->gid == GID_NONE)
                return failure_set(f, FAILURE_INVALID_OPTION, "Neither a context nor a group is expected.");
        return isempty(call->expected) ? 0 : selinux_check_context(call->expected, ret, f);
}

static int name_issue(WalkResult *w, char *text) {
        w->issues = calloc(1, sizeof(WalkIssue));
        if (!w->issues) {
                free(text);
                return -ENOMEM;
        }
        w->n_issues = 1;
        w->issues[0] = (WalkIssue){ .path = strdup("."), .text = text };
        return w->issues[0].path && text ? 0 : -ENOMEM;
}

/* Compares only the path itself. */
static int verify_one(const VerifyCall *call, const Target *target, const char *context, VerifyResult *v) {
        const Ownership ownership = { .gid = call->gid };
        WalkCounts *counts = &v->walk.counts;
        struct stat st;

        if (fstat(target->fd, &st) < 0)
                return -errno;
        counts->done = 1;
        counts->mismatched = context && !streq(v->actual, context);
        counts->misowned = call->gid != GID_NONE && !ownership_holds(&ownership, st.st_gid, st.st_mode);
        if (counts->misowned > 0)
                return name_issue(&v->walk, strdup_printf("has group %" PRIu32 " and mode %04o", st.st_gid,
                                                          (unsigned) (st.st_mode & 07777)));
        if (counts->mismatched > 0)
                return name_issue(&v->walk, label_describe(v->actual));
        return 0;
}

/* Compares all files beneath the path, on a private copy of the mount, so no name leads out of the mount. */
static int verify_beneath(Child *c, const VerifyCall *call, const Target *target, const char *context,
                          WalkResult *ret, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(private_mount_done) PrivateMount s = PRIVATE_MOUNT_INIT;
        const Ownership ownership = { .gid = call->gid };
        FilesSpec spec = {
                .mode = FILES_VERIFY,
                .context = context,
                .ownership = call->gid != GID_NONE ? &ownership : NULL,
        };
        int r;

        if (context) {
                r = mount_table_read_own(target->fd, false, &table);
                if (r < 0)
                        return r;
                r = mount_table_overrides_labels(table, target->mount_id);
                if (r < 0)
                        return r;
                r = private_mount_check_overridden(r > 0, f);
                if (r != 0)
                        return r;
        }
        r = private_mount_copy(target, CLONE_READ_ONLY, &s, f);
        if (r != 0)
                return r;
        spec.tree = (TreeSpec){ .fd = s.root, .entries_per_sec = call->entries_per_sec };
        return files_verify(c, &spec, ret, f);
}

/* *ret_mount_id: the mount of the path and of all files compared. */
static int compare_path(Child *c, const VerifyCall *call, const char *context, VerifyResult *v,
                        uint64_t *ret_mount_id, Failure *f) {
        _cleanup_(target_done) Target target = TARGET_INIT;
        const WalkCounts *n = &v->walk.counts;
        int r;

        r = target_open(call->path, c->settings, &target, f);
        if (r != 0)
                return r;
        if (!isempty(call->mount_target)) {
                r = health_check(target.fd, target.path, f);
                if (r != 0)
                        return r;
        }
        r = selinux_read_label(target.fd, &v->actual);
        if (r < 0)
                return r;
        r = call->depth == VERIFY_ROOT || !target.is_directory
                    ? verify_one(call, &target, context, v)
                    : verify_beneath(c, call, &target, context, &v->walk, f);
        if (r != 0)
                return r;
        /* An entry that could not be read is no match either. */
        v->matches =
                (!context || streq(v->actual, context)) && n->mismatched == 0 && n->misowned == 0 && n->failed == 0;
        log_debug("Compared %" PRIu64 " entries: %" PRIu64 " labels and %" PRIu64 " groups differ, %" PRIu64
                  " failed.",
                  n->done, n->mismatched, n->misowned, n->failed);
        *ret_mount_id = target.mount_id;
        return 0;
}

/* The next mount finds a wrong root anyway. A context hides the labels on disk. */
static bool breaks_labels(const VerifyCall *call, const char *context, const WalkCounts *n, const MountOutcome *o,
                          const Mark *mark) {
        bool only_root = call->depth == VERIFY_ROOT && streq(call->path, call->mount_target);

        return n->mismatched > 0 && !only_root && isempty(o->fact.context) && mark->label_state == FILES_COMPLETE &&
               streq_ptr(mark->context, context);
}

/* An idmapped mount shows another group than the one on disk, also for the root. */
static bool breaks_ownership(const VerifyCall *call, const WalkCounts *n, const MountOutcome *o, const Mark *mark) {
        return n->misowned > 0 && mark->ownership_state == FILES_COMPLETE &&
               call->gid == (o->idmapped ? o->root_gid : mark->gid);
}

/* A walk may have ended meanwhile, so a claim counts as wrong only if the mark made it before and makes it
 * now. */
static MarkChange find_reset(const VerifyCall *call, const char *context, const WalkCounts *n, const MountOutcome *o,
                             const Mark *before, const Mark *now) {
        bool labels = breaks_labels(call, context, n, o, before) && breaks_labels(call, context, n, o, now);
        bool ownership =
                breaks_ownership(call, n, o, before) && breaks_ownership(call, n, o, now) && before->gid == now->gid;

        if (labels)
                return ownership ? MARK_RESET_ALL : MARK_RESET_LABELS;
        return ownership ? MARK_RESET_OWNERSHIP : MARK_KEEP;
}

static int open_mount(const Child *c, const VerifyCall *call, Target *ret, MountOutcome *ret_outcome, Mark *ret_mark,
                      Failure *f) {
        int r;

        r = target_open_id(call->mount_target, call->mount.id, c->settings, ret, f);
        if (r != 0 || !ret->is_directory)
                return r;
        r = observe_mount(ret, ret_outcome, ret_mark);
        if (r < 0)
                return r;
        /* Before Linux 6.8 a later mount can have the same id. */
        if (!streq(ret_outcome->fact.device, call->mount.device))
                return failure_set(f, FAILURE_BUSY, "Mount %" PRIu64 " at '%s' has another device now: try again.",
                                   call->mount.id, ret->path);
        return 0;
}

/* A mark that can't be read claims nothing and is left alone; reset_mark() finds the error. */
static int read_mount_mark(const Child *c, const VerifyCall *call, Mark *ret) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_failure_ Failure ignored = { 0 };
        int r;

        if (isempty(call->mount_target))
                return 0;
        r = open_mount(c, call, &target, &o, ret, &ignored);
        return r == -ENOMEM ? r : 0;
}

/* Resets the mark, which says that all files are right: a mount would skip the walk, on any node. */
static int reset_mark(Child *c, const VerifyCall *call, const char *context, uint64_t compared, const Mark *before,
                      VerifyResult *v, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(mark_done) Mark mark = { 0 };
        int r;

        r = open_mount(c, call, &target, &o, &mark, f);
        if (r != 0)
                return r;
        /* The mark does not cover mounts inside. */
        if (!target.is_directory || compared != call->mount.id)
                return 0;
        v->reset = find_reset(call, context, &v->walk.counts, &o, before, &mark);
        log_debug("What was found wrong, and the mark claims: %s.", mark_change_to_string(v->reset));
        r = files_mark_live(c, &target, &o, v->reset, &mark, f);
        if (r != 0 || find_reset(call, context, &v->walk.counts, &o, before, &mark) == MARK_KEEP)
                return r;
        return failure_set(f, FAILURE_NOT_SUPPORTED, "The file system is read-only, so its mark can't be changed.");
}

int operation_verify(Child *c, const VerifyCall *call, VerifyResult *result, Failure *f) {
        _cleanup_free_ char *context = NULL;
        _cleanup_failure_ Failure not_reset = { 0 };
        _cleanup_(mark_done) Mark before = { 0 };
        uint64_t compared;
        int r;

        r = child_enter(c, WORKER_VERIFY, &call->origin, call->path, f);
        if (r != 0)
                return r;
        r = check_expected(call, &context, f);
        if (r != 0)
                return r;
        r = read_mount_mark(c, call, &before);
        if (r < 0)
                return r;
        r = compare_path(c, call, context, result, &compared, f);
        if (r != 0)
                return r;
        if (isempty(call->mount_target) || (result->walk.counts.mismatched == 0 && result->walk.counts.misowned == 0))
                return 0;
        r = reset_mark(c, call, context, compared, &before, result, &not_reset);
        if (r == 0 || r == -ENOMEM || r == -ECANCELED)
                return r;
        /* The result of the comparison is still valid. */
        result->not_reset = r > 0 ? string_escape(strempty(not_reset.message), 1000) : strdup(strerror(-r));
        return result->not_reset ? 0 : -ENOMEM;
}

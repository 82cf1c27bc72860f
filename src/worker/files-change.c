/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <linux/ioprio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "basic/log.h"
#include "model/limits.h"
#include "label/mark-xattr.h"
#include "mount/detached.h"
#include "mount/idmap.h"
#include "plan/plan-files.h"
#include "wire/message-ids.h"
#include "worker/check.h"
#include "worker/files-change.h"
#include "worker/observe.h"

/* The number of entries that are compared before the mount is idmapped. */
enum { ENTRIES_COMPARED = 1024 };

bool files_may_change(const FilesWanted *w) {
        return !isempty(w->context) || w->ownership == OWNERSHIP_WALK || w->ownership == OWNERSHIP_MAP;
}

bool files_failed(const OperationResult *result) {
        return result->walked && result->walk.counts.failed > 0;
}

static int apply_mark_change(int root, MarkChange change, const MarkProof *proof, Mark *mark, Failure *f) {
        _cleanup_(mark_done) Mark now = { 0 };
        int r;

        r = mark_xattr_apply(root, change, proof, &now, f);
        if (r != 0)
                return r;
        mark_done(mark);
        *mark = TAKE_STRUCT(now);
        return 0;
}

int files_mark_staged(const PrivateMount *s, const MountOutcome *o, MarkChange change, Mark *mark, Failure *f) {
        const bool only_mount = o->fact.read_only && !o->superblock_read_only;
        int r;

        assert(!s->live);

        if (change == MARK_KEEP && !mark_is_outdated(mark, &o->proof))
                return 0;
        if (only_mount) {
                r = attributes_set_read_only(s->tree, false);
                if (r < 0)
                        return r;
        }
        r = apply_mark_change(s->root, change, &o->proof, mark, f);
        /* After an error the operation drops the mount, so the attribute does not matter. */
        if (r == 0 && only_mount)
                r = attributes_set_read_only(s->tree, true);
        if (r != 0)
                return r;
        /* On a read-only superblock the mark stays true. */
        if (o->superblock_read_only || !mark_exceeds(mark, change))
                return 0;
        return failure_set(
                f, FAILURE_MOUNT_FAILED,
                "The mark on the volume (xattr " MARK_XATTR
                " of its root directory) says that all files have the right label or group. That would no longer be true, and it could not be changed. journalctl -k may say why; a file system that is read-only because of an error has to be unmounted and checked (fsck).");
}

/* If the fingerprint can't be written, the next mount does not trust the mark. */
static int note_fingerprint_live(Child *c, const Target *target, const MountOutcome *o, Mark *mark) {
        _cleanup_(private_mount_done) PrivateMount s = PRIVATE_MOUNT_INIT;
        _cleanup_failure_ Failure ignored = { 0 };
        int r;

        r = private_mount_copy(target, CLONE_WRITABLE, &s, &ignored);
        if (r == 0)
                r = private_mount_check(c, &s, o, &ignored);
        if (r == 0)
                r = apply_mark_change(s.root, MARK_KEEP, &o->proof, mark, &ignored);
        return r < 0 ? r : 0;
}

/* Recording a mount of the host does no harm as long as nothing is written to it. So only a volume without a
 * mark is checked: a mark shows that the volume is selvol's, and must change even if an administrator has
 * also mounted the volume elsewhere, because otherwise the mark would claim too much. */
int files_mark_live(Child *c, const Target *target, const MountOutcome *o, MarkChange change, Mark *mark,
                    Failure *f) {
        _cleanup_(private_mount_done) PrivateMount s = PRIVATE_MOUNT_INIT;
        int r;

        if (!mark_change_is_written(mark->found, change))
                return mark_is_outdated(mark, &o->proof) ? note_fingerprint_live(c, target, o, mark) : 0;
        r = private_mount_copy(target, CLONE_WRITABLE, &s, f);
        if (r != 0)
                return r;
        r = private_mount_check(c, &s, o, f);
        if (r != 0)
                return r;
        if (mark->found == MARK_ABSENT) {
                r = foreign_check(c, &o->fact, f);
                if (r != 0)
                        return r;
        }
        return apply_mark_change(s.root, change, &o->proof, mark, f);
}

typedef struct Reporter {
        Child *child;
        uint64_t total;
        bool counting; /* the walk only counts entries, so none is done yet */
        bool quiet;    /* the walk sends no progress */
} Reporter;

static int report_walk(const WalkCounts *counts, void *userdata) {
        static const WalkCounts nothing = { 0 };
        const Reporter *reporter = userdata;

        if (child_peer_is_gone(reporter->child))
                return -ECANCELED;
        if (reporter->quiet)
                return 0;
        return tell_progress(reporter->child, reporter->counting ? &nothing : counts, reporter->total);
}

/* New threads inherit the I/O class. */
static void set_io_class(int io_class) {
        (void) syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(io_class, 0));
}

/* Runs the walk. Only the walk gets idle I/O, because callers wait for later steps such as publishing the
 * mount. */
static int run_walk(Reporter *reporter, FilesSpec *spec, WalkResult *ret, Failure *f) {
        const bool idle = reporter->child->settings->io_class == IO_CLASS_IDLE;
        TreeSpec *tree = &spec->tree;
        struct rlimit limit;
        int r;

        if (tree->entries_per_sec > WALK_ENTRIES_PER_SEC_MAX)
                tree->entries_per_sec = WALK_ENTRIES_PER_SEC_MAX;
        tree->progress = report_walk;
        tree->userdata = reporter;

        /* The walk keeps each directory on the way down open, and a tree may be deep. */
        if (getrlimit(RLIMIT_NOFILE, &limit) >= 0 && limit.rlim_cur < limit.rlim_max) {
                limit.rlim_cur = limit.rlim_max;
                (void) setrlimit(RLIMIT_NOFILE, &limit);
        }
        if (idle)
                set_io_class(IOPRIO_CLASS_IDLE);
        r = reporter->counting ? tree_walk(tree, ret) : files_walk(spec, ret, f);
        if (idle)
                set_io_class(IOPRIO_CLASS_NONE);
        return r;
}

int files_verify(Child *c, FilesSpec *spec, WalkResult *ret, Failure *f) {
        return run_walk(&(Reporter){ .child = c }, spec, ret, f);
}

/* Arguments of files_change(). */
typedef struct FilesChange {
        Child *child;
        const char *volume;
        const PlanAnswer *answer;
        PrivateMount *private_mount;
        OperationResult *result;
} FilesChange;

static int fall_back(const FilesChange *g, OwnershipReason why, char *detail) {
        if (!detail)
                return -ENOMEM;
        free(g->result->detail);
        g->result->detail = detail;
        files_fall_back(&g->answer->files, why, &g->result->files);
        log_debug("The mount is not idmapped: %s.", detail);
        return 0;
}

/* Resets the mark, which is wrong: nothing else may rely on it, here or elsewhere. */
static int fall_back_on_difference(const FilesChange *g, char *difference, Failure *f) {
        _cleanup_free_ char *detail = difference;
        const LogField fields[] = { { "MESSAGE_ID", MESSAGE_MARK_WRONG } };
        const MountOutcome *o = &g->result->outcome;
        int r;

        log_fields(LOG_WARNING, fields, ELEMENTSOF(fields),
                   "The mark on volume %s says that all files have group %u, but %s: %s.", g->volume,
                   g->result->files.disk_gid, difference,
                   o->superblock_read_only ? "the file system is read-only, so the mark can't be changed"
                                           : "resetting that");
        r = files_mark_staged(g->private_mount, o, MARK_RESET_OWNERSHIP, &g->result->mark, f);
        return r != 0 ? r : fall_back(g, OWNERSHIP_FILES_DIFFER, TAKE_PTR(detail));
}

/* Compares the first entries before a mount swaps their group: files that another program has given to other
 * groups would stay inaccessible. The time must not grow with the volume, and the walk shows no progress.
 * *ret describes the difference; NULL: none. */
static int find_difference(const FilesChange *g, const Ownership *on_disk, char **ret, Failure *f) {
        FilesSpec spec = {
                .tree = { .fd = g->private_mount->root,
                          .part = g->private_mount->part,
                          .max_entries = ENTRIES_COMPARED },
                .mode = FILES_VERIFY,
                .ownership = on_disk,
        };
        _cleanup_(walk_result_done) WalkResult result = { 0 };
        int r;

        r = run_walk(&(Reporter){ .child = g->child, .quiet = true }, &spec, &result, f);
        if (r != 0)
                return r;
        *ret = NULL;
        if (result.counts.mismatched == 0 && result.counts.misowned == 0 && result.counts.failed == 0)
                return 0;
        *ret = result.n_issues > 0 ? strdup_printf("%s %s", result.issues[0].path, result.issues[0].text)
                                   : strdup("some files differ, or could not be looked at");
        return *ret ? 0 : -ENOMEM;
}

/* An idmapped mount, unlike a walk, corrects no files, so the mark is not trusted alone. */
static int map_groups(const FilesChange *g, Failure *f) {
        const FilesDecision *d = &g->result->files;
        const Ownership on_disk = { .gid = d->disk_gid, .readers = g->answer->files.readers };
        MountOutcome *o = &g->result->outcome;
        char *difference = NULL;
        int r;

        if (g->private_mount->live)
                return fall_back(g, OWNERSHIP_MOUNTED, strdup(""));
        r = find_difference(g, &on_disk, &difference, f);
        if (r != 0)
                return r;
        if (difference)
                return fall_back_on_difference(g, difference, f);

        r = idmap_swap_groups(g->private_mount->tree, d->disk_gid, d->gid);
        if (r < 0 && idmap_is_unsupported(r))
                return fall_back(
                        g, OWNERSHIP_NO_IDMAP,
                        strdup_printf("the kernel says %s of a mount of %s", strerrorname_np(-r), o->fact.fs_type));
        if (r < 0)
                return r;
        o->idmapped = true;
        log_debug("Idmapped: group %u on disk is shown as %u.", d->disk_gid, d->gid);
        return observe_root(g->private_mount->root, o, &g->result->mark);
}

/* Writes "partial" into the mark, on disk, before files are changed. */
static int begin_mark(const FilesChange *g, const MarkWork *work, Mark *ret, Failure *f) {
        _cleanup_(mark_done) Mark begun = { 0 }, now = { .found = MARK_ABSENT };
        int r;

        r = mark_xattr_begin(g->private_mount->root, work, &g->result->outcome.proof, &begun, f);
        if (r != 0)
                return r;
        /* From here on the mark claims only facts that the worker has seen. */
        g->result->outcome.proof.trust = MARK_TRUSTED;
        if (begun.found == MARK_PRESENT) {
                r = mark_copy(&begun, &now);
                if (r < 0)
                        return r;
        }
        now.found = begun.found;
        mark_done(&g->result->mark);
        g->result->mark = TAKE_STRUCT(now);
        *ret = TAKE_STRUCT(begun);
        return 0;
}

/* Finds the number of entries. The file system's count of inodes is good enough for a volume that is a whole
 * file system. */
static int find_total(const FilesChange *g, FilesSpec *spec, uint64_t *ret, Failure *f) {
        _cleanup_(walk_result_done) WalkResult counted = { 0 };
        uint64_t used = g->result->outcome.inodes_used;
        int r;

        if (used == 0 || g->private_mount->part) {
                r = run_walk(&(Reporter){ .child = g->child, .counting = true }, spec, &counted, f);
                if (r != 0)
                        return r;
                used = counted.counts.done;
        }
        *ret = used;
        return 0;
}

static int walk_over_files(const FilesChange *g, Failure *f) {
        const FilesWanted *wanted = &g->answer->files;
        const FilesDecision *d = &g->result->files;
        const bool relabel = d->relabel == RELABEL_WALK, give = d->ownership == OWNERSHIP_WALK;
        const Ownership ownership = { .gid = d->gid, .readers = wanted->readers };
        const MarkWork work = {
                .context = relabel ? wanted->context : NULL,
                .gid = give ? d->disk_gid : GID_NONE,
                .readers = wanted->readers,
        };
        FilesSpec spec = {
                .tree = {
                        .fd = g->private_mount->root,
                        .part = g->private_mount->part,
                        .entries_per_sec = g->answer->entries_per_sec,
                },
                .mode = FILES_CHANGE,
                .context = work.context,
                .ownership = give ? &ownership : NULL,
                .blind = d->blind,
                .contended = g->private_mount->contended,
        };
        _cleanup_(mark_done) Mark begun = { 0 }, now = { 0 };
        Reporter reporter = { .child = g->child };
        int r;

        r = find_total(g, &spec, &reporter.total, f);
        if (r != 0)
                return r;
        r = begin_mark(g, &work, &begun, f);
        if (r != 0)
                return r;
        r = ask_walk(g->child, &(WalkQuestion){ .mark = g->result->mark, .files = *d }, f);
        if (r != 0)
                return r;
        /* A long step without progress follows. */
        log_debug("Walking over %llu entries.", (unsigned long long) reporter.total);
        r = tell_progress(g->child, &(WalkCounts){ 0 }, reporter.total);
        if (r < 0)
                return r;
        r = run_walk(&reporter, &spec, &g->result->walk, f);
        if (r != 0)
                return r;
        g->result->walked = true;
        g->result->walk.submounts = TAKE_PTR(g->private_mount->submounts);
        /* A skipped entry is unchanged and becomes the volume's alone when its other name is gone. An entry
         * that moved until the end may not have been visited. */
        if (!walk_is_complete(&g->result->walk.counts))
                return 0;
        r = mark_xattr_finish(g->private_mount->root, &begun, &work, g->answer->change, &now, f);
        if (r != 0)
                return r;
        mark_done(&g->result->mark);
        g->result->mark = TAKE_STRUCT(now);
        return 0;
}

static int check_reliances(const FilesChange *g, Failure *f) {
        return files_check_reliances(&g->result->files, g->volume, g->result->outcome.fact.root, g->answer->reliances,
                                     g->answer->n_reliances, f);
}

/* Asks selvold: the job may wait until nobody relies on the group, and by now nobody may. */
static int ask_about_group(const FilesChange *g, PlanQuestion *question, PlanAnswer *answer, Failure *f) {
        _cleanup_(plan_answer_done) PlanAnswer again = PLAN_ANSWER_INIT;
        int r;

        question->files = g->result->files;
        r = free_and_strdup(&question->root, g->result->outcome.fact.root);
        if (r < 0)
                return r;
        mark_done(&question->mark);
        r = mark_copy(&g->result->mark, &question->mark);
        if (r < 0)
                return r;
        r = ask_plan(g->child, question, &again, f);
        if (r != 0)
                return r;
        if (again.step != PLAN_GO)
                return failure_set(f, FAILURE_WORKER_FAILED, "selvold's answer to the question %s is malformed.",
                                   DECISION_PLAN);
        reliances_free(answer->reliances, answer->n_reliances);
        answer->reliances = TAKE_PTR(again.reliances);
        answer->n_reliances = again.n_reliances;
        again.n_reliances = 0;
        return check_reliances(g, f);
}

int files_change(Child *c, const char *volume, PlanQuestion *question, PlanAnswer *answer, PrivateMount *s,
                 OperationResult *result, Failure *f) {
        const FilesChange change = { c, volume, answer, s, result };
        const FilesDecision *d = &result->files;
        const FilesSeen seen = {
                .mark = &result->mark,
                .trust = result->outcome.proof.trust,
                .root_context = result->outcome.root_context,
                .root_gid = result->outcome.root_gid,
                .root_mode = result->outcome.root_mode,
        };
        int r;

        result->files = files_decide(&answer->files, &seen);
        log_debug("Files: relabel %s%s%s%s, ownership %s%s%s, group %u, on disk %u.",
                  relabel_action_to_string(d->relabel), d->relabel == RELABEL_NONE ? "" : " as ",
                  d->relabel == RELABEL_NONE ? "" : relabel_reason_to_string(d->relabel_reason),
                  d->blind ? ", blind" : "", ownership_action_to_string(d->ownership),
                  d->ownership_reason == OWNERSHIP_NOT_ASKED ? "" : " as ",
                  ownership_reason_to_string(d->ownership_reason), d->gid, d->disk_gid);
        if (files_need_map(&answer->files, d)) {
                r = map_groups(&change, f);
                if (r != 0)
                        return r;
        }
        r = check_reliances(&change, f);
        if (r == FAILURE_GROUP_CONFLICT) {
                failure_done(f);
                r = ask_about_group(&change, question, answer, f);
        }
        if (r != 0 || !files_need_walk(d))
                return r;
        r = private_mount_check_change(c, s, &result->outcome, d, f);
        if (r != 0)
                return r;
        r = walk_over_files(&change, f);
        if (r != 0)
                return r;
        return observe_root(s->root, &result->outcome, &result->mark);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "label/selinux.h"
#include "mount/denial.h"
#include "mount/detached.h"
#include "mount/mount-note.h"
#include "mount/mount-removal.h"
#include "mount/mount-state.h"
#include "mount/source-search.h"
#include "mount/superblock.h"
#include "plan/plan-files.h"
#include "worker/check.h"
#include "worker/files-change.h"
#include "worker/observe.h"
#include "worker/operations.h"
#include "worker/replace.h"

/* A repeated request may find its mount at the target. */
static int find_repeated(const MountCall *call, const Target *target, OperationResult *result, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(mark_done) Mark mark = { 0 };
        int r;

        if (call->expected.id == 0 || !target->is_mount || !target->is_directory ||
            target->mount_id != call->expected.id)
                return 0;
        r = mount_note_find(call->expected.id, call->expected.device, target->path, NULL);
        if (r <= 0)
                return r;
        r = health_check(target->fd, target->path, f);
        if (r != 0)
                return r;
        r = observe_mount(target, &o, &mark);
        if (r < 0)
                return r;
        if (!streq(o.fact.device, call->expected.device))
                return 0;
        log_debug("%s: the expected mount %" PRIu64 " is at the target.", call->origin.volume, call->expected.id);
        result->repeated = true;
        result->outcome = TAKE_STRUCT(o);
        result->mark = TAKE_STRUCT(mark);
        return 0;
}

/* Reads the whole mount table for the mounts of the file system only if the plan depends on them. */
static int ask_and_look(Child *c, PlanQuestion *question, const Source *source, PlanAnswer *ret, Failure *f) {
        int r;

        r = ask_checked(c, question, source->fs, ret, f);
        if (r != 0 || ret->step != PLAN_LOOK)
                return r;
        r = foreign_check_source(c, source, &question->observed, f);
        if (r != 0)
                return r;
        plan_answer_done(ret);
        return ask_checked(c, question, source->fs, ret, f);
}

/* replaced: id 0: none. */
static int observe_and_ask(Child *c, const MountCall *call, const Source *source, const Target *target,
                           const MountIdentity *replaced, PlanQuestion *question, PlanAnswer *ret, Failure *f) {
        Observed *o = &question->observed;
        int r;

        r = selinux_read_node(&question->node);
        if (r < 0)
                return r;
        r = observe_source(source, o);
        if (r < 0)
                return r;
        if (replaced->id != 0) {
                r = replace_observe(c, source, target, replaced, o, f);
                if (r != 0)
                        return r;
        }
        if (!isempty(call->link)) {
                const SourceSearch recorded = { .volume = call->origin.volume,
                                                .link = call->link,
                                                .identity = &call->file_system,
                                                .settings = c->settings,
                                                .user = SOURCE_FOR_SELVOL };

                r = source_find_elsewhere(&recorded, &o->identity, &o->elsewhere);
                if (r < 0)
                        return r;
        }
        return ask_and_look(c, question, source, ret, f);
}

/* Asks for a plan again if the first answer supposed labels that the mount does not show, or the other way
 * round. The staged mount stays. */
static int ask_again(Child *c, const Source *source, const MountOutcome *o, PlanQuestion *question,
                     PlanAnswer *answer, Failure *f) {
        _cleanup_(plan_answer_done) PlanAnswer again = PLAN_ANSWER_INIT;
        int r;

        if (answer->seclabel < 0 || answer->seclabel == o->fact.seclabel)
                return 0;
        question->seclabel = o->fact.seclabel;
        r = ask_and_look(c, question, source, &again, f);
        if (r != 0)
                return r;
        if (!streq(again.context, answer->context) || again.read_only != answer->read_only ||
            (again.seclabel >= 0 && again.seclabel != o->fact.seclabel))
                return failure_set(f, FAILURE_WORKER_FAILED,
                                   "selvold wants %s to be mounted otherwise after it was mounted: try again.",
                                   source->name);
        plan_answer_done(answer);
        *answer = again;
        again = PLAN_ANSWER_INIT;
        return 0;
}

/* Brings the files and mark of the staged mount to the wanted state, before anybody sees the mount. */
static int prepare_staged(Child *c, const MountCall *call, const Source *source, const Fingerprint *before,
                          PlanQuestion *question, PlanAnswer *answer, PrivateMount *staged, OperationResult *result,
                          Failure *f) {
        const FilesWanted *wanted;
        int r;

        r = health_check(staged->root, call->source, f);
        if (r != 0)
                return r;
        result->outcome.identity = source_identify(source, staged->root);
        r = observe_root(staged->root, &result->outcome, &result->mark);
        if (r < 0)
                return r;
        /* The fingerprint is written now: ext4 has counted the mount, and a later step may fail. */
        judge_staged(source, question, answer, before, result);
        r = files_mark_staged(staged, &result->outcome, MARK_KEEP, &result->mark, f);
        if (r != 0)
                return r;
        r = observe_check_label(&result->outcome, answer->context, f);
        if (r != 0)
                return r;
        r = ask_again(c, source, &result->outcome, question, answer, f);
        if (r != 0)
                return r;
        wanted = &answer->files;
        /* A superblock that is mounted already keeps its group, whatever the options say. */
        if (wanted->ownership == OWNERSHIP_OPTION && result->outcome.root_gid != wanted->gid)
                return failure_set(
                        f, FAILURE_GROUP_CONFLICT,
                        "%s: mounted for group %" PRIu32 ", its root has group %" PRIu32
                        ": somebody else may have the file system mounted. Stop what uses it there, then unmount it, or use \"FSGroupPolicy\"=File.",
                        call->origin.volume, wanted->gid, result->outcome.root_gid);
        return files_change(c, call->origin.volume, question, answer, staged, result, f);
}

/* Changes the mark first, so it claims no more than stays true once others can write. */
static int publish_staged(Child *c, const MountCall *call, const PlanAnswer *answer, const PrivateMount *staged,
                          const Target *target, OperationResult *result, Failure *f) {
        MountNote note = { .device = result->outcome.fact.device,
                           .volume = call->origin.volume,
                           .target = target->path };
        int r;

        r = files_mark_staged(staged, &result->outcome, answer->change, &result->mark, f);
        if (r != 0)
                return r;
        judge_keep(NULL, result);
        r = noted_write(staged->tree, &note, f);
        if (r != 0)
                return r;
        /* The mount's identity must be recorded before others can see the mount, even if selvold is lost
         * then. */
        r = ask_ready(c,
                      &(ReadyQuestion){ .identity = { .id = note.id, .device = note.device },
                                        .file_system = result->outcome.identity,
                                        .gid = result->files.gid,
                                        .disk_gid = result->files.disk_gid,
                                        .fingerprint = result->fingerprint,
                                        .mark = result->mark },
                      f);
        if (r == 0)
                r = publish_mount(staged->tree, target, child_peer_is_gone, c, &result->outcome, f);
        if (r != 0)
                mount_note_remove(note.id, note.unique_id);
        return r;
}

static void log_mounted(const MountOutcome *o, bool replaced, uint64_t usec) {
        _cleanup_free_ char *target = string_escape(o->fact.target, 200),
                            *source = string_escape(o->fact.source, 200), *duration = strdup_printf("%" PRIu64, usec);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_CONTEXT", o->fact.context },
                { "SELVOL_DURATION_USEC", duration },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Mounted %s on %s%s%s%s%s.", strempty(source),
                   strempty(target), isempty(o->fact.context) ? "" : " with context ", o->fact.context,
                   o->fact.read_only ? ", read-only" : "", replaced ? ", in place of another program's mount" : "");
}

/* Stages, prepares and publishes. Publishes nothing if entries failed. */
static int mount_source(Child *c, const MountCall *call, const Source *source, PlanQuestion *question,
                        PlanAnswer *answer, const Target *target, OperationResult *result, Failure *f) {
        _cleanup_(private_mount_done) PrivateMount staged = PRIVATE_MOUNT_INIT;
        const Fingerprint before = source_read_fingerprint(source);
        int r;

        r = private_mount_stage(c, source, question, answer, &staged, &result->outcome, f);
        if (r != 0)
                return r;
        r = prepare_staged(c, call, source, &before, question, answer, &staged, result, f);
        if (r != 0 || files_failed(result))
                return r;
        return publish_staged(c, call, answer, &staged, target, result, f);
}

int operation_mount(Child *c, const MountCall *call, OperationResult *result, Failure *f) {
        _cleanup_(plan_question_done) PlanQuestion question = { .seclabel = -1 };
        _cleanup_(plan_answer_done) PlanAnswer answer = PLAN_ANSWER_INIT;
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(source_done) Source source = SOURCE_INIT;
        _cleanup_(mount_identity_done) MountIdentity replaced = { 0 };
        uint64_t start = now_monotonic_usec();
        int r;

        r = child_enter(c, call->only_plan ? WORKER_MOUNT_PLAN : WORKER_MOUNT, &call->origin, call->target, f);
        if (r != 0)
                return r;
        r = check_call(c, call->origin.volume, call->source, call->fs_type, call->target, f);
        if (r != 0)
                return r;
        r = target_open(call->target, c->settings, &target, f);
        if (r != 0)
                return r;
        r = find_repeated(call, &target, result, f);
        if (r != 0 || result->repeated)
                return r;
        r = call->replace ? replace_check_target(call, &target, &replaced, f) : target_check_free(&target, f);
        if (r != 0)
                return r;
        /* A mount of a directory above may hide the expected mount, which then is not gone. */
        if (call->expected.id != 0) {
                r = unmount_check_hidden(target.path, call->expected.id, call->expected.device, f);
                if (r != 0)
                        return r;
        }
        r = source_open(call->source, call->fs_type, isempty(call->fs_type), c->settings, child_user(&call->origin),
                        &source, f);
        if (r != 0)
                return r;
        r = replaced.id == 0 ? target_check_policy(&target, f) : 0;
        if (r != 0)
                return r;
        r = observe_and_ask(c, call, &source, &target, &replaced, &question, &answer, f);
        if (r == 0 && source.write_denied && !answer.read_only)
                r = denial_source_failure(source.fd, source.path, f);
        if (r != 0 || call->only_plan)
                return r;
        if (replaced.id != 0) {
                r = replace_unmount(c, &source, &answer, &replaced, &target, f);
                if (r != 0)
                        return r;
        }
        r = mount_source(c, call, &source, &question, &answer, &target, result, f);
        if (r == 0 && !files_failed(result))
                log_mounted(&result->outcome, replaced.id != 0, now_monotonic_usec() - start);
        return r;
}

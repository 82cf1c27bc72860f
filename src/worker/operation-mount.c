/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/sysmacros.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "label/selinux.h"
#include "mount/detached.h"
#include "mount/mount-note.h"
#include "mount/mount-removal.h"
#include "mount/mount-state.h"
#include "mount/mount-table.h"
#include "mount/superblock.h"
#include "plan/plan-files.h"
#include "worker/check.h"
#include "worker/files-change.h"
#include "worker/observe.h"
#include "worker/operations.h"

/* --- mount --- */

/* The mount that a repeated request wants may be there already. */
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

/* Where else the file system is mounted is only looked up for a plan that depends on it: that reads the
 * whole mount table. */
static int ask_and_look(Child *c, PlanQuestion *question, const Source *source, PlanAnswer *ret, Failure *f) {
        int r;

        r = ask_checked(c, question, source->fs, ret, f);
        if (r != 0 || ret->verdict != PLAN_LOOK)
                return r;
        r = foreign_check_source(c, source, &question->observed, f);
        if (r != 0)
                return r;
        plan_answer_done(ret);
        return ask_checked(c, question, source->fs, ret, f);
}

static int observe_and_ask(Child *c, const Source *source, PlanQuestion *question, PlanAnswer *ret, Failure *f) {
        int r;

        r = selinux_read_node(&question->node);
        if (r < 0)
                return r;
        r = observe_source(source, &question->observed);
        return r < 0 ? r : ask_and_look(c, question, source, ret, f);
}

/* An answer may suppose labels that the mount turns out not to show, or the other way round. What was
 * staged stays. */
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

/* The staged mount becomes what was asked for, before anybody sees it. */
static int prepare_staged(Child *c, const MountCall *call, const Source *source, const Fingerprint *before,
                          PlanQuestion *question, PlanAnswer *answer, Subject *staged, OperationResult *result,
                          Failure *f) {
        const FilesWanted *wanted;
        int r;

        r = health_check(staged->root, call->source, f);
        if (r != 0)
                return r;
        r = observe_root(staged->root, &result->outcome, &result->mark);
        if (r < 0)
                return r;
        /* Noted at once, as what follows may fail, and the mount has been counted. */
        judge_staged(source, question, answer, before, result);
        r = files_mark_staged(c, staged, &result->outcome, MARK_KEEP, &result->mark, f);
        if (r != 0)
                return r;
        r = observe_check_label(&result->outcome, answer->context, f);
        if (r != 0)
                return r;
        r = ask_again(c, source, &result->outcome, question, answer, f);
        if (r != 0)
                return r;
        wanted = &answer->files;
        /* A superblock that was mounted before keeps its group, whatever the options say. */
        if (wanted->ownership == OWNERSHIP_OPTION && result->outcome.root_gid != wanted->gid)
                return failure_set(
                        f, FAILURE_GROUP_CONFLICT,
                        "%s: mounted for group %" PRIu32 ", its root has group %" PRIu32
                        ": somebody else may have the file system mounted. Unmount it there first, or use \"FSGroupPolicy\"=File.",
                        call->origin.volume, wanted->gid, result->outcome.root_gid);
        return files_change(c, call->origin.volume, question, answer, staged, result, f);
}

/* The mark says no more than will be true once somebody can write. */
static int publish_staged(Child *c, const MountCall *call, const PlanAnswer *answer, const Subject *staged,
                          const Target *target, OperationResult *result, Failure *f) {
        MountNote note = { .device = result->outcome.fact.device,
                           .volume = call->origin.volume,
                           .target = target->path };
        int r;

        r = files_mark_staged(c, staged, &result->outcome, answer->change, &result->mark, f);
        if (r != 0)
                return r;
        judge_keep(NULL, result);
        r = noted_write(staged->tree, &note, f);
        if (r != 0)
                return r;
        /* Which mount it is has to be on record before others can see it, whatever becomes of selvold. */
        r = ask_ready(c,
                      &(ReadyNote){ .identity = { .id = note.id, .device = note.device },
                                    .gid = result->files.gid,
                                    .disk_gid = result->files.disk_gid,
                                    .fingerprint = result->fingerprint },
                      f);
        if (r == 0)
                r = publish_mount(staged->tree, target, child_peer_is_gone, c, &result->outcome, f);
        if (r != 0)
                mount_note_remove(note.id, note.unique_id);
        return r;
}

static void log_mounted(const MountOutcome *o, uint64_t usec) {
        _cleanup_free_ char *target = string_escape(o->fact.target, 200),
                            *source = string_escape(o->fact.source, 200), *duration = strdup_printf("%" PRIu64, usec);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_CONTEXT", o->fact.context },
                { "SELVOL_DURATION_USEC", duration },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Mounted %s on %s%s%s%s.", strempty(source),
                   strempty(target), isempty(o->fact.context) ? "" : " with context ", o->fact.context,
                   o->fact.read_only ? ", read-only" : "");
}

int operation_mount(Child *c, const MountCall *call, OperationResult *result, Failure *f) {
        _cleanup_(plan_question_done) PlanQuestion question = { .seclabel = -1 };
        _cleanup_(plan_answer_done) PlanAnswer answer = PLAN_ANSWER_INIT;
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(source_done) Source source = SOURCE_INIT;
        _cleanup_(subject_done) Subject staged = SUBJECT_INIT;
        uint64_t start = now_monotonic_usec();
        Fingerprint before;
        int r;

        child_enter(c, WORKER_MOUNT, call->origin.volume, call->target);
        r = check_call(c, call->origin.volume, call->source, call->fs_type, call->target, f);
        if (r != 0)
                return r;
        r = target_open(call->target, c->settings, &target, f);
        if (r != 0)
                return r;
        r = find_repeated(call, &target, result, f);
        if (r != 0 || result->repeated)
                return r;
        r = target_check_free(&target, f);
        if (r != 0)
                return r;
        /* The mount that selvold expects there may be hidden beneath a mount of a directory above: it has
         * not gone. */
        if (call->expected.id != 0) {
                r = unmount_check_hidden(target.path, call->expected.id, call->expected.device, f);
                if (r != 0)
                        return r;
        }
        r = source_open(call->source, call->fs_type, isempty(call->fs_type), c->settings, &source, f);
        if (r != 0)
                return r;
        r = observe_and_ask(c, &source, &question, &answer, f);
        if (r != 0)
                return r;
        before = source_read_fingerprint(&source);
        r = subject_stage(c, &source, &question, &answer, &staged, &result->outcome, f);
        if (r != 0)
                return r;
        r = prepare_staged(c, call, &source, &before, &question, &answer, &staged, result, f);
        if (r != 0 || files_failed(result))
                return r;
        r = publish_staged(c, call, &answer, &staged, &target, result, f);
        if (r != 0)
                return r;
        log_mounted(&result->outcome, now_monotonic_usec() - start);
        return 0;
}

/* --- adopt --- */

/* A mount that may hold a secret of others is only recorded: it gets no mark either. */
static int check_adopted_files(const Child *c, const PlanAnswer *answer, OperationResult *result, Failure *f) {
        int r;

        r = noted_check_change(c, &result->outcome.fact, true, f);
        if (r <= 0 || files_may_change(&answer->files))
                return r;
        failure_done(f);
        mark_done(&result->mark);
        result->mark = (Mark){ .found = MARK_UNSUPPORTED };
        return 0;
}

/* The mount is there, and may do to labels what the mark has to say from now on, whatever becomes of
 * groups. Labels that are to be right first are right until then. */
static int mark_and_change(Child *c, const AdoptCall *call, const Target *target, PlanQuestion *question,
                           PlanAnswer *answer, OperationResult *result, Failure *f) {
        _cleanup_(subject_done) Subject s = SUBJECT_INIT;
        const bool relabel = !isempty(answer->files.context);
        int r;

        if (!relabel) {
                r = files_mark_live(c, target, &result->outcome, answer->change, &result->mark, f);
                if (r != 0)
                        return r;
        }
        if (files_may_change(&answer->files)) {
                r = subject_copy(target, CLONE_AS_IT_IS, &s, f);
                if (r != 0)
                        return r;
        }
        r = files_change(c, call->origin.volume, question, answer, &s, result, f);
        subject_done(&s);
        if (r != 0 || !relabel || files_failed(result))
                return r;
        return files_mark_live(c, target, &result->outcome, answer->change, &result->mark, f);
}

/* A mount that the worker has made itself is adopted when its record was lost. */
static int note_adopted(const AdoptCall *call, const Target *target, const MountFact *fact, Failure *f) {
        _cleanup_(mount_note_done) MountNote before = { .adopted = true };
        MountNote note = { .device = fact->device, .volume = call->origin.volume, .target = fact->target };
        int r;

        r = mount_note_find(fact->mount_id, fact->device, fact->target, &before);
        if (r < 0)
                return r;
        note.adopted = before.adopted;
        return noted_write(target->fd, &note, f);
}

int operation_adopt(Child *c, const AdoptCall *call, OperationResult *result, Failure *f) {
        _cleanup_(plan_question_done) PlanQuestion question = { .mounted = true };
        _cleanup_(plan_answer_done) PlanAnswer answer = PLAN_ANSWER_INIT;
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_close_ int root = -EBADF;
        FilesDecision *d = &result->files;
        int r;

        child_enter(c, WORKER_ADOPT, call->origin.volume, call->target);
        r = check_call(c, call->origin.volume, NULL, NULL, call->target, f);
        if (r != 0)
                return r;
        r = target_open_mount(call->target, c->settings, &target, f);
        if (r != 0)
                return r;
        r = health_check(target.fd, target.path, f);
        if (r != 0)
                return r;
        r = selinux_read_node(&question.node);
        if (r < 0)
                return r;
        r = observe_mounted(&target, &question.observed, &question.outcome);
        if (r < 0)
                return r;
        question.seclabel = question.outcome.fact.seclabel;
        r = ask_checked(c, &question, NULL, &answer, f);
        if (r != 0)
                return r;
        /* Anew: what was seen before the answer may have been in the hands of another operation. */
        r = observe_mount(&target, &result->outcome, &result->mark);
        if (r < 0)
                return r;
        r = observe_check_label(&result->outcome, result->outcome.fact.context, f);
        if (r != 0)
                return r;
        root = openat(target.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
                return -errno;
        judge_mounted(root, &answer, true, result);
        root = fd_close(root);
        r = check_adopted_files(c, &answer, result, f);
        if (r != 0)
                return r;
        r = mark_and_change(c, call, &target, &question, &answer, result, f);
        if (r != 0)
                return r;
        judge_keep(NULL, result);
        /* The one who mounted it was to give it to the group. If that can't be seen, nobody relies on it. */
        if (d->ownership == OWNERSHIP_OPTION && result->outcome.root_gid != d->gid)
                d->gid = d->disk_gid = GID_NONE;
        log_debug("%s: adopted mount %llu.", call->origin.volume, (unsigned long long) result->outcome.fact.mount_id);
        return files_failed(result) ? 0 : note_adopted(call, &target, &result->outcome.fact, f);
}

/* --- unmount --- */

/* Whether the mount is of the source. Which one that of an image or a btrfs is of, the mount table tells. */
static bool is_mounted_from(const Source *s, const MountIdentity *identity) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_(mount_fact_done) MountFact fact = { 0 };
        dev_t device;

        if (!s->is_image && device_parse(strempty(identity->device), &device) >= 0 && major(device) != 0)
                return device == s->device;
        return mount_table_read_mount(NULL, identity->id, &table) >= 0 &&
               mount_table_find_id(table, identity->id, &fact) >= 0 && source_is_mounted_as(s, &fact) > 0;
}

/* Nothing is known of a source that can't be opened as a volume's, or leads to something else by now. */
static void open_unmounted_source(const Child *c, const UnmountCall *call, Source *ret) {
        _cleanup_(source_done) Source s = SOURCE_INIT;
        _cleanup_failure_ Failure ignored = { 0 };

        if (isempty(call->source) ||
            source_open(call->source, call->fs_type, false, c->settings, &s, &ignored) != 0 ||
            !is_mounted_from(&s, &call->identity))
                return;
        *ret = s;
        s = SOURCE_INIT;
}

/* A mount that is not noted has gone, or is not the worker's to unmount. */
static int check_absent(const Child *c, const UnmountCall *call, Failure *f) {
        _cleanup_failure_ Failure there = { 0 };
        int r = 1;

        if (roots_contain(c->settings->target_roots, call->target))
                return unmount_check_absent(call->target, c->settings, call->identity.id, call->identity.device, f);
        /* Outside of the roots no more is said than that it is not there. */
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
        /* If the target is beneath none of the roots any more, its directory is the root for this. */
        directory = strndup(call->target, (size_t) (strrchr(call->target, '/') - call->target));
        if (!directory)
                return -ENOMEM;
        settings.target_roots = (char *[]){ directory, NULL };
        r = unmount_target(call->target, &settings, m->id, m->device, ret_unmounted, f);
        /* In words of the roots that there are */
        return r == FAILURE_PATH_NOT_ALLOWED ? target_validate(call->target, c->settings, f) : r;
}

/* It may have been moved, and come back. */
static bool is_anywhere(uint64_t id) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;

        return mount_table_read_mount(NULL, id, &table) != -ENOENT;
}

int operation_unmount(Child *c, const UnmountCall *call, UnmountResult *result, Failure *f) {
        _cleanup_(mount_note_done) MountNote note = { 0 };
        _cleanup_(source_done) Source source = SOURCE_INIT;
        _cleanup_free_ char *target = NULL;
        int r;

        child_enter(c, WORKER_UNMOUNT, NULL, call->target);
        r = mount_note_find(call->identity.id, call->identity.device, call->target, &note);
        if (r < 0)
                return r;
        if (r == 0)
                return check_absent(c, call, f);
        open_unmounted_source(c, call, &source);
        r = unmount_noted(c, call, &result->unmounted, f);
        if (r != 0)
                return r;
        if (result->unmounted || !is_anywhere(note.id))
                mount_note_remove(note.id, note.unique_id);
        if (!result->unmounted)
                return 0;
        if (source.fs)
                result->fingerprint = source_take_fingerprint(&source);
        target = string_escape(call->target, 200);
        log_fields(LOG_INFO, (LogField[]){ { "SELVOL_TARGET", target } }, 1, "Unmounted %s.", strempty(target));
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>

#include "basic/log.h"
#include "label/selinux.h"
#include "mount/mount-note.h"
#include "mount/mount-state.h"
#include "mount/source-search.h"
#include "worker/check.h"
#include "worker/files-change.h"
#include "worker/observe.h"
#include "worker/operations.h"

/* A mount that may hold a secret, or has a file system that is not configured, such as FUSE, is only
 * recorded, and gets no mark. */
static int check_adopted_files(const Child *c, const PlanAnswer *answer, OperationResult *result, Failure *f) {
        const MountFact *fact = &result->outcome.fact;
        int r;

        r = settings_file_system(c->settings, fact->fs_type) ? noted_check_change(c, fact, true, f)
                                                             : fs_type_refuse(fact->fs_type, f);
        if (r <= 0 || files_may_change(&answer->files))
                return r;
        failure_done(f);
        mark_done(&result->mark);
        result->mark = (Mark){ .found = MARK_UNSUPPORTED };
        return 0;
}

/* The mount is visible, and files may get other labels through it; the mark has to say so first, even if the
 * groups can't be changed. If the files are to be relabeled, the mark changes after the relabeling. */
static int mark_and_change(Child *c, const AdoptCall *call, const Target *target, PlanQuestion *question,
                           PlanAnswer *answer, OperationResult *result, Failure *f) {
        _cleanup_(private_mount_done) PrivateMount s = PRIVATE_MOUNT_INIT;
        const bool relabel = !isempty(answer->files.context);
        int r;

        if (!relabel) {
                r = files_mark_live(c, target, &result->outcome, answer->change, &result->mark, f);
                if (r != 0)
                        return r;
        }
        if (files_may_change(&answer->files)) {
                r = private_mount_copy(target, CLONE_AS_IT_IS, &s, f);
                if (r != 0)
                        return r;
        }
        r = files_change(c, call->origin.volume, question, answer, &s, result, f);
        private_mount_done(&s);
        if (r != 0 || !relabel || files_failed(result))
                return r;
        return files_mark_live(c, target, &result->outcome, answer->change, &result->mark, f);
}

/* Notes the mount. The mount may be one of the worker whose record was lost. */
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

static int observe_adopted(const Child *c, const AdoptCall *call, const Target *target, PlanQuestion *q) {
        const SourceSearch recorded = { .volume = call->origin.volume,
                                        .link = call->link,
                                        .identity = &call->file_system,
                                        .settings = c->settings,
                                        .user = SOURCE_FOR_SELVOL };
        int r;

        r = selinux_read_node(&q->node);
        if (r < 0)
                return r;
        r = observe_mounted(target, &q->observed, &q->outcome);
        if (r < 0)
                return r;
        q->seclabel = q->outcome.fact.seclabel;
        return source_find_elsewhere(&recorded, &q->observed.identity, &q->observed.elsewhere);
}

int operation_adopt(Child *c, const AdoptCall *call, OperationResult *result, Failure *f) {
        _cleanup_(plan_question_done) PlanQuestion question = { .mounted = true };
        _cleanup_(plan_answer_done) PlanAnswer answer = PLAN_ANSWER_INIT;
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_close_ int root = -EBADF;
        FilesDecision *d = &result->files;
        int r;

        r = child_enter(c, WORKER_ADOPT, &call->origin, call->target, f);
        if (r != 0)
                return r;
        r = check_call(c, call->origin.volume, NULL, NULL, call->target, f);
        if (r != 0)
                return r;
        r = target_open_mount(call->target, c->settings, &target, f);
        if (r != 0)
                return r;
        r = health_check(target.fd, target.path, f);
        if (r != 0)
                return r;
        r = observe_adopted(c, call, &target, &question);
        if (r < 0)
                return r;
        r = ask_checked(c, &question, NULL, &answer, f);
        if (r != 0)
                return r;
        /* Observed again: another operation may have had the mount before selvold answered. */
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
        /* The program that mounted the volume should have used the group. If the root does not show the
         * group, nobody relies on it. */
        if (d->ownership == OWNERSHIP_OPTION && result->outcome.root_gid != d->gid)
                d->gid = d->disk_gid = GID_NONE;
        log_debug("%s: adopted mount %llu.", call->origin.volume, (unsigned long long) result->outcome.fact.mount_id);
        return files_failed(result) ? 0 : note_adopted(call, &target, &result->outcome.fact, f);
}

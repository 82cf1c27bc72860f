/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "label/selinux.h"
#include "mount/mount-state.h"
#include "mount/source-search.h"
#include "mount/superblock.h"
#include "worker/check.h"
#include "worker/files-change.h"
#include "worker/observe.h"
#include "worker/operations.h"

/* The place of the files: a mount, or a source to mount. */
typedef struct Place {
        Target target; /* the call's target; path is NULL if there is none */
        Source source; /* if there is no target */
        PlanQuestion question;
} Place;

#define PLACE_INIT ((Place){ .target = TARGET_INIT, .source = SOURCE_INIT, .question = { .seclabel = -1 } })

static void place_done(Place *p) {
        target_done(&p->target);
        source_done(&p->source);
        plan_question_done(&p->question);
}

static bool is_mounted(const ChangeCall *call) {
        return !isempty(call->target);
}

static int open_place(const Child *c, const ChangeCall *call, Place *p, Failure *f) {
        PlanQuestion *q = &p->question;
        int r;

        if (!is_mounted(call)) {
                r = source_search(&(SourceSearch){ .volume = call->origin.volume,
                                                   .source = call->source,
                                                   .fs_type = call->fs_type,
                                                   .link = call->link,
                                                   .identity = &call->file_system,
                                                   .settings = c->settings,
                                                   .user = child_user(&call->origin) },
                                  &p->source, f);
                if (r != 0)
                        return r;
                r = observe_source(&p->source, &q->observed);
                return r < 0 ? r : foreign_check_source(c, &p->source, &q->observed, f);
        }
        r = target_open_mount(call->target, c->settings, &p->target, f);
        if (r != 0)
                return r;
        r = health_check(p->target.fd, p->target.path, f);
        if (r != 0)
                return r;
        r = observe_mounted(&p->target, &q->observed, &q->outcome);
        if (r < 0)
                return r;
        q->mounted = true;
        q->seclabel = q->outcome.fact.seclabel;
        return 0;
}

/* Opens the files through a visible mount. share keeps the mount busy, so nobody can unmount it meanwhile. */
static int open_live(const Child *c, const Place *p, const PlanAnswer *a, Target *share, PrivateMount *s,
                     OperationResult *result, Failure *f) {
        int r;

        log_debug("Working through mount %" PRIu64 " at %s.", a->share_id, a->share_target);
        r = target_open_id(a->share_target, a->share_id, c->settings, share, f);
        if (r != 0)
                return r;
        r = private_mount_copy(share, CLONE_AS_IT_IS, s, f);
        if (r != 0)
                return r;
        r = observe_mount(share, &result->outcome, &result->mark);
        if (r < 0)
                return r;
        r = noted_check_change(c, &result->outcome.fact, false, f);
        if (r != 0)
                return r;
        judge_mounted(s->root, a, false, result);
        r = p->question.mounted ? streq(result->outcome.fact.device, p->question.outcome.fact.device)
                                : source_is_mounted_as(&p->source, &result->outcome.fact);
        if (r != 0)
                return r < 0 ? r : 0;
        return failure_set_about(f, FAILURE_INCOMPATIBLE, share->path, "The mount at '%s' is not of the volume.");
}

static int open_staged(Child *c, const ChangeCall *call, const Place *p, const PlanAnswer *a, PrivateMount *s,
                       OperationResult *result, Failure *f) {
        Fingerprint before;
        int r;

        if (p->question.mounted)
                return failure_set(f, FAILURE_WORKER_FAILED, "selvold names no mount to change the files through.");
        before = source_read_fingerprint(&p->source);
        r = private_mount_stage(c, &p->source, &p->question, a, s, &result->outcome, f);
        if (r != 0)
                return r;
        result->outcome.identity = source_identify(&p->source, s->root);
        /* The subvolume of a btrfs is known now. */
        if (identity_is_known(&call->file_system) &&
            (!identity_is_known(&result->outcome.identity) ||
             identity_differs(&call->file_system, &result->outcome.identity)))
                return source_changed_failure(call->origin.volume, &call->file_system, p->source.path,
                                              &result->outcome.identity, f);
        r = observe_root(s->root, &result->outcome, &result->mark);
        if (r < 0)
                return r;
        judge_staged(&p->source, &p->question, a, &before, result);
        return files_mark_staged(s, &result->outcome, MARK_KEEP, &result->mark, f);
}

/* With SELinux off no mount shows seclabel. */
static int check_changeable(const ChangeCall *call, const Node *node, const PlanAnswer *a, const MountOutcome *o,
                            Failure *f) {
        if (!isempty(a->files.context) && node->selinux && !o->fact.seclabel)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "%s: the file system keeps no labels of its own, so there is nothing to relabel.",
                                   call->origin.volume);
        if (o->superblock_read_only)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "%s: the file system is read-only: its files can't be changed.",
                                   call->origin.volume);
        return 0;
}

static char *describe_change(const PlanAnswer *a, const FilesDecision *d) {
        _cleanup_free_ char *group = NULL;

        if (d->ownership != OWNERSHIP_WALK)
                return strdup_printf("relabeled with %s", strempty(a->files.context));
        group = strdup_printf("given to group %" PRIu32 "%s", d->disk_gid, a->files.readers ? " for reading" : "");
        if (!group || d->relabel != RELABEL_WALK)
                return TAKE_PTR(group);
        return strdup_printf("%s and relabeled with %s", group, a->files.context);
}

static void log_changed(const ChangeCall *call, const PlanAnswer *a, const OperationResult *result, uint64_t usec) {
        const WalkCounts *n = &result->walk.counts;
        _cleanup_free_ char *target = string_escape(strempty(a->share_target), 200),
                            *duration = strdup_printf("%" PRIu64, usec),
                            *entries = strdup_printf("%" PRIu64, n->done), *what = describe_change(a, &result->files);
        const LogField fields[] = {
                { "SELVOL_TARGET", target },
                { "SELVOL_CONTEXT", result->files.relabel == RELABEL_WALK ? a->files.context : NULL },
                { "SELVOL_DURATION_USEC", duration },
                { "SELVOL_ENTRIES", entries },
        };

        if (!result->walked)
                return;
        log_fields(n->failed > 0 ? LOG_WARNING : LOG_INFO, fields, ELEMENTSOF(fields),
                   "%s: %s: %s entries, %" PRIu64 " changed, %" PRIu64 " skipped, %" PRIu64 " failed.",
                   call->origin.volume, strempty(what), strempty(entries), n->changed, n->skipped, n->failed);
}

int operation_change(Child *c, const ChangeCall *call, OperationResult *result, Failure *f) {
        _cleanup_(plan_answer_done) PlanAnswer answer = PLAN_ANSWER_INIT;
        _cleanup_(place_done) Place place = PLACE_INIT;
        _cleanup_(target_done) Target share = TARGET_INIT;
        _cleanup_(private_mount_done) PrivateMount private_mount = PRIVATE_MOUNT_INIT;
        uint64_t start = now_monotonic_usec();
        int r;

        r = child_enter(c, WORKER_CHANGE, &call->origin, call->target, f);
        if (r != 0)
                return r;
        r = is_mounted(call) ? check_call(c, call->origin.volume, NULL, NULL, call->target, f)
                             : check_call(c, call->origin.volume, call->source, call->fs_type, NULL, f);
        if (r != 0)
                return r;
        r = open_place(c, call, &place, f);
        if (r != 0)
                return r;
        r = selinux_read_node(&place.question.node);
        if (r < 0)
                return r;
        r = ask_checked(c, &place.question, place.source.fs, &answer, f);
        if (r != 0)
                return r;
        r = isempty(answer.share_target) ? open_staged(c, call, &place, &answer, &private_mount, result, f)
                                         : open_live(c, &place, &answer, &share, &private_mount, result, f);
        if (r != 0)
                return r;
        r = check_changeable(call, &place.question.node, &answer, &result->outcome, f);
        if (r != 0)
                return r;
        r = files_change(c, call->origin.volume, &place.question, &answer, &private_mount, result, f);
        if (r != 0)
                return r;
        /* The staged mount is dropped before another job can want the source, and before the fingerprint is
         * read. */
        if (isempty(answer.share_target))
                private_mount_done(&private_mount);
        judge_keep(isempty(answer.share_target) ? &place.source : NULL, result);
        log_changed(call, &answer, result, now_monotonic_usec() - start);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "wire/messages.h"

static const char *const plan_step_table[PLAN_STEPS] = {
        [PLAN_GO] = "go",
        [PLAN_LOOK] = "look",
        [PLAN_WAIT] = "wait",
        [PLAN_STOP] = "stop",
};
DEFINE_STRING_TABLE(plan_step, PlanStep);

static const char *const worker_at_table[WORKER_AT_WORDS] = {
        [WORKER_AT_LOOK] = "look",
        [WORKER_AT_UNMOUNT] = "unmount",
        [WORKER_AT_REPLACED] = "replaced",
};
DEFINE_STRING_TABLE(worker_at, WorkerAt);

/* The options of the request, and those that the configuration adds. */
enum { RELIANCES_MAX = 16 * 1024, PLAN_OPTIONS_MAX = 1024 };

static const MessageField node_fields[] = {
        FIELD_BOOL(Node, selinux),
        FIELD_BOOL(Node, enforcing),
        FIELD_BOOL(Node, mls),
        FIELD_CONTEXT_OR_NULL(Node, file_context),
};
DEFINE_MESSAGE_OF_MODEL(Node, node, NODE_TYPE);

static const MessageField mount_fact_fields[] = {
        FIELD_U64(MountFact, mount_id),    FIELD_TEXT(MountFact, target),     FIELD_TEXT(MountFact, source),
        FIELD_TEXT(MountFact, fs_type),    FIELD_TEXT(MountFact, device),     FIELD_TEXT(MountFact, root),
        FIELD_CONTEXT(MountFact, context), FIELD_LINE(MountFact, covered_by), FIELD_LINE(MountFact, also_at),
        FIELD_VOLUME(MountFact, volume),   FIELD_BOOL(MountFact, seclabel),   FIELD_BOOL(MountFact, read_only),
        FIELD_BOOL(MountFact, beside),
};
DEFINE_MESSAGE_OF_MODEL(MountFact, mount_fact, MOUNT_FACT_TYPE);

static const MessageField mount_outcome_fields[] = {
        FIELD_STRUCT(MountOutcome, fact, mount_fact),
        FIELD_CONTEXT(MountOutcome, root_context),
        FIELD_U32(MountOutcome, root_gid),
        FIELD_U32(MountOutcome, root_mode),
        FIELD_BOOL(MountOutcome, superblock_read_only),
        FIELD_U64(MountOutcome, inodes_used),
        FIELD_IDENTITY(MountOutcome, identity),
        FIELD_BOOL(MountOutcome, idmapped),
};
DEFINE_MESSAGE_OF_MODEL(MountOutcome, mount_outcome, MOUNT_OUTCOME_TYPE);

static const MessageField observed_fields[] = {
        FIELD_LINE_OR_NULL(Observed, fs_type),
        FIELD_BOOL(Observed, device_read_only),
        FIELD_LINE_OR_NULL(Observed, device),
        FIELD_LINE_OR_NULL(Observed, superblock),
        FIELD_IDENTITY(Observed, identity),
        FIELD_LINE_OR_NULL(Observed, link),
        FIELD_LINE_OR_NULL(Observed, elsewhere),
        FIELD_LINES(Observed, replaced, PLAN_OPTIONS_MAX),
        FIELD_BOOL(Observed, mounts_unknown),
        FIELD_BOOL(Observed, hidden),
        FIELD_ARRAY(Observed, mounts, n_mounts, mount_fact, SIZE_MAX),
};
DEFINE_MESSAGE_OF_MODEL(Observed, observed, OBSERVED_TYPE);

/* Context and gid have no meaning while the state is unknown. */
static void mark_tidy(void *copy) {
        Mark *m = copy;

        if (m->label_state == FILES_UNKNOWN)
                m->context = NULL;
        if (m->ownership_state == FILES_UNKNOWN)
                m->gid = 0;
}

/* Without a mark, labels and group are unknown. */
static bool mark_is_good(const void *object) {
        const Mark *m = object;

        return mark_is_consistent(m) &&
               (m->found == MARK_PRESENT ||
                (m->label_state == FILES_UNKNOWN && m->ownership_state == FILES_UNKNOWN && !m->tainted));
}

static const MessageField mark_fields[] = {
        FIELD_WORD(Mark, found, mark_found),
        FIELD_WORD(Mark, label_state, files_state),
        FIELD_CONTEXT_OR_NULL(Mark, context),
        FIELD_BOOL(Mark, tainted),
        FIELD_WORD(Mark, ownership_state, files_state),
        FIELD_U32(Mark, gid),
};
DEFINE_MESSAGE_OF_MODEL(Mark, mark, MARK_TYPE, .is_good = mark_is_good, .tidy = mark_tidy);

static const MessageField walk_counts_fields[] = {
        FIELD_U64(WalkCounts, done),     FIELD_U64(WalkCounts, changed), FIELD_U64(WalkCounts, mismatched),
        FIELD_U64(WalkCounts, misowned), FIELD_U64(WalkCounts, failed),  FIELD_U64(WalkCounts, skipped),
        FIELD_U64(WalkCounts, modified),
};
DEFINE_MESSAGE(WalkCounts, walk_counts, WALK_COUNTS_TYPE);

static const MessageField walk_issue_fields[] = {
        FIELD_LINE(WalkIssue, path),
        FIELD_LINE(WalkIssue, text),
};
DEFINE_MESSAGE(WalkIssue, walk_issue, WALK_ISSUE_TYPE);

static const MessageField walk_result_fields[] = {
        FIELD_STRUCT(WalkResult, counts, walk_counts),
        FIELD_ARRAY(WalkResult, issues, n_issues, walk_issue, WALK_ISSUES_MAX),
        FIELD_LINES(WalkResult, submounts, WALK_SUBMOUNTS_MAX),
};
DEFINE_MESSAGE_OF_MODEL(WalkResult, walk_result, WALK_RESULT_TYPE);

static const MessageField mount_identity_fields[] = {
        FIELD_U64(MountIdentity, id),
        FIELD_TEXT(MountIdentity, device),
};
DEFINE_MESSAGE(MountIdentity, mount_identity, MOUNT_IDENTITY_TYPE);

static const MessageField call_origin_fields[] = {
        FIELD_TEXT(CallOrigin, volume),  FIELD_TEXT(CallOrigin, source),  FIELD_U64(CallOrigin, job),
        FIELD_U64(CallOrigin, settings), FIELD_BOOL(CallOrigin, by_root),
};
DEFINE_MESSAGE(CallOrigin, call_origin, CALL_ORIGIN_TYPE);

static const MessageField mount_call_fields[] = {
        FIELD_STRUCT(MountCall, origin, call_origin),
        FIELD_TEXT(MountCall, source),
        FIELD_TEXT(MountCall, fs_type),
        FIELD_TEXT(MountCall, target),
        FIELD_STRUCT(MountCall, expected, mount_identity),
        FIELD_IDENTITY(MountCall, file_system),
        FIELD_TEXT(MountCall, link),
        FIELD_BOOL(MountCall, replace),
        FIELD_BOOL(MountCall, only_plan),
};
DEFINE_MESSAGE(MountCall, mount_call, MOUNT_CALL_TYPE);

static const MessageField adopt_call_fields[] = {
        FIELD_STRUCT(AdoptCall, origin, call_origin),
        FIELD_TEXT(AdoptCall, target),
        FIELD_IDENTITY(AdoptCall, file_system),
        FIELD_TEXT(AdoptCall, link),
};
DEFINE_MESSAGE(AdoptCall, adopt_call, ADOPT_CALL_TYPE);

static const MessageField change_call_fields[] = {
        FIELD_STRUCT(ChangeCall, origin, call_origin),
        FIELD_TEXT(ChangeCall, target),
        FIELD_TEXT(ChangeCall, source),
        FIELD_TEXT(ChangeCall, fs_type),
        FIELD_IDENTITY(ChangeCall, file_system),
        FIELD_TEXT(ChangeCall, link),
};
DEFINE_MESSAGE(ChangeCall, change_call, CHANGE_CALL_TYPE);

static const MessageField verify_call_fields[] = {
        FIELD_STRUCT(VerifyCall, origin, call_origin),
        FIELD_TEXT(VerifyCall, path),
        FIELD_TEXT(VerifyCall, expected),
        FIELD_WORD(VerifyCall, depth, verify_depth),
        FIELD_U32(VerifyCall, gid),
        FIELD_U64(VerifyCall, entries_per_sec),
        FIELD_TEXT(VerifyCall, mount_target),
        FIELD_STRUCT(VerifyCall, mount, mount_identity),
};
DEFINE_MESSAGE(VerifyCall, verify_call, VERIFY_CALL_TYPE);

static const MessageField verify_result_fields[] = {
        FIELD_BOOL(VerifyResult, matches),
        FIELD_CONTEXT(VerifyResult, actual),
        FIELD_STRUCT(VerifyResult, walk, walk_result),
        FIELD_WORD(VerifyResult, reset, mark_change),
        FIELD_LINE(VerifyResult, not_reset),
};
DEFINE_MESSAGE(VerifyResult, verify_result, VERIFY_RESULT_TYPE);

static const MessageField unmount_call_fields[] = {
        FIELD_STRUCT(UnmountCall, origin, call_origin),
        FIELD_TEXT(UnmountCall, target),
        FIELD_STRUCT(UnmountCall, identity, mount_identity),
        FIELD_BOOL(UnmountCall, last),
        FIELD_TEXT(UnmountCall, source),
        FIELD_TEXT(UnmountCall, fs_type),
};
DEFINE_MESSAGE(UnmountCall, unmount_call, UNMOUNT_CALL_TYPE);

static const MessageField unmount_result_fields[] = {
        FIELD_BOOL(UnmountResult, unmounted),
        FIELD_BOOL(UnmountResult, still_open),
        FIELD_FINGERPRINT(UnmountResult, fingerprint),
};
DEFINE_MESSAGE(UnmountResult, unmount_result, UNMOUNT_RESULT_TYPE);

static bool orphan_info_is_good(const void *object) {
        const OrphanInfo *o = object;

        return !isempty(o->operation);
}

static const MessageField orphan_info_fields[] = {
        FIELD_INT(OrphanInfo, pid, 1, INT_MAX), FIELD_LINE(OrphanInfo, operation), FIELD_VOLUME(OrphanInfo, volume),
        FIELD_LINE(OrphanInfo, target),         FIELD_LINE(OrphanInfo, source),
};
DEFINE_MESSAGE(OrphanInfo, orphan_info, ORPHAN_INFO_TYPE, .is_good = orphan_info_is_good);

static const MessageField watched_fields[] = {
        FIELD_U64(Watched, settings),
        FIELD_ARRAY(Watched, orphans, n_orphans, orphan_info, SIZE_MAX),
        FIELD_STRUCT(Watched, node, node),
        FIELD_ARRAY(Watched, mounts, n_mounts, mount_fact, SIZE_MAX),
        FIELD_ARRAY(Watched, left, n_left, mount_identity, SIZE_MAX),
};
DEFINE_MESSAGE(Watched, watched, WATCHED_TYPE);

static const MessageField mount_changes_fields[] = {
        FIELD_ARRAY(MountChanges, came, n_came, mount_fact, SIZE_MAX),
        FIELD_ARRAY(MountChanges, went, n_went, mount_identity, SIZE_MAX),
};
DEFINE_MESSAGE(MountChanges, mount_changes, MOUNT_CHANGES_TYPE);

/* Either both groups are set or none. */
static bool files_decision_is_good(const void *object) {
        const FilesDecision *d = object;

        return (d->gid == GID_NONE) == (d->disk_gid == GID_NONE);
}

static const MessageField files_decision_fields[] = {
        FIELD_WORD(FilesDecision, relabel, relabel_action),
        FIELD_WORD(FilesDecision, relabel_reason, relabel_reason),
        FIELD_BOOL(FilesDecision, blind),
        FIELD_WORD(FilesDecision, ownership, ownership_action),
        FIELD_WORD(FilesDecision, ownership_reason, ownership_reason),
        FIELD_U32(FilesDecision, gid),
        FIELD_U32(FilesDecision, disk_gid),
};
DEFINE_MESSAGE(FilesDecision, files_decision, FILES_DECISION_TYPE, .is_good = files_decision_is_good);

static const MessageField plan_question_fields[] = {
        FIELD_STRUCT(PlanQuestion, node, node),
        FIELD_STRUCT(PlanQuestion, observed, observed),
        FIELD_INT(PlanQuestion, seclabel, -1, 1),
        FIELD_BOOL(PlanQuestion, mounted),
        FIELD_STRUCT(PlanQuestion, outcome, mount_outcome),
        FIELD_STRUCT(PlanQuestion, files, files_decision),
        FIELD_TEXT(PlanQuestion, root),
        FIELD_STRUCT(PlanQuestion, mark, mark),
};
DEFINE_MESSAGE(PlanQuestion, plan_question, PLAN_QUESTION_TYPE);

static const MessageField files_wanted_fields[] = {
        FIELD_CONTEXT(FilesWanted, context),
        FIELD_U32(FilesWanted, gid),
        FIELD_BOOL(FilesWanted, readers),
        FIELD_WORD(FilesWanted, ownership, ownership_action),
        FIELD_WORD(FilesWanted, ownership_reason, ownership_reason),
        FIELD_BOOL(FilesWanted, force),
        FIELD_BOOL(FilesWanted, gate),
        FIELD_WORD(FilesWanted, policy, fs_group_change_policy),
        FIELD_BOOL(FilesWanted, policy_given),
        FIELD_BOOL(FilesWanted, user_namespace),
        FIELD_BOOL(FilesWanted, on_disk),
        FIELD_BOOL(FilesWanted, mounted),
        FIELD_U32(FilesWanted, swapped_gid),
};
DEFINE_MESSAGE(FilesWanted, files_wanted, FILES_WANTED_TYPE);

static const MessageField reliance_fields[] = {
        FIELD_U32(Reliance, gid),
        FIELD_TEXT_OR_NULL(Reliance, root),
        FIELD_LINE(Reliance, use),
        FIELD_LINE(Reliance, end),
        FIELD_STRING(Reliance, volume, message_volume_is_good, true),
};
DEFINE_MESSAGE(Reliance, reliance, RELIANCE_TYPE);

static const MessageField plan_answer_fields[] = {
        FIELD_WORD(PlanAnswer, step, plan_step),
        FIELD_INT(PlanAnswer, seclabel, -1, 1),
        FIELD_CONTEXT(PlanAnswer, context),
        FIELD_STRV(PlanAnswer, mount_options, PLAN_OPTIONS_MAX),
        FIELD_BOOL(PlanAnswer, read_only),
        FIELD_TEXT(PlanAnswer, share_target),
        FIELD_U64(PlanAnswer, share_id),
        FIELD_WORD(PlanAnswer, change, mark_change),
        FIELD_STRUCT(PlanAnswer, files, files_wanted),
        FIELD_ARRAY(PlanAnswer, reliances, n_reliances, reliance, RELIANCES_MAX),
        FIELD_U64(PlanAnswer, entries_per_sec),
        FIELD_BOOL(PlanAnswer, history.alive),
        FIELD_BOOL(PlanAnswer, history.beside),
        FIELD_BOOL(PlanAnswer, history.elsewhere),
        FIELD_BOOL(PlanAnswer, history.trusted),
        FIELD_IDENTITY(PlanAnswer, history.identity),
        FIELD_FINGERPRINT(PlanAnswer, history.kept),
};
DEFINE_MESSAGE(PlanAnswer, plan_answer, PLAN_ANSWER_TYPE);

static const MessageField ready_question_fields[] = {
        FIELD_STRUCT(ReadyQuestion, identity, mount_identity),
        FIELD_IDENTITY(ReadyQuestion, file_system),
        FIELD_U32(ReadyQuestion, gid),
        FIELD_U32(ReadyQuestion, disk_gid),
        FIELD_FINGERPRINT(ReadyQuestion, fingerprint),
        FIELD_STRUCT(ReadyQuestion, mark, mark),
};
DEFINE_MESSAGE(ReadyQuestion, ready_question, READY_QUESTION_TYPE);

static const MessageField walk_question_fields[] = {
        FIELD_STRUCT(WalkQuestion, mark, mark),
        FIELD_STRUCT(WalkQuestion, files, files_decision),
};
DEFINE_MESSAGE(WalkQuestion, walk_question, WALK_QUESTION_TYPE);

static const MessageField operation_result_fields[] = {
        FIELD_BOOL(OperationResult, repeated),
        FIELD_STRUCT(OperationResult, outcome, mount_outcome),
        FIELD_STRUCT(OperationResult, mark, mark),
        FIELD_STRUCT(OperationResult, files, files_decision),
        FIELD_LINE(OperationResult, detail),
        FIELD_BOOL(OperationResult, walked),
        FIELD_FINGERPRINT(OperationResult, fingerprint),
        FIELD_STRUCT(OperationResult, walk, walk_result),
};
DEFINE_MESSAGE(OperationResult, operation_result, OPERATION_RESULT_TYPE);

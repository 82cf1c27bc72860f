/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "message.h"
#include "model/failure.h"
#include "wire/messages.h"

/* What the two processes say to each other: the number of what is said, its type, or "" for the right one, and its values. What
 * is read is what was said, and is said again in the same words. */

#define ABOUT_TYPE   "st"
#define INSPECT_TYPE "s"
#define CHANGED_TYPE "a" MOUNT_FACT_TYPE "at"

/* More than any reader with a limit takes, but for that of reliances (16384), with which inputs would be few: see test-wire.c. */
enum { BEYOND_MAX = 1200 };

static void walk_counts_done(WalkCounts *c) {
}

static void files_decision_done(FilesDecision *d) {
}

static void mount_facts_done(Observed *o) {
        observed_done(o);
}

static int mount_facts_append_all(sd_bus_message *m, const Observed *o) {
        return mount_facts_append(m, o->mounts, o->n_mounts);
}

static int mount_facts_read_all(sd_bus_message *m, Observed *ret) {
        *ret = (Observed){ 0 };
        return mount_facts_read(m, &ret->mounts, &ret->n_mounts);
}

/* Returns what reading did. */
#define DEFINE_CHECK(Type, name, append, read)                              \
        static int check_##name(sd_bus_message *m, sd_bus_message *again) { \
                Type value;                                                 \
                int r;                                                      \
                                                                            \
                r = read(m, &value);                                        \
                if (r == 0) {                                               \
                        assert(append(again, &value) == 0);                 \
                        name##_done(&value);                                \
                }                                                           \
                return r;                                                   \
        }                                                                   \
        struct name##_needs_a_semicolon

#define DEFINE_CHECK_OF(Type, name) DEFINE_CHECK(Type, name, name##_append, name##_read)

DEFINE_CHECK_OF(Node, node);
DEFINE_CHECK_OF(MountFact, mount_fact);
DEFINE_CHECK(Observed, mount_facts, mount_facts_append_all, mount_facts_read_all);
DEFINE_CHECK_OF(MountOutcome, mount_outcome);
DEFINE_CHECK_OF(Observed, observed);
DEFINE_CHECK_OF(Mark, mark);
DEFINE_CHECK_OF(WalkCounts, walk_counts);
DEFINE_CHECK_OF(WalkResult, walk_result);
DEFINE_CHECK_OF(MountIdentity, mount_identity);
DEFINE_CHECK_OF(MountCall, mount_call);
DEFINE_CHECK_OF(AdoptCall, adopt_call);
DEFINE_CHECK_OF(ChangeCall, change_call);
DEFINE_CHECK_OF(VerifyCall, verify_call);
DEFINE_CHECK_OF(VerifyResult, verify_result);
DEFINE_CHECK_OF(UnmountCall, unmount_call);
DEFINE_CHECK_OF(PlanQuestion, plan_question);
DEFINE_CHECK_OF(PlanAnswer, plan_answer);
DEFINE_CHECK_OF(ReadyNote, ready_note);
DEFINE_CHECK_OF(FilesDecision, files_decision);
DEFINE_CHECK_OF(OperationResult, operation_result);

static int check_orphan_notes(sd_bus_message *m, sd_bus_message *again) {
        OrphanNote o;
        int r;

        r = sd_bus_message_enter_container(m, 'a', ORPHAN_NOTE_TYPE);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        assert(sd_bus_message_open_container(again, 'a', ORPHAN_NOTE_TYPE) >= 0);
        while ((r = orphan_note_read(m, &o)) > 0) {
                assert(text_is_clean(o.operation) && text_is_clean(o.volume) && text_is_clean(o.target));
                assert(o.pid > 0 && orphan_note_append(again, &o) == 0);
        }
        if (r == 0)
                assert(sd_bus_message_exit_container(m) >= 0 && sd_bus_message_close_container(again) >= 0);
        return r;
}

/* What has no struct of its own is read as the two processes do. */
static int check_about(sd_bus_message *m, sd_bus_message *again) {
        _cleanup_free_ char *escaped = NULL;
        const char *volume;
        uint64_t job;
        int r;

        r = sd_bus_message_read(m, ABOUT_TYPE, &volume, &job);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        escaped = string_escape(volume, VOLUME_ID_MAX);
        assert(escaped && text_is_clean(escaped));
        assert(sd_bus_message_append(again, ABOUT_TYPE, volume, job) >= 0);
        return 0;
}

static int check_inspect(sd_bus_message *m, sd_bus_message *again) {
        const char *target;
        int r;

        r = sd_bus_message_read(m, INSPECT_TYPE, &target);
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        assert(sd_bus_message_append(again, INSPECT_TYPE, target) >= 0);
        return 0;
}

static int check_changed(sd_bus_message *m, sd_bus_message *again) {
        uint64_t id;
        int r;

        r = check_mount_facts(m, again);
        if (r < 0)
                return r;
        r = sd_bus_message_enter_container(m, 'a', "t");
        if (r <= 0)
                return r < 0 ? r : -EBADMSG;
        assert(sd_bus_message_open_container(again, 'a', "t") >= 0);
        while ((r = sd_bus_message_read(m, "t", &id)) > 0)
                assert(sd_bus_message_append(again, "t", id) >= 0);
        if (r == 0)
                assert(sd_bus_message_exit_container(m) >= 0 && sd_bus_message_close_container(again) >= 0);
        return r;
}

static const struct {
        const char *type;
        int (*check)(sd_bus_message *m, sd_bus_message *again);
} said[] = {
        { NODE_TYPE, check_node },
        { MOUNT_FACT_TYPE, check_mount_fact },
        { "a" MOUNT_FACT_TYPE, check_mount_facts },
        { MOUNT_OUTCOME_TYPE, check_mount_outcome },
        { OBSERVED_TYPE, check_observed },
        { MARK_TYPE, check_mark },
        { WALK_COUNTS_TYPE, check_walk_counts },
        { WALK_RESULT_TYPE, check_walk_result },
        { MOUNT_IDENTITY_TYPE, check_mount_identity },
        { MOUNT_CALL_TYPE, check_mount_call },
        { ADOPT_CALL_TYPE, check_adopt_call },
        { CHANGE_CALL_TYPE, check_change_call },
        { VERIFY_CALL_TYPE, check_verify_call },
        { VERIFY_RESULT_TYPE, check_verify_result },
        { UNMOUNT_CALL_TYPE, check_unmount_call },
        { "a" ORPHAN_NOTE_TYPE, check_orphan_notes },
        { PLAN_QUESTION_TYPE, check_plan_question },
        { PLAN_ANSWER_TYPE, check_plan_answer },
        { READY_NOTE_TYPE, check_ready_note },
        { FILES_DECISION_TYPE, check_files_decision },
        { OPERATION_RESULT_TYPE, check_operation_result },
        { ABOUT_TYPE, check_about },
        { INSPECT_TYPE, check_inspect },
        { CHANGED_TYPE, check_changed },
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Words w = { .data = data, .size = size, .n_beyond = BEYOND_MAX };
        uint64_t which = words_next_number(&w) % ELEMENTSOF(said);
        _cleanup_free_ char *types = words_next(&w);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new(), *again = message_new();
        const char *type = said[which].type;
        int r;

        if (message_fill(m, isempty(types) ? type : types, &w) < 0 || message_finish(m) < 0)
                return 0;
        r = said[which].check(m, again);
        if (!streq(sd_bus_message_get_signature(m, true), type)) {
                assert(r <= 0);
                return 0;
        }
        assert(r == 0 || r == -EBADMSG);
        if (r < 0)
                return 0;
        assert(sd_bus_message_at_end(m, true) > 0);
        assert(sd_bus_message_rewind(m, true) >= 0);
        assert(message_finish(again) == 0);
        assert(messages_equal(m, again));
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <string.h>

#include "support.h"
#include "wire/messages.h"

/* The other end of the worker's connections, where the test plays selvold: one connection is one operation,
 * on which the child's questions are answered and all that is said is kept. */

/* What is asked of the worker with Mount, Adopt or Change, and what it is answered to Plan. */
typedef struct Arguments {
        const char *source, *fs_type, *target;
        MountIdentity expected;
        /* The answer */
        PlanStep step;
        const char *options; /* separated by commas */
        const char *context;
        bool read_only;
        const char *share; /* NULL: for Change the target, otherwise none */
        uint64_t share_id;
        MarkChange change;
        FilesWanted files; /* see wanted_labels() and wanted_group(); nothing is wanted if all is 0 */
        const Reliance *reliances;
        size_t n_reliances;
        bool reliances_end; /* before Plan is asked once more */
        uint64_t entries_per_sec;
        MarkHistory history;
        bool suppose_seclabel; /* the first answer only */
        bool blind; /* never asked to look who else has it mounted, as a selvold that was taken over might */
        /* Questions that stay without an answer, until operation_answer() */
        bool hold_plan, hold_ready;
} Arguments;

/* Further members may follow. */
#define volume_at(of_source, of_type, at, ...) \
        ((Arguments){ .source = (of_source), .fs_type = (of_type), .target = (at) __VA_OPT__(, ) __VA_ARGS__ })

static inline FilesWanted wanted_labels(const char *context) {
        return (FilesWanted){ .context = (char *) context, .gid = GID_NONE, .swapped_gid = GID_NONE };
}

/* Whatever it takes: skip, map or walk. */
static inline FilesWanted wanted_group(gid_t gid) {
        return (FilesWanted){ .gid = gid,
                              .swapped_gid = GID_NONE,
                              .ownership = OWNERSHIP_WALK,
                              .gate = true,
                              .policy = FS_GROUP_CHANGE_ON_ROOT_MISMATCH };
}

/* What was said on a connection. */
typedef struct Heard {
        unsigned n_plans, n_ready, n_walks, n_progress;
        PlanQuestion question; /* the last one of each */
        ReadyQuestion ready;
        FilesDecision decided;
        Mark begun; /* by Walk */
        WalkCounts progress;
        uint64_t total;
} Heard;

/* How it ended. */
typedef struct Answer {
        const char *kind; /* "ok", the failure's kind, or "gone": the connection ended without a reply */
        char *message;    /* of a failure */
        Heard heard;
        PlanQuestion question; /* the last one */
        /* From Mount, Adopt and Change; walk also from Verify */
        bool repeated, walked;
        MountOutcome outcome;
        Mark mark;
        FilesDecision files;
        char *detail;
        WalkResult walk;
        Fingerprint fingerprint; /* also of Unmount */
        /* Of Verify */
        bool matches;
        char *actual, *not_reset;
        MarkChange reset;
        /* From Unmount */
        bool unmounted;
} Answer;

void answer_done(Answer *a);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_done)

/* An operation under way. */
typedef struct Operation {
        sd_bus *bus;
        const char *method;
        Arguments arguments;
        Heard heard;
        sd_bus_message *held;  /* the question that has no answer */
        sd_bus_message *reply; /* also if the connection ended: an error of sd-bus */
        bool ended;            /* the end of file has come */
} Operation;

/* method: WORKER_MOUNT, WORKER_ADOPT or WORKER_CHANGE. The arguments are copied, but not their strings. */
Operation *operation_start(const Worker *w, const char *method, const Arguments *a);
/* The same until a question is held. */
Operation *operation_start_held(const Worker *w, const char *method, const Arguments *a);
Operation *operation_start_verify(const Worker *w, const VerifyCall *c);
/* Serves what comes next. */
void operation_step(Operation *o);
/* Until the condition is met, or there is nothing more to wait for. */
#define operation_wait(o, condition)        \
        while (!(condition) && !(o)->ended) \
        operation_step(o)
/* To the question that was held. */
void operation_answer(Operation *o);
/* Serves it to the end of the connection, checks what was said on the way, and frees it. */
Answer operation_finish(Operation *o);
/* The same after hanging up. */
Answer operation_hang_up(Operation *o);

/* From dialing to the end of the connection. */
Answer call_mount(const Worker *w, const Arguments *a);
/* Further members of Arguments may follow. */
#define mount_with(w, ...) call_mount((w), &volume_at(__VA_ARGS__))
Answer call_adopt(const Worker *w, const Arguments *a);
Answer call_change(const Worker *w, const Arguments *a);
/* A Mount that ends with the plan: "ok" if it was asked for one. */
Answer call_observe(const Worker *w, const char *source, const char *fs_type, const char *target);
Answer call_verify(const Worker *w, const VerifyCall *call);
/* On a connection that is there. Returns as sd_bus_call(). */
int call_verify_on(sd_bus *bus, const char *path, sd_bus_error *error);
Answer call_verify_labels(const Worker *w, const char *path, const char *context, VerifyDepth depth);
/* id 0: none is expected there. */
Answer call_unmount(const Worker *w, const char *target, uint64_t id);
/* The same, with the device that it has to be of. */
Answer call_unmount_identity(const Worker *w, const char *target, const MountIdentity *identity);
/* And tells the fingerprint of the source when its last mount has gone. */
Answer call_unmount_of(const Worker *w, const char *target, uint64_t id, const char *source, const char *fs_type);

static inline VerifyCall verify_labels(const char *path, const char *context, VerifyDepth depth) {
        return (VerifyCall){ .path = (char *) path, .expected = (char *) context, .depth = depth, .gid = GID_NONE };
}

/* The answer, which has to be of that kind, with a message of one line that has all needles in it. */
#define expect(answer, kind, ...) \
        answer_expect(__FILE__, __LINE__, (answer), (kind), (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define expect_ok(answer) expect(answer, "ok")
Answer answer_expect(const char *file, int line, Answer a, const char *kind, const char *const *needles);
/* The same where nothing else of the answer matters. */
#define assert_ok(answer)               answer_drop(expect_ok(answer))
#define assert_fails(answer, kind, ...) answer_drop(expect(answer, kind __VA_OPT__(, ) __VA_ARGS__))
void answer_drop(Answer a);
/* The same where one thing that it says matters. */
#define assert_says(answer, member, operator, expected)           \
        G_STMT_START {                                            \
                g_auto(Answer) _a_ = expect_ok(answer);           \
                g_assert_cmpint(_a_.member, operator,(expected)); \
        }                                                         \
        G_STMT_END
#define assert_says_text(answer, member, expected)           \
        G_STMT_START {                                       \
                g_auto(Answer) _a_ = expect_ok(answer);      \
                g_assert_cmpstr(_a_.member, ==, (expected)); \
        }                                                    \
        G_STMT_END

#define assert_answer(answer, kind)    answer_check(__FILE__, __LINE__, &(answer), (kind))
#define assert_message(answer, needle) answer_check_message(__FILE__, __LINE__, &(answer), (needle))
void answer_check(const char *file, int line, const Answer *a, const char *kind);
void answer_check_message(const char *file, int line, const Answer *a, const char *needle);

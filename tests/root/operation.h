/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "support.h"
#include "wire/messages.h"

/* The test takes selvold's place. Each operation has a connection of its own, on which the test answers the
 * questions of the worker's child and keeps the messages that it gets. */

/* The arguments of Mount, Adopt or Change, and of the answer to Plan. */
typedef struct Arguments {
        const char *source, *fs_type, *target;
        MountIdentity expected;
        Identity file_system; /* of Change: the recorded one */
        const char *link;
        bool only_plan;
        bool replace;
        bool by_user; /* another caller than root */
        /* The answer */
        PlanStep step;
        const char *options; /* separated by commas */
        const char *context;
        bool read_only;
        const char *share; /* NULL: for Change the target, otherwise no mount is shared */
        uint64_t share_id;
        MarkChange change;
        FilesWanted files; /* from wanted_labels() or wanted_group(); no change is wanted if all is 0 */
        const Reliance *reliances;
        size_t n_reliances;
        bool reliances_end; /* the second answer to Plan has no reliances */
        uint64_t entries_per_sec;
        MarkHistory history;
        bool suppose_seclabel; /* in the first answer only */
        bool blind;            /* never asks for a look at other mounts, as a selvold of an attacker */
        /* These questions get no answer before operation_answer(). */
        bool hold_plan, hold_ready;
} Arguments;

/* Further members may follow. */
#define volume_at(of_source, of_type, at, ...) \
        ((Arguments){ .source = (of_source), .fs_type = (of_type), .target = (at) __VA_OPT__(, ) __VA_ARGS__ })

static inline FilesWanted wanted_labels(const char *context) {
        return (FilesWanted){ .context = (char *) context, .gid = GID_NONE, .swapped_gid = GID_NONE };
}

/* The worker may skip the files, map the mount, or walk. */
static inline FilesWanted wanted_group(gid_t gid) {
        return (FilesWanted){ .gid = gid,
                              .swapped_gid = GID_NONE,
                              .ownership = OWNERSHIP_WALK,
                              .gate = true,
                              .policy = FS_GROUP_CHANGE_ON_ROOT_MISMATCH };
}

/* The messages of the child on a connection: how many of each there were, and the last one. */
typedef struct Heard {
        unsigned n_plans, n_ready, n_walks, n_progress;
        PlanQuestion question;
        ReadyQuestion ready;
        FilesDecision decided;
        Mark begun; /* by Walk */
        WalkCounts progress;
        uint64_t total;
} Heard;

/* The end of an operation. */
typedef struct Answer {
        const char *kind; /* "ok", the failure's kind, or "gone": the connection ended without a reply */
        char *message;    /* of a failure */
        Heard heard;
        PlanQuestion question; /* the last one */
        /* Mount, Adopt and Change return these, and Verify returns walk, too. */
        bool repeated, walked;
        MountOutcome outcome;
        Mark mark;
        FilesDecision files;
        char *detail;
        WalkResult walk;
        Fingerprint fingerprint; /* Unmount returns this, too */
        /* Verify returns these. */
        bool matches;
        char *actual, *not_reset;
        MarkChange reset;
        /* Unmount returns these. */
        bool unmounted, still_open;
} Answer;

void answer_done(Answer *a);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_done)

typedef struct Operation {
        sd_bus *bus;
        const char *method;
        Arguments arguments;
        Heard heard;
        sd_bus_message *held;  /* the question that has no answer yet */
        sd_bus_message *reply; /* an error of sd-bus if the connection has ended */
        bool ended;            /* the connection has ended */
} Operation;

/* method is WORKER_MOUNT, WORKER_ADOPT or WORKER_CHANGE. The operation keeps pointers in arguments. */
Operation *operation_start(const Worker *w, const char *method, const Arguments *a);
/* The same, and serves the operation until a question is held. */
Operation *operation_start_held(const Worker *w, const char *method, const Arguments *a);
Operation *operation_start_verify(const Worker *w, const VerifyCall *c);
/* Serves the next message. */
void operation_step(Operation *o);
/* Serves messages until the condition is met, or the connection ends. */
#define operation_wait(o, condition)        \
        while (!(condition) && !(o)->ended) \
        operation_step(o)
/* Answers the question that was held. */
void operation_answer(Operation *o);
/* Serves the operation to the end of its connection, compares the reply with the messages, and frees it. */
Answer operation_finish(Operation *o);
/* The same, but hangs up first. */
Answer operation_hang_up(Operation *o);

/* These open a connection, make the call and serve the operation to its end. */
Answer call_mount(const Worker *w, const Arguments *a);
/* Further members of Arguments may follow. */
#define mount_with(w, ...) call_mount((w), &volume_at(__VA_ARGS__))
Answer call_adopt(const Worker *w, const Arguments *a);
Answer call_change(const Worker *w, const Arguments *a);
/* Stops a Mount at its plan. The answer is "ok" if the worker has asked for a plan. */
Answer call_observe(const Worker *w, const char *source, const char *fs_type, const char *target);
Answer call_verify(const Worker *w, const VerifyCall *call);
/* Makes the call on this connection, and returns the result of sd_bus_call(). */
int call_verify_on(sd_bus *bus, const char *path, sd_bus_error *error);
Answer call_verify_labels(const Worker *w, const char *path, const char *context, VerifyDepth depth);
/* id is 0 if selvold knows of no mount there. */
Answer call_unmount(const Worker *w, const char *target, uint64_t id);
Answer call_unmount_identity(const Worker *w, const char *target, const MountIdentity *identity);
/* The worker looks whether the device is free then. */
Answer call_unmount_last(const Worker *w, const char *target, uint64_t id);
/* The worker returns the fingerprint of the source if this was its last mount. */
Answer call_unmount_of(const Worker *w, const char *target, uint64_t id, const char *source, const char *fs_type);

static inline VerifyCall verify_labels(const char *path, const char *context, VerifyDepth depth) {
        return (VerifyCall){ .path = (char *) path, .expected = (char *) context, .depth = depth, .gid = GID_NONE };
}

/* Returns the answer, which must be of the kind; its message is one line with all the needles. */
#define expect(answer, kind, ...) \
        answer_expect(__FILE__, __LINE__, (answer), (kind), (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })
#define expect_ok(answer) expect(answer, "ok")
Answer answer_expect(const char *file, int line, Answer a, const char *kind, const char *const *needles);
/* The same, for an answer of which the test needs no member. */
#define assert_ok(answer)               answer_drop(expect_ok(answer))
#define assert_fails(answer, kind, ...) answer_drop(expect(answer, kind __VA_OPT__(, ) __VA_ARGS__))
void answer_drop(Answer a);
/* The same, for an answer of which the test compares one member. */
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

/* Compares all counts of a walk except "modified". A count that is not given has to be 0. */
#define assert_counts(counts, ...) counts_check(__FILE__, __LINE__, &(counts), &(const WalkCounts){ __VA_ARGS__ })
void counts_check(const char *file, int line, const WalkCounts *a, const WalkCounts *e);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <glib.h>
#include <systemd/sd-bus.h>

#include "wire/messages.h"

/* What the tests as root share: a mount namespace in which all they do stays and goes with them, images, a worker, and
 * the other end of its connections, where the test plays selvold. SELinux is off where they run; tests/vm has the rest. */

#define TEST_DIR     "/run/selvol-test"
#define TEST_TARGETS TEST_DIR "/targets"
#define TEST_IMAGES  TEST_DIR "/images"

/* Ends the program with errno if a system call fails. */
#define must(expression)                                                                              \
        G_STMT_START {                                                                                \
                if ((expression) < 0)                                                                 \
                        g_error("%s:%i: %s: %s", __FILE__, __LINE__, #expression, g_strerror(errno)); \
        }                                                                                             \
        G_STMT_END

/* Puts the process into a private mount namespace with an empty /run, in which the directories above are. Prints why
 * and returns false if that can't be done here: main() is to return 77 then. */
bool test_enter(void);

/* Runs a program; returns whether it succeeded. */
bool run(const char *program, ...) G_GNUC_NULL_TERMINATED;
bool has_program(const char *name);
char *path_printf(const char *format, ...) G_GNUC_PRINTF(1, 2);

/* Makes an image with a file system (NULL: with none), or marks the test as skipped and returns NULL. */
char *make_image(const char *name, const char *fs_type);
char *make_target(const char *name);
/* Attaches the image to a loop device, which goes with *ret_fd. */
char *attach_loop(const char *image, int *ret_fd);
bool is_mounted(const char *path);
bool is_read_only(const char *path);
uint64_t mount_id_of(const char *path);
/* How many mounts the namespace has beneath the targets. */
size_t count_mounts(void);
/* How many loop devices there are over the image. */
size_t count_loops(const char *image);

typedef struct Worker {
        pid_t pid;
        char *socket;
} Worker;

/* Starts a worker with the shipped configuration, roots of the test, and a drop-in (NULL: none); behind the words of
 * wrapper, if not NULL. */
Worker *worker_start(const char *dropin, const char *const *wrapper);
/* Under strace(1) with this injection ("inject=fsync:signal=KILL:when=1"), on the side: the worker stays our child. Or
 * marks the test as skipped and returns NULL. */
Worker *worker_start_traced(const char *injection);
/* Stops it and checks that it ends well. */
void worker_stop(Worker *w);
/* The child of the only connection there is. */
pid_t worker_find_child(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Worker, worker_stop)

sd_bus *worker_dial(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus, sd_bus_close_unref)

/* --- one operation --- */

/* What is asked of the worker with Mount, Adopt or Change, and what it is answered to Plan. */
typedef struct Arguments {
        const char *source, *fs_type, *target;
        MountIdentity expected;
        /* The answer */
        PlanVerdict verdict;
        const char *options; /* separated by commas */
        const char *context;
        bool read_only;
        const char *share; /* NULL: for Change the target, otherwise none */
        uint64_t share_id;
        MarkChange change;
        FilesWanted files; /* see wanted_labels() and wanted_group(); nothing is wanted if all is 0 */
        const Reliance *reliances;
        size_t n_reliances;
        uint64_t entries_per_sec;
        bool suppose_seclabel; /* the first answer only */
        /* Questions that stay without an answer, until operation_answer() */
        bool hold_plan, hold_ready;
} Arguments;

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
        unsigned n_plans, n_ready, n_decided, n_marked, n_publishing, n_progress;
        PlanQuestion question; /* the last one of each */
        ReadyNote ready;
        FilesDecision decided;
        Mark marked;
        MountIdentity publishing;
        WalkCounts progress;
        uint64_t total;
} Heard;

/* How it ended. */
typedef struct Answer {
        const char *kind; /* "ok", the failure's kind, or "gone": the connection ended without a reply */
        char *message;    /* of a failure */
        Heard heard;
        PlanQuestion question; /* the last one */
        /* Of Mount, Adopt and Change; outcome and mark also of Inspect, walk of Verify */
        bool repeated, walked;
        MountOutcome outcome;
        Mark mark;
        FilesDecision files;
        char *detail;
        WalkResult walk;
        /* Of Verify */
        bool matches;
        char *actual, *not_reset;
        MarkChange reset;
        /* Of Inspect and Unmount */
        Node node;
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
Answer call_adopt(const Worker *w, const Arguments *a);
Answer call_change(const Worker *w, const Arguments *a);
/* A Mount that ends with the plan: "ok" if it was asked for one. */
Answer call_observe(const Worker *w, const char *source, const char *fs_type, const char *target);
Answer call_inspect(const Worker *w, const char *target);
Answer call_verify(const Worker *w, const VerifyCall *call);
/* id 0: whichever is there. */
Answer call_unmount(const Worker *w, const char *target, uint64_t id);

static inline VerifyCall verify_labels(const char *path, const char *context, VerifyDepth depth) {
        return (VerifyCall){ .path = (char *) path, .expected = (char *) context, .depth = depth, .gid = GID_NONE };
}

/* Reads until the end of the connection, which the worker promises comes when the child is gone. */
void wait_for_end(sd_bus *bus);

#define assert_answer(answer, expected)                                                                 \
        G_STMT_START {                                                                                  \
                const Answer *_a_ = &(answer);                                                          \
                if (g_strcmp0(_a_->kind, expected) != 0)                                                \
                        g_error("%s:%i: %s instead of %s: %s", __FILE__, __LINE__, _a_->kind, expected, \
                                _a_->message);                                                          \
        }                                                                                               \
        G_STMT_END

/* Checks that the message is one line and has the needle in it. */
#define assert_message(answer, needle)                                                              \
        G_STMT_START {                                                                              \
                const Answer *_a_ = &(answer);                                                      \
                if (!_a_->message || !strstr(_a_->message, needle) || strchr(_a_->message, '\n'))   \
                        g_error("%s:%i: no '%s' in: %s", __FILE__, __LINE__, needle, _a_->message); \
        }                                                                                           \
        G_STMT_END

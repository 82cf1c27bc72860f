/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <glib.h>
#include <systemd/sd-bus.h>

#include "model/observed.h"
#include "daemon/worker-client.h"

/* What the tests as root share: a mount namespace in which all they do stays and goes with them, images, a worker,
 * and its client. SELinux is off where they run; tests/vm has the rest. */

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
/* Stops it and checks that it ends well. */
void worker_stop(Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Worker, worker_stop)

sd_bus *worker_dial(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus, sd_bus_close_unref)

/* Each returns "ok" or the failure's kind (in message the text, if not NULL; to be freed). */
typedef struct Answer {
        const char *kind;
        char *message;
        Node node;
        Observed observed;
        MountOutcome outcome;
        bool flag;
        RecordFound found;
        char *record;
        WalkResult walk;
        MapResult mapped;
        char *text;
} Answer;

void answer_done(Answer *a);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Answer, answer_done)

Answer call_observe(sd_bus *bus, const char *source, const char *fs_type, const char *target);

typedef struct MountArguments {
        const char *source, *fs_type, *target;
        const char *options; /* separated by commas */
        const char *context;
        bool read_only;
        const char *share;
        uint64_t share_id;
        const char *effect; /* NULL: keep */
} MountArguments;

Answer call_mount(sd_bus *bus, const MountArguments *a);
/* Sends it, without waiting for the answer, which goes to *ret (may be NULL), to be unreferenced.
 */
void send_mount(sd_bus *bus, const MountArguments *a, sd_bus_message **ret);
/* The same of any call, which is taken over. */
void send_call(sd_bus *bus, sd_bus_message *call, sd_bus_message **ret);
Answer call_stage(sd_bus *bus, const MountArguments *a);
Answer call_publish(sd_bus *bus, const char *effect);
Answer call_mark(sd_bus *bus, const char *target, uint64_t mount_id, const char *effect);
Answer call_inspect(sd_bus *bus, const char *target);
/* Depth root. */
Answer call_verify(sd_bus *bus, const char *path, const char *context);
Answer call_verify_depth(sd_bus *bus, const char *path, const char *context, const char *depth);
Answer call_verify_group(sd_bus *bus, const char *path, const char *context, const char *depth, gid_t gid);
/* What Map says; "" for an error. */
Answer call_map(sd_bus *bus, gid_t from, gid_t to);
Answer call_map_any_mode(sd_bus *bus, gid_t from, gid_t to);

typedef struct ChangeArguments {
        const char *target; /* NULL: what is staged */
        uint64_t mount_id;
        const char *context; /* NULL: labels are left alone */
        bool owned;          /* files are given to the group */
        gid_t gid;
        gid_t disk_gid; /* 0: the same */
        bool read_only;
        bool blind;
        uint64_t generation;
        uint64_t entries_per_sec;
        const char *effect; /* NULL: keep */
} ChangeArguments;

Answer call_change(sd_bus *bus, const ChangeArguments *a);
/* As send_mount(). */
void send_change(sd_bus *bus, const ChangeArguments *a, sd_bus_message **ret);

/* Reads until the end of the connection, which the worker promises comes when the child is gone. */
void wait_for_end(sd_bus *bus);
Answer call_unmount(sd_bus *bus, const char *target, uint64_t id);

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

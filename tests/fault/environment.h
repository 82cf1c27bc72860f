/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <gio/gio.h>

#include "model.h"

/* Volumes, a bus, selvold and selvol-worker, in a mount namespace of the test's own: whatever happens to the test, the
 * processes end with it, the namespace with them, and the loop devices with the namespace. */

typedef struct TestVolume {
        char *id, *source;
        const char *fs_type;
        bool image; /* or else a tmpfs */
} TestVolume;

typedef struct Environment {
        char *directory; /* all of it, but for selvold's state */
        char *bystander, *peek;
        char *targets[TARGETS];
        TestVolume volumes[VOLUMES];
        GDBusConnection *bus;
        GPid worker, daemon;
        const char *preload; /* a library for both, or NULL */
        bool slow;           /* how selvold or the worker is started next */
        int worker_end;      /* is at its end when the worker and all its children are gone */
} Environment;

/* What can be killed. */
typedef enum Victim { VICTIM_DAEMON, VICTIM_WORKER, VICTIM_CHILD, VICTIMS } Victim;
extern const char *const victim_names[VICTIMS];

/* Ends the program with errno if a system call fails. */
#define must(expression)                                                                              \
        G_STMT_START {                                                                                \
                if ((expression) < 0)                                                                 \
                        g_error("%s:%i: %s: %s", __FILE__, __LINE__, #expression, g_strerror(errno)); \
        }                                                                                             \
        G_STMT_END

/* Runs the main loop for a time, or until the condition holds, which is the value. */
void pause_usec(int64_t usec);
#define WAIT_FOR(condition, seconds)                                                \
        ({                                                                          \
                int64_t _end_ = g_get_monotonic_time() + (seconds) *G_USEC_PER_SEC; \
                bool _ok_;                                                          \
                while (!(_ok_ = (condition)) && g_get_monotonic_time() < _end_)     \
                        pause_usec(5000);                                           \
                _ok_;                                                               \
        })

/* Prints why and returns false if this machine can't run the test. */
bool environment_enter(void);
void environment_start(Environment *e);
void environment_stop(Environment *e);

GDBusConnection *environment_connect(const Environment *e);
/* NO_TARGET if the path is none. */
int environment_find_target(const Environment *e, const char *path);
/* Runs a program; returns whether it succeeded. */
bool run(const char *program, ...) G_GNUC_NULL_TERMINATED;

unsigned environment_count_children(const Environment *e);
/* The child of the worker that waits for a connection; 0 if there is none. */
pid_t environment_find_spare(const Environment *e);
/* A child of the worker, rather the youngest one, as a pidfd; -1 if there is none. */
int environment_pick_child(const Environment *e, GRand *rand);
/* Returns whether the victim was there. */
bool environment_kill(Environment *e, Victim v, int child);
/* Starts what was killed; slow: it is delayed at certain system calls. */
void environment_restart(Environment *e, Victim v, bool slow);
/* Removes the state of a selvold that does not run. */
void environment_lose_state(void);
/* Whether selvold and the worker run and have not complained; if not, *ret says what it is. */
bool environment_is_sound(const Environment *e, const char **ret);
/* Whether selvold or the worker has ended by itself, and how: 0 if not, else its exit status, or 128 and the signal. */
int environment_has_ended(const Environment *e, Victim v);
void environment_print_log(const Environment *e);

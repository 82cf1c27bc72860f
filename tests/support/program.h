/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <glib.h>

/* Programs that a test runs or starts. What it starts ends with it, whatever happens to the test. */

/* Ends the program with errno if a system call fails. */
#define must(expression)                                                                              \
        G_STMT_START {                                                                                \
                if ((expression) < 0)                                                                 \
                        g_error("%s:%i: %s: %s", __FILE__, __LINE__, #expression, g_strerror(errno)); \
        }                                                                                             \
        G_STMT_END

/* Runs a program; returns whether it succeeded. */
bool run(const char *program, ...) G_GNUC_NULL_TERMINATED;
bool run_words(char **argv);
bool has_program(const char *name);

typedef struct Launch {
        const char *const *wrapper;     /* words before the program's, such as those of strace(1); NULL: none */
        const char *const *environment; /* NAME=VALUE, or NAME alone, which it does not get; NULL: the test's own */
        const char *log;                /* the file to which goes what it prints; NULL: where the test prints */
        int inherited;                  /* a descriptor that it gets as 3, or 0 */
} Launch;

/* how may be NULL. */
GPid launch(const Launch *how, const char *program, ...) G_GNUC_NULL_TERMINATED;
/* Sends the signal and waits for the end; returns the status, as wait(2) has it. */
int program_end(GPid pid, int signal_number);
/* How it has ended by itself: its exit status, or 128 and the signal; -1 if it has not. */
int program_get_end(GPid pid);
/* Its memory in KiB; 0 of one that is gone. */
long program_memory(GPid pid);
/* Ends the test, and says what the program is at: the end of its log, and what the kernel knows. */
G_NORETURN void program_give_up(GPid pid, const char *log, const char *why);
/* The last lines, as comments. */
void print_log(const char *log);

typedef enum Children {
        CHILDREN_ALL,
        CHILDREN_SERVING,
        CHILDREN_SPARE /* selvol-worker's, that waits for a call */
} Children;
/* The pids of a program's children, oldest first; none of one that is gone. */
GStrv list_children(GPid pid, Children which);
unsigned count_children(GPid pid, Children which);
/* The only one; 0 if there is none, or several. */
pid_t find_child(GPid pid, Children which);
/* The same once there is one. */
pid_t wait_for_child(GPid pid, Children which);

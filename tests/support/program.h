/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#include <glib.h>

/* A test runs programs to their end, or starts them. Started programs end with the test, whatever happens to
 * it. */

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
        const char *const *wrapper;     /* words before the program, such as those of strace(1); NULL: none */
        const char *const *environment; /* NAME=VALUE sets a variable, NAME alone removes one; NULL: none */
        const char *log;                /* the program prints to this file; NULL: where the test prints */
        int inherited;                  /* the program gets this descriptor as 3; 0: none */
} Launch;

/* how may be NULL. */
GPid launch(const Launch *how, const char *program, ...) G_GNUC_NULL_TERMINATED;
/* Sends the signal and waits for the end; returns the status, as wait(2) has it. */
int program_end(GPid pid, int signal_number);
/* Returns the exit status of a program that has ended by itself, or 128 + the signal; -1 if it has not
 * ended. */
int program_get_end(GPid pid);
/* Returns the memory of a program in KiB; 0 if it has ended. */
long program_memory(GPid pid);
/* Returns the most memory that a program has had, in KiB; 0 if it has ended. */
long program_peak(GPid pid);
/* Ends the test, and prints the end of the program's log and its state in /proc. */
G_NORETURN void program_give_up(GPid pid, const char *log, const char *why);
/* Prints the last lines of a log as comments of TAP. */
void print_log(const char *log);

typedef enum Children {
        CHILDREN_ALL,
        CHILDREN_SERVING,
        CHILDREN_SPARE /* the child of selvol-worker that waits for a call */
} Children;
/* Returns the pids of a program's children, the oldest first; none if the program has ended. */
GStrv list_children(GPid pid, Children which);
unsigned count_children(GPid pid, Children which);
/* Returns the only child; 0 if there is none, or several. */
pid_t find_child(GPid pid, Children which);
/* Waits until there is exactly one child, and returns it. */
pid_t wait_for_child(GPid pid, Children which);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Spares: children that wait for a connection. The server forks one in advance, and a child that has ended
 * its operation cleanly becomes one again: fork(2), the page faults of a new process and its end take longer
 * than a mount. A connection comes by the socket between the server and the child (unix(7), SCM_RIGHTS); on
 * the same socket the child says that it can take another one.
 *
 * A child is clean if it has nothing of the operation any more. The child looks itself, as only the child
 * can see all of it: descriptors (a detached mount is one), mount namespace, threads, processes that it has
 * started. Everything else ends a child: an operation that failed or was canceled, a reload, CALLS_OF_CHILD.
 * A child that a hostile file system has taken over could say that it is clean; but all children have the
 * same rights, and selvold checks what a child says. */

enum {
        SPARES_MAX = 32,      /* more become idle only in a storm, and end by themselves */
        CALLS_OF_CHILD = 100, /* what a library leaks in one operation does not add up */
        SPARE_SEC = 5,        /* all but one end when none was used for so long */
};

typedef struct Spare {
        pid_t pid;
        int fd; /* the server's end of the socket; closed, it ends the child */
} Spare;

typedef struct Spares {
        Spare list[SPARES_MAX]; /* the last one was used last */
        size_t n;
        bool used; /* since spares_trim() looked */
} Spares;

/* Takes the child over; when there is no room for it, it ends. */
void spares_add(Spares *s, Spare spare);
/* Gives fd to the spare that was used last, and leaves those out that are dead. Returns 0, with the spare,
 * which is the caller's then; -ENOENT if there is none; or another negative errno. */
int spares_give(Spares *s, int fd, Spare *ret) _warn_unused_;
/* Forgets a child that has ended. */
void spares_forget(Spares *s, pid_t pid);
/* Ends all but keep. */
void spares_end(Spares *s, size_t keep);
/* Called each SPARE_SEC: ends all but one if none was used meanwhile. Returns whether there are more. */
bool spares_trim(Spares *s);

/* Receives a descriptor in the child. Returns the descriptor; -ENOTCONN if the server does not need the
 * child any more; or another negative errno. */
int spare_receive(int socket) _warn_unused_;
/* Tells the server that the child can take another connection. Returns 0 or a negative errno: -EPIPE if the
 * server does not want that. */
int spare_offer(int socket) _warn_unused_;

/* The things that a child has. */
typedef struct Belongings {
        size_t n_descriptors;
        char namespace[32]; /* the link /proc/self/ns/mnt */
} Belongings;

/* Returns 0 or a negative errno. */
int belongings_read(Belongings *ret) _warn_unused_;
/* Whether the child has just what it had, is a single thread, and has never started a process. */
bool belongings_are_same(const Belongings *before);

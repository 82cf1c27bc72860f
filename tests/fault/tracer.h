/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

/* A tracer stops a thread at each of its system calls; see ptrace(2). */

typedef struct Tracer {
        pid_t pid;   /* of the thread; 0: none */
        bool own;    /* the thread is a child of this process, whose other code waits for its end */
        bool inside; /* the thread is in a system call */
        int inject;  /* the error of that call, 0: none */
} Tracer;

typedef enum Stop {
        STOP_NONE,  /* the thread runs */
        STOP_CALL,  /* the thread is about to make a system call */
        STOP_OTHER, /* the caller only has to continue the thread */
        STOP_ENDED, /* the thread has ended */
} Stop;

typedef struct Call {
        pid_t pid;
        long number;
        int fd;        /* the first argument */
        int operation; /* the second one, of epoll_ctl(2) */
} Call;

/* Tells whether tracer_fail() works on this architecture. */
bool tracer_can_fail(void);
/* Returns whether the thread was there. See Tracer about own. */
bool tracer_attach(Tracer *t, pid_t pid, bool own);
/* Sets *call at STOP_CALL. */
Stop tracer_poll(Tracer *t, Call *call);
/* The thread does not make the call at which it has stopped, and gets the error. */
void tracer_fail(Tracer *t, int error);
void tracer_continue(Tracer *t);
void tracer_detach(Tracer *t);

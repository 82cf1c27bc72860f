/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <sys/types.h>

/* Stops a thread at each of its system calls; see ptrace(2). */

typedef struct Tracer {
        pid_t pid;   /* of the thread; 0: none */
        bool own;    /* a child of this process, which waits for its end itself */
        bool inside; /* of a system call */
        int inject;  /* what that call is to fail with, 0: nothing */
} Tracer;

typedef enum Stop {
        STOP_NONE,  /* the thread runs */
        STOP_CALL,  /* it is about to make a system call */
        STOP_OTHER, /* there is nothing to decide on */
        STOP_ENDED, /* it has ended */
} Stop;

typedef struct Call {
        pid_t pid;
        long number;
        int fd;        /* the first argument */
        int operation; /* the second one, of epoll_ctl(2) */
} Call;

/* Whether tracer_fail() can be used on this machine. */
bool tracer_can_fail(void);
/* own: it is a child of this process, and its end is not the tracer's to wait for. Returns whether the thread was there. */
bool tracer_attach(Tracer *t, pid_t pid, bool own);
/* call: what it is about to make. */
Stop tracer_poll(Tracer *t, Call *call);
/* Makes the call that it is stopped at fail, without being made. */
void tracer_fail(Tracer *t, int error);
/* Lets it go on after a stop. */
void tracer_continue(Tracer *t);
void tracer_detach(Tracer *t);

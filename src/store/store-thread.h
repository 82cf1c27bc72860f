/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* A thread that does one thing after the other, each of which may block, for an owner who doesn't. */
typedef struct Thread Thread;

/* The first member of a struct with what there is to do. */
typedef struct Task {
        struct Task *next;
        void (*run)(struct Task *t);  /* on the thread */
        void (*done)(struct Task *t); /* on the owner's, afterwards; frees the task */
} Task;

int thread_start(Thread **ret) _warn_unused_;
/* Waits until everything queued has been done. */
Thread *thread_stop(Thread *t);

void thread_queue(Thread *t, Task *task);
/* Readable when there is something to dispatch. */
int thread_get_fd(const Thread *t);
/* Calls done() of what has been run. */
void thread_dispatch(Thread *t);
/* Waits until everything queued has been run, and dispatches it. */
void thread_wait(Thread *t);

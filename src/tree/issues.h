/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "basic/cleanup.h"
#include "model/walk.h"

/* What went wrong in a walk: all errors are counted, the first entries named. */
typedef struct Issues {
        pthread_mutex_t lock;
        WalkIssue *list; /* room for WALK_ISSUES_MAX */
        atomic_uint n;
        _Atomic uint64_t failed;
} Issues;

int issues_init(Issues *i) _warn_unused_;
void issues_done(Issues *i);

static inline bool issues_are_full(const Issues *i) {
        return atomic_load(&i->n) >= WALK_ISSUES_MAX;
}

/* Names an entry, if it is one of the first; path and text are taken over, and without a path it is not named. */
void issues_add(Issues *i, char *path, char *text, int error);
/* Moves the list to *ret; none can be added any more. */
void issues_take(Issues *i, WalkResult *ret);

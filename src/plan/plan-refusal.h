/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Refusals because of other users of a volume, in two lines: who has the volume, and what to do. The same
 * words are in the answer, the journal and the history. */

/* Describes the holder of a conflict, "pod-A", with the volume if that is another one. Returns a new string,
 * NULL on lack of memory. */
char *plan_describe_holder(const Conflict *c, const char *volume) _warn_unused_;

/* Describes a conflict of the volume: "pod-A with USE since TIME"; use NULL: "pod-A since TIME". Returns a
 * new string, NULL on lack of memory. */
char *plan_describe_use(const Conflict *c, const char *volume, const char *use) _warn_unused_;

/* Describes how the conflict ends: "Stop pod-A". An unmount alone would take the volume from who uses it.
 * Returns a new string, NULL on lack of memory. */
char *plan_describe_end(const Conflict *c) _warn_unused_;

/* A refusal in words. */
typedef struct Refusal {
        const char *volume; /* the requested one */
        const char *shown;  /* the one whose holders selvolctl shows; NULL: the same */
        const char *use;    /* plan_describe_use() of the first conflict */
        size_t n_more;      /* further conflicts */
        const char *wish;   /* "s0:c1,c2" */
        const char *end;    /* plan_describe_end() of the first conflict */
        const char *same;   /* "use its level"; NULL: that does not help */
        bool may_wait;      /* the caller can pass WaitUSec */
} Refusal;

/* Fails with that message. A string that is NULL is taken for lack of memory. Returns kind or -ENOMEM. */
int plan_refuse(const Refusal *r, FailureKind kind, Failure *f) _warn_unused_;

/* Fails with a message about the plan's conflicts. q: the request, which can wait for their end; NULL: the
 * caller can't. Returns CONTEXT_CONFLICT or -ENOMEM. */
int plan_conflict_failure(const char *volume, const Plan *p, const Request *q, Failure *f) _warn_unused_;

/* Fails with a message about a mount that the worker can't see: it has the volume's last use. search: how to
 * find the process. Returns CONTEXT_CONFLICT or -ENOMEM. */
int plan_hidden_conflict(const Volume *own, const Plan *p, const char *search, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include "model/failure.h"
#include "model/limits.h"

/* SELinux contexts as text: "user:role:type:level", or "user:role:type" where the policy has no levels.
 * selvol keeps contexts canonical, as the kernel prints them (security/selinux/ss/mls.c, mls_sid_to_context):
 * categories ascending, three and more in a row as "cA.cB", a range of two equal levels as one level. Two
 * canonical contexts are equal if and only if their strings are. */

typedef enum ContextPart { CONTEXT_USER, CONTEXT_ROLE, CONTEXT_TYPE, CONTEXT_LEVEL, CONTEXT_PARTS } ContextPart;

/* Checks a level or range of levels (s0:c1,c2 or s0-s0:c0.c1023; sensitivities s0 to s15, categories c0 to
 * c1023) and makes it canonical. Returns 0, -ENOMEM, or INVALID_CONTEXT with the mistake in the failure. */
int level_canonicalize(const char *level, char **ret, Failure *f) _warn_unused_;

/* Checks a full context and makes it canonical. Only the worker can check its parts against the loaded
 * policy. Returns the same as level_canonicalize(). */
int context_canonicalize(const char *context, char **ret, Failure *f) _warn_unused_;

/* Returns a part of a context as a new string; "" if the context lacks the part, NULL on lack of memory. */
char *context_part(const char *context, ContextPart part) _warn_unused_;

/* Completes a context as go-selinux does: user and level are the caller's (NULL or "": the policy's), role
 * and type are always those of file_context, the policy's context for container files. Returns the same as
 * context_canonicalize(). */
int context_complete(const char *file_context, const char *user, const char *level, char **ret,
                     Failure *f) _warn_unused_;

/* Whether a holder with one context loses access when selvol labels the volume for the other. Contexts may be
 * incomplete or "": levels are always compared, users, roles and types only if both contexts have them
 * (KEP-1710, "Conflicts with other Pods"). */
bool contexts_conflict(const char *a, const char *b);

/* Whether s is a usable user, role or type name: 1 to 255 of [A-Za-z0-9_.-]. */
bool context_name_is_valid(const char *s) _pure_;

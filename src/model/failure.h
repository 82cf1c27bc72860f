/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "basic/string-util.h"

/* Kinds of failures. A function's caller handles a failure or passes it on; a negative errno is fatal. On
 * D-Bus, a failure is the error org.selvol1.Error.KIND with the message. */
typedef enum FailureKind {
        FAILURE_NONE,
        FAILURE_CONTEXT_CONFLICT,
        FAILURE_GROUP_CONFLICT, /* another holder relies on another group */
        FAILURE_LEVEL_REQUIRED,
        FAILURE_INVALID_CONTEXT,
        FAILURE_INVALID_VOLUME,
        FAILURE_INVALID_TARGET,
        FAILURE_INVALID_OPTION,
        FAILURE_PATH_NOT_ALLOWED,
        FAILURE_TYPE_NOT_ALLOWED,
        FAILURE_NO_SUCH_VOLUME,
        FAILURE_NO_SUCH_JOB,
        FAILURE_BUSY,
        FAILURE_INCOMPATIBLE,
        FAILURE_SOURCE_CHANGED, /* the source has another file system than the record */
        FAILURE_MOUNT_FAILED,
        FAILURE_CONTEXT_DROPPED,
        FAILURE_LABEL_MISMATCH,
        FAILURE_NOT_SUPPORTED,
        FAILURE_ENTRIES_FAILED, /* some files could not be changed */
        FAILURE_NOT_PROPAGATING,
        FAILURE_SELINUX_DENIED,
        FAILURE_STORE_FAILED,
        FAILURE_WORKER_FAILED,
        FAILURE_TIMED_OUT,
        FAILURE_CANCELED,
        FAILURE_LIMIT_REACHED,
        FAILURE_KINDS,
} FailureKind;

DECLARE_STRING_TABLE(failure_kind, FailureKind);

typedef struct Failure {
        FailureKind kind;
        char *message; /* what is wrong and what to do, in one line or two; outside strings are escaped */
} Failure;

/* Whether the caller passed wrong arguments. The answer is valid only if the job has not changed anything yet
 * and if, for path and type errors, the path or type came from the call. */
bool failure_is_of_caller(FailureKind kind) _pure_;

/* Fills the failure and replaces an earlier one. Escapes what is not clean in the message
 * (text_is_clean()), such as a volume id. Returns kind, which is positive, or -ENOMEM: so a function can
 * end with "return failure_set(...)". */
int failure_set(Failure *f, FailureKind kind, const char *format, ...) _printf_(3, 4);

/* Like failure_set(), for a message of two lines: what happened, and what to do. Only this line break is not
 * escaped. Where a message has to be one line, text_join_lines() makes a blank of it. what or remedy may be
 * NULL for lack of memory. */
int failure_set_lines(Failure *f, FailureKind kind, const char *what, const char *remedy);

/* Like failure_set(), for the message of a peer's failure, which may have two lines. */
int failure_set_received(Failure *f, FailureKind kind, const char *message);

/* Like failure_set(), for a message about one string from outside, mostly a path. Escapes the string; format
 * has one %s for it. */
#define failure_set_about(f, kind, string, format)                             \
        ({                                                                     \
                _cleanup_free_ char *_escaped_ = string_escape(string, 200);   \
                _escaped_ ? failure_set(f, kind, format, _escaped_) : -ENOMEM; \
        })
void failure_done(Failure *f);

#define _cleanup_failure_ _cleanup_(failure_done)

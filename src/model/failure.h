/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "basic/string-util.h"

/* A result that the caller handles or hands to its own caller, as opposed to a negative errno, which is
 * fatal. On D-Bus it is the error org.selvol1.Error.KIND with the message. */
typedef enum FailureKind {
        FAILURE_NONE,
        FAILURE_CONTEXT_CONFLICT,
        FAILURE_GROUP_CONFLICT, /* somebody else has the files in another group */
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
        FAILURE_MOUNT_FAILED,
        FAILURE_CONTEXT_DROPPED,
        FAILURE_LABEL_MISMATCH,
        FAILURE_NOT_SUPPORTED,
        FAILURE_ENTRIES_FAILED, /* some files could not be changed */
        FAILURE_NOT_PROPAGATING,
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
        char *message; /* says what was wrong and what to do; strings from outside are escaped in it */
} Failure;

/* Whether the call itself is at fault, which nothing that was done or is the matter with the volume has to
 * do with; if nothing was done yet, that is, and a path or a type is one that was passed. */
bool failure_is_of_caller(FailureKind kind) _pure_;

/* Fills the failure, replacing an earlier one. A message that is not clean (text_is_clean()) is escaped as
 * a whole. Returns kind, which is positive, or -ENOMEM; so a function can end with "return
 * failure_set(...)". */
int failure_set(Failure *f, FailureKind kind, const char *format, ...) _printf_(3, 4);

/* The same about one string from outside, mostly a path, for which format has one %s: it is escaped. */
#define failure_set_about(f, kind, string, format)                             \
        ({                                                                     \
                _cleanup_free_ char *_escaped_ = string_escape(string, 200);   \
                _escaped_ ? failure_set(f, kind, format, _escaped_) : -ENOMEM; \
        })
void failure_done(Failure *f);

#define _cleanup_failure_ _cleanup_(failure_done)

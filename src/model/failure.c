/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stdarg.h>

#include "model/failure.h"

static const char *const failure_kind_table[FAILURE_KINDS] = {
        [FAILURE_NONE] = "None",
        [FAILURE_CONTEXT_CONFLICT] = "ContextConflict",
        [FAILURE_GROUP_CONFLICT] = "GroupConflict",
        [FAILURE_LEVEL_REQUIRED] = "LevelRequired",
        [FAILURE_INVALID_CONTEXT] = "InvalidContext",
        [FAILURE_INVALID_VOLUME] = "InvalidVolume",
        [FAILURE_INVALID_TARGET] = "InvalidTarget",
        [FAILURE_INVALID_OPTION] = "InvalidOption",
        [FAILURE_PATH_NOT_ALLOWED] = "PathNotAllowed",
        [FAILURE_TYPE_NOT_ALLOWED] = "TypeNotAllowed",
        [FAILURE_NO_SUCH_VOLUME] = "NoSuchVolume",
        [FAILURE_NO_SUCH_JOB] = "NoSuchJob",
        [FAILURE_BUSY] = "Busy",
        [FAILURE_INCOMPATIBLE] = "Incompatible",
        [FAILURE_SOURCE_CHANGED] = "SourceChanged",
        [FAILURE_MOUNT_FAILED] = "MountFailed",
        [FAILURE_CONTEXT_DROPPED] = "ContextDropped",
        [FAILURE_LABEL_MISMATCH] = "LabelMismatch",
        [FAILURE_NOT_SUPPORTED] = "NotSupported",
        [FAILURE_ENTRIES_FAILED] = "EntriesFailed",
        [FAILURE_NOT_PROPAGATING] = "NotPropagating",
        [FAILURE_SELINUX_DENIED] = "SELinuxDenied",
        [FAILURE_STORE_FAILED] = "StoreFailed",
        [FAILURE_WORKER_FAILED] = "WorkerFailed",
        [FAILURE_TIMED_OUT] = "TimedOut",
        [FAILURE_CANCELED] = "Canceled",
        [FAILURE_LIMIT_REACHED] = "LimitReached",
};

DEFINE_STRING_TABLE(failure_kind, FailureKind);

/* InvalidVolume is missing here: it also stands for a source that does not exist or has no file system. The
 * node's administrator has to know about such a source. */
bool failure_is_of_caller(FailureKind kind) {
        switch (kind) {
        case FAILURE_LEVEL_REQUIRED:
        case FAILURE_INVALID_CONTEXT:
        case FAILURE_INVALID_TARGET:
        case FAILURE_INVALID_OPTION:
        case FAILURE_PATH_NOT_ALLOWED:
        case FAILURE_TYPE_NOT_ALLOWED:
        case FAILURE_NO_SUCH_VOLUME:
        case FAILURE_NO_SUCH_JOB:
                return true;
        default:
                return false;
        }
}

int failure_set(Failure *f, FailureKind kind, const char *format, ...) {
        _cleanup_free_ char *message = NULL;
        va_list ap;

        assert(f && format);
        assert(kind > FAILURE_NONE && kind < FAILURE_KINDS);

        va_start(ap, format);
        message = strdup_vprintf(format, ap);
        va_end(ap);
        if (!message)
                return -ENOMEM;
        /* The message contains an unescaped string from outside, such as a file system type with an escape
         * sequence. */
        if (!text_is_clean(message)) {
                char *escaped = text_make_clean(message);

                if (!escaped)
                        return -ENOMEM;
                free(message);
                message = escaped;
        }

        failure_done(f);
        f->kind = kind;
        f->message = TAKE_PTR(message);
        return (int) kind;
}

int failure_set_lines(Failure *f, FailureKind kind, const char *what, const char *remedy) {
        _cleanup_free_ char *first = what ? text_make_clean(what) : NULL;
        int r;

        if (!first || !remedy)
                return -ENOMEM;
        r = failure_set(f, kind, "%s %s", first, remedy);
        if (r > 0)
                f->message[strlen(first)] = '\n';
        return r;
}

int failure_set_received(Failure *f, FailureKind kind, const char *message) {
        const char *end = strchr(message, '\n');
        _cleanup_free_ char *what = NULL;

        if (!end)
                return failure_set(f, kind, "%s", message);
        what = strndup(message, (size_t) (end - message));
        return failure_set_lines(f, kind, what, end + 1);
}

void failure_done(Failure *f) {
        assert(f);

        free(f->message);
        *f = (Failure){ 0 };
}

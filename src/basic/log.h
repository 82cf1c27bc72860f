/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <syslog.h>

#include "basic/string-util.h"

/* One field of a journal record besides MESSAGE= and PRIORITY=. Fields with a NULL or empty value are left
 * out. */
typedef struct LogField {
        const char *name; /* e.g. "SELVOL_VOLUME" */
        const char *value;
} LogField;

/* Messages of lower priority than the level are dropped. The level is LOG_INFO at first. */
int log_get_level(void) _pure_;
/* Sets the level by name ("emerg" to "debug") or number (0 to 7), like systemd. Returns 0, or -EINVAL without
 * a change. */
int log_set_level_from_string(const char *s);
/* Sets the level from $SELVOL_LOG_LEVEL, if that is set. Logs and ignores a value that is not a level. */
void log_set_level_from_environment(void);
DECLARE_STRING_TABLE(log_level, int);

/* The destination of messages: "journal", or "console" for standard error. */
const char *log_get_target(void);

/* Adds fields to all further records of this process, in place of those that an earlier call added. Copies
 * the values. Returns 0 or -ENOMEM. */
int log_set_common_fields(const LogField *fields, size_t n);

/* Writes one record: to the journal with all its fields if stderr is connected to the journal
 * ($JOURNAL_STREAM), otherwise the message as a line on stderr. The caller has to escape strings from
 * outside. Never fails. */
void log_fields(int priority, const LogField *fields, size_t n_fields, const char *format, ...) _printf_(4, 5);

#define log_full(priority, ...) log_fields(priority, NULL, 0, __VA_ARGS__)
#define log_debug(...)          log_full(LOG_DEBUG, __VA_ARGS__)
#define log_info(...)           log_full(LOG_INFO, __VA_ARGS__)
#define log_notice(...)         log_full(LOG_NOTICE, __VA_ARGS__)
#define log_warning(...)        log_full(LOG_WARNING, __VA_ARGS__)
#define log_error(...)          log_full(LOG_ERR, __VA_ARGS__)

/* Logs with %m standing for the error and returns the (negative) error. */
#define log_error_errno(error, ...)                       \
        ({                                                \
                int _error_ = (error);                    \
                errno = _error_ < 0 ? -_error_ : _error_; \
                log_error(__VA_ARGS__);                   \
                _error_ < 0 ? _error_ : -_error_;         \
        })

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

/* Messages of lower priority than the level are dropped; it is LOG_INFO at first. */
int log_get_level(void) _pure_;
/* By name ("emerg" to "debug") or number (0 to 7), as systemd's. Returns 0, or -EINVAL and changes nothing.
 * */
int log_set_level_from_string(const char *s);
/* From $SELVOL_LOG_LEVEL, if it is set. A value that is not a level is logged and otherwise ignored. */
void log_set_level_from_environment(void);
DECLARE_STRING_TABLE(log_level, int);

/* Where messages go: "journal", or "console" for standard error. */
const char *log_get_target(void);

/* Adds fields to all records of this process from now on, in place of those added before. Values are copied.
 * Returns 0 or -ENOMEM. */
int log_set_common_fields(const LogField *fields, size_t n);

/* Writes one record: to the journal with all its fields when stderr is connected to it ($JOURNAL_STREAM),
 * otherwise the message as a line on stderr. Strings from outside must have been escaped by the caller. Never
 * fails. */
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

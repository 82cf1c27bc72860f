/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <syslog.h>

#include "basic/cleanup.h"

/* One field of a journal record besides MESSAGE= and PRIORITY=. Fields with a NULL or empty value are left out. */
typedef struct LogField {
        const char *name; /* e.g. "SELVOL_VOLUME" */
        const char *value;
} LogField;

/* Messages below this priority (LOG_INFO by default) are dropped. Returns the level that was set before. */
int log_set_level(int priority);
int log_get_level(void);

/* Writes one record: to the journal with all its fields when stderr is connected to it ($JOURNAL_STREAM), otherwise
 * the message as a line on stderr. Strings from outside must have been escaped by the caller. Never fails. */
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

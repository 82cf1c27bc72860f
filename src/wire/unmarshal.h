/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "wire/messages.h"

/* What all readers of messages share. The functions return 0, -EBADMSG for what can't be, or another negative errno. */

/* sd-bus returns 0 at the end of a container, where there ought to be something. */
int unmarshal_expect(int r) _warn_unused_;
int unmarshal_enter_struct(sd_bus_message *m, const char *type) _warn_unused_;
int unmarshal_exit_container(sd_bus_message *m) _warn_unused_;

bool unmarshal_context_is_good(const char *context);
/* Whether a string may go on to users and logs: the worker has escaped it, or it isn't the worker. */
bool unmarshal_line_is_good(const char *s);

/* Copies all or none; *ret[i] are overwritten. */
int unmarshal_copy_strings(const char *const *strings, char **const *ret, size_t n) _warn_unused_;

/* A string array of max elements at most, which are copied. Beyond that nothing is read, and the result is -E2BIG: a message has
 * room for millions, and sd_bus_message_read_strv() takes the square of their number. *ret is untouched on failure. */
int unmarshal_strv(sd_bus_message *m, size_t max, char ***ret) _warn_unused_;

/* Room for one more element at the end of a list that has n, and has grown by this only. It is doubled when it is full: how long it
 * gets the other end decides. Returns NULL on lack of memory. */
void *unmarshal_grow(void *list, size_t n, size_t element_size) _warn_unused_;

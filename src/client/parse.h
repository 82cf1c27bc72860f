/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/gid-util.h"
#include "basic/string-util.h"

/* Reads a time such as "20s", "1min 30s" or "500ms"; a bare number is in seconds. Returns 0, -EINVAL or -ERANGE. */
int parse_timespan(const char *s, uint64_t *ret_usec) _warn_unused_;

/* Reads the number of a group. Names are not looked up: groups are the containers', not the host's. Returns 0,
 * -EINVAL or -ERANGE. */
int parse_gid(const char *s, gid_t *ret) _warn_unused_;
#define GID_EXPECTED "the number of a group, at most 4294967294"

/* Whether it is one of the words, which spaces separate. Returns 0 or -EINVAL. */
int parse_word(const char *s, const char *words) _warn_unused_;

/* Splits mount(8)'s -o and appends to the list: commas separate, except within double quotes, which stay, as in
 * ro,context="u:r:t:s0:c1,c2". Empty options are skipped. Returns 0, -ENOMEM, or -EINVAL if a quote is left open. */
int parse_mount_options(const char *s, char ***list) _warn_unused_;

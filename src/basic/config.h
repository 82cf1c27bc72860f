/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* A configuration of [Section] and Key=Value lines, from /etc/PROJECT/PROJECT.conf (or else
 * /usr/lib/PROJECT/PROJECT.conf) and then the drop-ins PROJECT.conf.d/ *.conf of both directories, by name.
 * One in /etc replaces that of the same name in /usr/lib. The last line of a key counts. The lines of a list
 * add up, and a line without a value clears the list. */

typedef struct ConfigKey {
        char *section; /* without brackets; NULL: the key is in no section */
        char *name;    /* NULL: this is the section itself */
        char **values; /* of the lines in force, in their order; a list that was cleared begins with "" */
        char **places; /* "FILE:LINE" of each of them */
} ConfigKey;

typedef struct Config {
        ConfigKey *keys; /* each section, with its keys after it */
        size_t n;
} Config;

/* Reads the configuration; a missing file counts as empty. usr_dir and etc_dir stand for /usr/lib/PROJECT and
 * /etc/PROJECT. is_list tells whether a key has a list. Returns 0, or a negative errno, with the file and the
 * mistake in *ret_text unless it is -ENOMEM. */
int config_load(const char *project, const char *usr_dir, const char *etc_dir, bool (*is_list)(const char *key),
                Config *ret, char **ret_text) _warn_unused_;
void config_done(Config *config);

/* Returns NULL if no line has the key. */
const ConfigKey *config_find(const Config *config, const char *section, const char *name) _pure_;
/* Returns the value in force, of a list with all that add up. The caller owns it; NULL on lack of memory. */
char *config_value(const ConfigKey *key) _warn_unused_;
/* The place of the last line in force. */
const char *config_place(const ConfigKey *key) _pure_;
/* A digest of all values in force, whatever the files, comments and blanks around them. Returns 0 or
 * -ENOMEM. */
int config_digest(const Config *config, uint64_t *ret) _warn_unused_;

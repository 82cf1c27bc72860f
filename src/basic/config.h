/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>

#include "basic/cleanup.h"

/* A configuration of [Section] and Key=Value lines, merged from /etc/PROJECT/PROJECT.conf (or else
 * /usr/lib/PROJECT/PROJECT.conf) and the drop-ins PROJECT.conf.d/ *.conf of both directories. Each key of a
 * later file replaces that of an earlier one. */
typedef struct Config Config;

/* Reads the configuration; a missing file counts as empty. usr_dir and etc_dir replace /usr/lib/PROJECT and
 * /etc/PROJECT (tests). On failure *ret_text has the file and line, if they are known. */
int config_load(const char *project, const char *usr_dir, const char *etc_dir, Config **ret, char **ret_text);
Config *config_free(Config *config);
DEFINE_CLEANUP_FUNC(Config *, config_free);

/* All section names, without brackets. */
int config_sections(const Config *config, char ***ret);
/* All keys of a section; section NULL: the keys before the first section. */
int config_keys(const Config *config, const char *section, char ***ret);
/* The value of a key, owned by the caller. Returns 0, -ENOENT if there is none, or another negative errno. */
int config_get(const Config *config, const char *section, const char *key, char **ret);
/* A digest of all keys and values, whatever the files, comments and blanks around them. Returns 0 or a
 * negative errno. */
int config_digest(const Config *config, uint64_t *ret);
/* "FILE:LINE" of the key whose value is in effect; key NULL: of some key in the section. Returns 0, -ENOENT
 * or -ENOMEM. */
int config_locate(const Config *config, const char *section, const char *key, char **ret);

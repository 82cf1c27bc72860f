/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"

/* A configuration file of [Section] and Key=Value lines, merged from /usr/lib/PROJECT/PROJECT.conf, its
 * replacement /etc/PROJECT/PROJECT.conf, and the drop-ins PROJECT.conf.d/ *.conf of both, later ones winning
 * key by key. */
typedef struct Config Config;

/* Reads the configuration; an absent file is an empty one. usr_dir and etc_dir replace /usr/lib/PROJECT and
 * /etc/PROJECT (tests). On failure *ret_text names the file and line if that is known. */
int config_load(const char *project, const char *usr_dir, const char *etc_dir, Config **ret, char **ret_text);
Config *config_free(Config *config);
DEFINE_CLEANUP_FUNC(Config *, config_free);

/* All section names, without brackets. */
int config_sections(const Config *config, char ***ret);
/* All keys of a section; of NULL, those that stand before any. */
int config_keys(const Config *config, const char *section, char ***ret);
/* The value, owned by the caller; -ENOENT if there is none. */
int config_get(const Config *config, const char *section, const char *key, char **ret);
/* "FILE:LINE" of the key whose value counts; of key NULL, of some key of the section. Returns 0, -ENOENT or
 * -ENOMEM. */
int config_locate(const Config *config, const char *section, const char *key, char **ret);

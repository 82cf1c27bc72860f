/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libeconf.h>

#include "basic/config.h"
#include "basic/string-util.h"

struct Config {
        econf_file *file; /* NULL: no file anywhere */
};

DEFINE_CLEANUP_FUNC(econf_file *, econf_freeFile);

static int econf_to_errno(econf_err e) {
        switch (e) {
        case ECONF_SUCCESS:
                return 0;
        case ECONF_NOMEM:
                return -ENOMEM;
        case ECONF_NOFILE:
        case ECONF_NOGROUP:
        case ECONF_NOKEY:
                return -ENOENT;
        default:
                return -EINVAL;
        }
}

int config_load(const char *project, const char *usr_dir, const char *etc_dir, Config **ret, char **ret_text) {
        _cleanup_(econf_freeFilep) econf_file *file = NULL;
        econf_err e;
        Config *config;

        e = econf_readDirs(&file, usr_dir, etc_dir, project, ".conf", "=", "#");
        if (e != ECONF_SUCCESS && e != ECONF_NOFILE) {
                _cleanup_free_ char *name = NULL;
                uint64_t line = 0;

                econf_errLocation(&name, &line);
                *ret_text = strdup_printf("%s:%llu: %s", strempty(name), (unsigned long long) line, econf_errString(e));
                return *ret_text ? econf_to_errno(e) : -ENOMEM;
        }

        config = malloc(sizeof(*config));
        if (!config)
                return -ENOMEM;
        config->file = e == ECONF_SUCCESS ? TAKE_PTR(file) : NULL;
        *ret = config;
        return 0;
}

Config *config_free(Config *config) {
        if (config) {
                econf_freeFile(config->file);
                free(config);
        }
        return NULL;
}

/* libeconf hands out an array of its own making; ours ends in NULL. */
static int take_list(econf_err e, size_t n, char **list, char ***ret) {
        _cleanup_strv_ char **copy = NULL;
        int r = 0;

        if (e == ECONF_NOKEY || e == ECONF_NOGROUP) {
                *ret = NULL;
                return 0;
        }
        if (e != ECONF_SUCCESS)
                return econf_to_errno(e);

        for (size_t i = 0; i < n && r >= 0; i++)
                r = strv_extend(&copy, list[i]);
        econf_freeArray(list);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(copy);
        return 0;
}

int config_sections(const Config *config, char ***ret) {
        char **list = NULL;
        size_t n = 0;

        if (!config->file) {
                *ret = NULL;
                return 0;
        }
        return take_list(econf_getGroups(config->file, &n, &list), n, list, ret);
}

int config_keys(const Config *config, const char *section, char ***ret) {
        char **list = NULL;
        size_t n = 0;

        if (!config->file) {
                *ret = NULL;
                return 0;
        }
        return take_list(econf_getKeys(config->file, section, &n, &list), n, list, ret);
}

int config_get(const Config *config, const char *section, const char *key, char **ret) {
        char *value = NULL;
        econf_err e;

        if (!config->file)
                return -ENOENT;
        e = econf_getStringValue(config->file, section, key, &value);
        if (e != ECONF_SUCCESS)
                return econf_to_errno(e);
        if (!value) {
                value = strdup("");
                if (!value)
                        return -ENOMEM;
        }
        *ret = value;
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <libeconf.h>
#include <libeconf_ext.h>

#include <inttypes.h>

#include "basic/config.h"
#include "basic/string-util.h"

typedef struct Files {
        econf_file **list;
        size_t n;
} Files;

struct Config {
        Files files; /* in the order of reading: keys of later files win */
        /* The keys of all files, without their places. One of files, or a file of its own; NULL: there are no
         * keys. */
        econf_file *merged;
};

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

static bool is_empty(econf_file *file) {
        char **list = NULL;
        size_t n;

        if (econf_getGroups(file, &n, &list) != ECONF_SUCCESS &&
            econf_getKeys(file, NULL, &n, &list) != ECONF_SUCCESS)
                return true;
        econf_freeArray(list);
        return false;
}

static void merged_free(econf_file *merged, const Files *files) {
        for (size_t i = 0; i < files->n; i++)
                if (files->list[i] == merged)
                        return;
        econf_freeFile(merged);
}

/* Merges the files: keys of later ones replace those of earlier ones. If the first file has no keys,
 * econf_mergeFiles() of libeconf 0.5 reads invalid memory. */
static econf_err merge_files(const Files *files, econf_file **merged) {
        for (size_t i = 0; i < files->n; i++) {
                econf_file *earlier = *merged;
                econf_err e;

                if (is_empty(files->list[i]))
                        continue;
                if (!earlier) {
                        *merged = files->list[i];
                        continue;
                }
                e = econf_mergeFiles(merged, earlier, files->list[i]);
                if (e != ECONF_SUCCESS) {
                        *merged = earlier;
                        return e;
                }
                merged_free(earlier, files);
        }
        return ECONF_SUCCESS;
}

static int describe_error(econf_err e, char **ret_text) {
        _cleanup_free_ char *name = NULL;
        uint64_t line = 0;

        econf_errLocation(&name, &line);
        *ret_text = strdup_printf("%s:%llu: %s", strempty(name), (unsigned long long) line, econf_errString(e));
        return *ret_text ? econf_to_errno(e) : -ENOMEM;
}

int config_load(const char *project, const char *usr_dir, const char *etc_dir, Config **ret, char **ret_text) {
        _cleanup_(config_freep) Config *config = NULL;
        econf_err e;

        assert(project && usr_dir && etc_dir);
        assert(ret && ret_text);

        config = calloc(1, sizeof(*config));
        if (!config)
                return -ENOMEM;
        /* econf_readDirs() is deprecated since libeconf 0.7, but libeconf 0.5 lacks its replacement
         * econf_readConfig(). */
        e = econf_readDirsHistory(&config->files.list, &config->files.n, usr_dir, etc_dir, project, ".conf", "=",
                                  "#");
        if (e == ECONF_SUCCESS)
                e = merge_files(&config->files, &config->merged);
        else {
                config->files = (Files){ 0 }; /* libeconf may leave a pointer to freed memory */
                if (e == ECONF_NOFILE)
                        e = ECONF_SUCCESS;
        }
        if (e != ECONF_SUCCESS)
                return describe_error(e, ret_text);
        *ret = TAKE_PTR(config);
        return 0;
}

Config *config_free(Config *config) {
        if (!config)
                return NULL;
        merged_free(config->merged, &config->files);
        for (size_t i = 0; i < config->files.n; i++)
                econf_freeFile(config->files.list[i]);
        free(config->files.list);
        free(config);
        return NULL;
}

/* Adds the strings of libeconf's array of n to the NULL-terminated *l, unless *l has them already. */
static int take_list(econf_err e, char **list, size_t n, char ***l) {
        int r = 0;

        if (e == ECONF_NOKEY || e == ECONF_NOGROUP)
                return 0;
        if (e != ECONF_SUCCESS)
                return econf_to_errno(e);

        for (size_t i = 0; r >= 0 && i < n; i++)
                if (!strv_contains(*l, list[i]))
                        r = strv_extend(l, list[i]);
        econf_freeArray(list);
        return r;
}

static int add_keys(const Config *config, const char *section, char ***l) {
        char **list = NULL;
        size_t n = 0;
        econf_err e;

        e = econf_getKeys(config->merged, section, &n, &list);
        return take_list(e, list, n, l);
}

int config_sections(const Config *config, char ***ret) {
        _cleanup_strv_ char **sections = NULL;
        char **list = NULL;
        size_t n = 0;
        econf_err e;
        int r;

        assert(config);
        assert(ret);

        if (config->merged) {
                e = econf_getGroups(config->merged, &n, &list);
                r = take_list(e, list, n, &sections);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(sections);
        return 0;
}

/* Finds the keys of all sections. */
static int find_all_keys(const Config *config, char ***ret) {
        _cleanup_strv_ char **sections = NULL, **keys = NULL;
        int r;

        r = config_sections(config, &sections);
        if (r < 0)
                return r;
        r = add_keys(config, NULL, &keys);
        if (r < 0)
                return r;
        STRV_FOREACH (s, sections) {
                r = add_keys(config, *s, &keys);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(keys);
        return 0;
}

/* econf_getKeys() of libeconf before 0.7 leaves out a key if the entry before it, even in another section,
 * has the same name. It does return the first of these entries, so config_keys() tries the keys of all
 * sections. */
int config_keys(const Config *config, const char *section, char ***ret) {
        _cleanup_strv_ char **candidates = NULL, **keys = NULL;
        int r;

        assert(config);
        assert(ret);

        if (config->merged) {
                r = find_all_keys(config, &candidates);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (key, candidates) {
                _cleanup_free_ char *value = NULL;

                r = config_get(config, section, *key, &value);
                if (r == -ENOENT)
                        continue;
                if (r < 0)
                        return r;
                r = strv_extend(&keys, *key);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(keys);
        return 0;
}

int config_get(const Config *config, const char *section, const char *key, char **ret) {
        char *value = NULL;
        econf_err e;

        assert(config);
        assert(key);
        assert(ret);

        if (!config->merged)
                return -ENOENT;
        e = econf_getStringValue(config->merged, section, key, &value);
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

/* FNV-1a, with the byte that ends the string. */
static uint64_t digest_add(uint64_t digest, const char *s) {
        do
                digest = (digest ^ (uint8_t) *s) * UINT64_C(0x100000001b3);
        while (*s++);
        return digest;
}

static int digest_section(const Config *config, const char *section, uint64_t *digest) {
        _cleanup_strv_ char **keys = NULL;
        int r;

        *digest = digest_add(*digest, section);
        r = config_keys(config, section, &keys);
        STRV_FOREACH (key, keys) {
                _cleanup_free_ char *value = NULL;

                r = config_get(config, section, *key, &value);
                if (r < 0)
                        return r;
                *digest = digest_add(digest_add(*digest, *key), value);
        }
        return r;
}

int config_digest(const Config *config, uint64_t *ret) {
        _cleanup_strv_ char **sections = NULL;
        uint64_t digest = UINT64_C(0xcbf29ce484222325);
        int r;

        assert(config);
        assert(ret);

        r = config_sections(config, &sections);
        STRV_FOREACH (section, sections) {
                r = digest_section(config, *section, &digest);
                if (r < 0)
                        return r;
        }
        if (r < 0)
                return r;
        *ret = digest;
        return 0;
}

/* Finds the line of a key in a file; key NULL: of any key in the section. Returns 0 or -ENOENT. */
static int locate_in_file(econf_file *file, const char *section, const char *key, uint64_t *ret_line) {
        econf_ext_value *value = NULL;
        char **keys = NULL;
        econf_err e;
        size_t n = 0;

        if (!key) {
                e = econf_getKeys(file, section, &n, &keys);
                if (e != ECONF_SUCCESS || n == 0)
                        return -ENOENT;
                e = econf_getExtValue(file, section, keys[0], &value);
                econf_freeArray(keys);
        } else
                e = econf_getExtValue(file, section, key, &value);
        if (e != ECONF_SUCCESS)
                return -ENOENT;
        *ret_line = value->line_number;
        econf_freeExtValue(value);
        return 0;
}

int config_locate(const Config *config, const char *section, const char *key, char **ret) {
        uint64_t line;
        char *place;

        assert(config);
        assert(ret);

        for (size_t i = config->files.n; i > 0; i--) {
                econf_file *file = config->files.list[i - 1];
                _cleanup_free_ char *path = NULL;

                if (locate_in_file(file, section, key, &line) < 0)
                        continue;
                path = econf_getPath(file);
                place = strdup_printf("%s:%" PRIu64, strempty(path), line);
                if (!place)
                        return -ENOMEM;
                *ret = place;
                return 0;
        }
        return -ENOENT;
}

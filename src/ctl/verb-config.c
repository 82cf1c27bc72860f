/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "model/settings.h"

static int add_key(json_t *keys, const Config *config, const char *section, const char *key) {
        _cleanup_free_ char *value = NULL, *place = NULL;
        json_t *entry;
        int r;

        r = config_get(config, section, key, &value);
        if (r < 0)
                return r;
        r = config_locate(config, section, key, &place);
        if (r < 0)
                return r;
        /* A configuration file may have any bytes. */
        entry = json_pack("{s:s, s:s, s:s, s:s}", "Section", section, "Key", key, "Value", value, "Place", place);
        if (!entry)
                return utf8_is_valid(section) && utf8_is_valid(key) && utf8_is_valid(value) ? -ENOMEM : -EILSEQ;
        return json_array_append_new(keys, entry) < 0 ? -ENOMEM : 0;
}

static int collect_setting(const Config *config, json_t *keys) {
        _cleanup_strv_ char **sections = NULL;
        int r;

        r = config_sections(config, &sections);
        if (r < 0)
                return r;
        STRV_FOREACH (section, sections) {
                _cleanup_strv_ char **names = NULL;

                r = config_keys(config, *section, &names);
                if (r < 0)
                        return r;
                STRV_FOREACH (name, names) {
                        r = add_key(keys, config, *section, *name);
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

static int print_keys(const json_t *keys) {
        const char *section = NULL;
        const json_t *key;
        size_t i;

        json_array_foreach (keys, i, key) {
                _cleanup_free_ char *line = strdup_printf("%s=%s", answer_string(key, "Key"),
                                                          answer_string(key, "Value")),
                                    *text = line ? format_string(line) : NULL,
                                    *place = format_string(answer_string(key, "Place")),
                                    *heading = format_string(answer_string(key, "Section"));

                if (!text || !place || !heading)
                        return -ENOMEM;
                if (!section || !streq(section, answer_string(key, "Section")))
                        printf("%s[%s]\n", section ? "\n" : "", heading);
                section = answer_string(key, "Section");
                printf("# %s\n%s\n", place, text);
        }
        return 0;
}

/* root: "", or the root directory of another system. */
static int read_config(const char *root, Config **ret, Failure *f) {
        _cleanup_free_ char *usr = strdup_printf("%s" SETTINGS_USR, root),
                            *etc = strdup_printf("%s" SETTINGS_ETC, root);

        if (!usr || !etc)
                return -ENOMEM;
        return settings_read(usr, etc, ret, f);
}

static int report_mistake(const Failure *f) {
        report_error(NULL, f->message);
        return EXIT_FAILURE;
}

int verb_config(const Args *a) {
        _cleanup_(config_freep) Config *config = NULL;
        _cleanup_(settings_done) Settings settings = { 0 };
        _cleanup_json_ json_t *keys = json_array();
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (!keys)
                return -ENOMEM;
        if (a->n_operands > 0 && access(a->operands[0], F_OK) < 0) {
                report_error(a->operands[0], strerror(errno));
                return EXIT_FAILURE;
        }
        r = read_config(a->n_operands > 0 ? a->operands[0] : "", &config, &f);
        if (r != 0)
                return r < 0 ? r : report_mistake(&f);
        r = collect_setting(config, keys);
        if (r < 0)
                return r;
        if (!args_have(a, SWITCH_QUIET))
                pager_open();
        r = args_have(a, SWITCH_JSON) ? print_json(a, keys) : args_have(a, SWITCH_QUIET) ? 0 : print_keys(keys);
        if (r < 0)
                return r;
        r = settings_parse(config, &settings, &f);
        return r > 0 ? report_mistake(&f) : r;
}

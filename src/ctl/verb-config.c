/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <unistd.h>

#include "basic/string-util.h"
#include "ctl/answer.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "model/settings.h"

/* No file is in it. */
#define NO_DIRECTORY "/dev/null"

/* --- operands --- */

/* A message has a key with "=". */
static bool is_key(const char *operand, const char *key) {
        const char *rest = startswith(operand, key);

        return rest && (streq(rest, "") || streq(rest, "="));
}

static int check_key(const char *operand) {
        const char *section, *key;

        for (size_t i = 0; (key = settings_key(i, &section)); i++)
                if (is_key(operand, key))
                        return 0;
        return report_usage(
                "Unknown key '%s'. 'selvolctl config' prints the keys that are set; selvol.conf(5) has all.",
                operand);
}

int config_check(const Args *a) {
        int r = 0;

        for (int i = 0; r == 0 && i < a->n_operands; i++)
                r = check_key(a->operands[i]);
        return r;
}

/* --- what is printed --- */

static bool is_asked_for(const Args *a, const ConfigKey *key) {
        for (int i = 0; i < a->n_operands; i++)
                if (is_key(a->operands[i], key->name))
                        return true;
        return a->n_operands == 0;
}

/* Returns 1 if the shipped files set the same value, 0 or -ENOMEM. */
static int is_shipped(const Config *shipped, const ConfigKey *key, const char *value) {
        const ConfigKey *other = config_find(shipped, key->section, key->name);
        _cleanup_free_ char *before = other ? config_value(other) : NULL;

        if (other && !before)
                return -ENOMEM;
        return streq_ptr(before, value);
}

static json_t *pack_places(const ConfigKey *key) {
        json_t *places = json_array();

        STRV_FOREACH (place, key->places)
                if (json_array_append_new(places, json_string(*place)) < 0) {
                        json_decref(places);
                        return NULL;
                }
        return places;
}

static int add_key(json_t *keys, const ConfigKey *key, const char *value) {
        json_t *entry;

        /* A configuration file, and its name, may have any bytes. */
        if (!utf8_is_valid(key->section) || !utf8_is_valid(value))
                return -EILSEQ;
        STRV_FOREACH (place, key->places)
                if (!utf8_is_valid(*place))
                        return -EILSEQ;
        entry = json_pack("{s:s, s:s, s:s, s:o}", "Section", key->section, "Key", key->name, "Value", value, "Places",
                          pack_places(key));
        return json_array_append_new(keys, entry) < 0 ? -ENOMEM : 0;
}

static int collect_keys(const Args *a, const Config *config, const Config *shipped, json_t *keys) {
        for (size_t i = 0; i < config->n; i++) {
                const ConfigKey *key = &config->keys[i];
                _cleanup_free_ char *value = config_value(key);
                int r;

                if (!value)
                        return -ENOMEM;
                if (!key->name || !is_asked_for(a, key))
                        continue;
                r = args_have(a, SWITCH_CHANGED) ? is_shipped(shipped, key, value) : 0;
                if (r == 0)
                        r = add_key(keys, key, value);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int print_keys(const json_t *keys) {
        const char *section = NULL;
        const json_t *key, *place;
        size_t i, k;

        json_array_foreach (keys, i, key) {
                _cleanup_free_ char *line = strdup_printf("%s=%s", answer_string(key, "Key"),
                                                          answer_string(key, "Value")),
                                    *text = line ? format_string(line) : NULL,
                                    *heading = format_string(answer_string(key, "Section"));

                if (!text || !heading)
                        return -ENOMEM;
                if (!section || !streq(section, answer_string(key, "Section")))
                        printf("%s[%s]\n", section ? "\n" : "", heading);
                section = answer_string(key, "Section");
                json_array_foreach (json_object_get(key, "Places"), k, place) {
                        _cleanup_free_ char *shown = format_string(json_string_value(place));

                        if (!shown)
                                return -ENOMEM;
                        printf("# %s\n", shown);
                }
                puts(text);
        }
        return 0;
}

/* --- reading --- */

static int read_config(const Args *a, Config *ret, Config *ret_shipped, Failure *f) {
        _cleanup_free_ char *usr = strdup_printf("%s" SETTINGS_USR, strempty(a->root)),
                            *etc = strdup_printf("%s" SETTINGS_ETC, strempty(a->root));
        int r;

        if (!usr || !etc)
                return -ENOMEM;
        r = settings_read(usr, etc, ret, f);
        return r == 0 ? settings_read(usr, NO_DIRECTORY, ret_shipped, f) : r;
}

/* Prints a mistake alone: nothing of such a configuration is in force. */
static int report_mistake(const Failure *f) {
        report_error(NULL, f->message);
        report_note(NULL, "Correct it: until then selvol uses none of these files.");
        return EXIT_FAILURE;
}

int verb_config(const Args *a) {
        _cleanup_(config_done) Config config = { 0 }, shipped = { 0 };
        _cleanup_(settings_done) Settings settings = { 0 };
        _cleanup_json_ json_t *keys = json_array();
        _cleanup_failure_ Failure f = { 0 };
        int r;

        if (!keys)
                return -ENOMEM;
        if (a->root && access(a->root, F_OK) < 0) {
                report_error(a->root, strerror(errno));
                return EXIT_FAILURE;
        }
        r = read_config(a, &config, &shipped, &f);
        if (r == 0)
                r = settings_parse(&config, &settings, &f);
        if (r == 0)
                r = collect_keys(a, &config, &shipped, keys);
        if (r != 0)
                return r < 0 ? r : report_mistake(&f);
        if (args_have(a, SWITCH_QUIET))
                return 0;
        pager_open();
        return args_have(a, SWITCH_JSON) ? print_json(a, keys) : print_keys(keys);
}

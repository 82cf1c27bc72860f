/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "basic/string-util.h"
#include "model/request.h"
#include "mount-helper/mount-request.h"

enum { TEXT_MAX = 8192 };

int report(int status, const char *format, ...) {
        _cleanup_free_ char *message = NULL, *escaped = NULL;
        va_list ap;

        va_start(ap, format);
        message = strdup_vprintf(format, ap);
        va_end(ap);
        if (message && !text_is_clean(message))
                escaped = string_escape(message, TEXT_MAX);
        fprintf(stderr, PROGRAM ": %s\n", strempty(escaped ? escaped : message));
        return status;
}

void mount_request_done(MountRequest *q) {
        values_done(q->values);
        strv_free(q->options);
        strv_free(q->words);
        free(q->holder);
        *q = (MountRequest){ 0 };
}

static int read_helper_option(MountRequest *q, RequestOptionId id, const char *name, const char *value) {
        _cleanup_free_ char *expected = NULL;
        int r;

        if (!value && request_options[id].type[0] != 'b' && id != OPTION_WAIT)
                return report(MOUNT_USAGE, "Option %s needs a value: %s=%s.", name, name,
                              request_options[id].argument);
        r = value_parse(id, value, &q->values[id]);
        if (r == 0 || r == -ENOMEM)
                return r;
        expected = value_expected(id);
        return expected ? report(MOUNT_USAGE, "%s=%s: must be %s.", name, strempty(value), expected) : -ENOMEM;
}

static bool is_category(const char *word) {
        return word[0] == 'c' && word[1] != '\0' && word[1 + strspn(word + 1, "0123456789.c")] == '\0';
}

/* mount(8) splits a level without quotes at its commas, and passes the rest of the level as options. */
static int refuse_categories(const MountRequest *q) {
        _cleanup_strv_ char **categories = NULL;
        _cleanup_free_ char *list = NULL;
        bool is_level = q->values[OPTION_SELINUX_LEVEL].set;
        const char *begun = q->values[is_level ? OPTION_SELINUX_LEVEL : OPTION_SELINUX_CONTEXT].string;

        STRV_FOREACH (option, q->options)
                if (is_category(*option) && strv_extend(&categories, *option) < 0)
                        return -ENOMEM;
        list = strv_join(categories, ",");
        if (!list)
                return -ENOMEM;
        return report(
                MOUNT_USAGE,
                "A comma ends an option unless it is in double quotes: write %s=\"%s,%s\". A shell takes such quotes away: there put all options in single quotes, as in -o 'volume=db,level=\"s0:c1,c2\"'.",
                is_level ? "level" : "context", begun, list);
}

static int add_mount_option(MountRequest *q, const char *option) {
        int r;

        if (is_category(option) && (q->values[OPTION_SELINUX_LEVEL].set || q->values[OPTION_SELINUX_CONTEXT].set))
                return refuse_categories(q);
        r = value_parse(OPTION_MOUNT_OPTIONS, option, &q->values[OPTION_MOUNT_OPTIONS]);
        return r == 0 || r == -ENOMEM ? r : report(MOUNT_USAGE, "Option '%s' is not UTF-8.", option);
}

/* Cuts "NAME=VALUE" and removes the quotes around VALUE. Returns VALUE, or NULL if there is none. */
static char *cut_value(char *word) {
        char *value = strchr(word, '=');
        size_t n;

        if (!value)
                return NULL;
        *value++ = '\0';
        n = strlen(value);
        if (n >= 2 && value[0] == '"' && value[n - 1] == '"') {
                value[n - 1] = '\0';
                value++;
        }
        return value;
}

static int read_mount_word(MountRequest *q, const char *option, char *word) {
        const char *value = cut_value(word);
        RequestOptionId id;

        if (streq(word, "remount"))
                return report(
                        MOUNT_USAGE,
                        "A mount of selvol's can't be changed by a remount: unmount it, and mount it with the options that it is to have.");
        if (streq(word, "volume")) {
                q->volume = value;
                return 0;
        }
        /* "user" may have a value there, so it can't be the user of a label. */
        if (mount_option_is_for_user_space(word))
                return 0;
        /* The last one of ro and rw counts. */
        if (streq(option, "ro") || streq(option, "rw")) {
                q->values[OPTION_READ_ONLY] = (OptionValue){ .set = streq(option, "ro"), .number = true };
                return 0;
        }
        /* mount(8) has its own form for mount options, so the option for these has no name here. */
        id = option_find(word, METHOD_MOUNT);
        if (id == REQUEST_OPTIONS || id == OPTION_MOUNT_OPTIONS)
                return add_mount_option(q, option);
        return read_helper_option(q, id, word, value);
}

static int set_mount_defaults(MountRequest *q, const char *type) {
        const char *fs_type = strchr(strempty(type), '.');
        _cleanup_failure_ Failure ignored = { 0 };
        int r;

        if (fs_type)
                q->values[OPTION_FS_TYPE] = (OptionValue){ .set = true, .string = fs_type + 1 };
        values_prefer_context_mount(q->values, q->source);
        /* umount(8), and systemd at shutdown, unmount what mount(8) has mounted. */
        if (!q->values[OPTION_RELEASE_ON_UMOUNT].set)
                q->values[OPTION_RELEASE_ON_UMOUNT] = (OptionValue){ .set = true, .number = true };
        if (q->values[OPTION_HOLDER].set)
                return 0;
        q->holder = strdup_printf("mount:%s", q->target);
        if (!q->holder)
                return -ENOMEM;
        /* The name is optional: selvold itself names a holder after its target, which may break the rules for
         * names. */
        r = request_validate_name(q->holder, "Holder", &ignored);
        if (r == 0)
                q->values[OPTION_HOLDER] = (OptionValue){ .set = true, .string = q->holder };
        return r < 0 ? r : 0;
}

int mount_request_read(MountRequest *q, const char *type) {
        int r;

        r = strv_copy(q->options, &q->words);
        if (r < 0)
                return r;
        for (size_t i = 0; q->words && q->words[i]; i++) {
                r = read_mount_word(q, q->options[i], q->words[i]);
                if (r != 0)
                        return r;
        }
        if (isempty(q->volume))
                return report(
                        MOUNT_USAGE,
                        "Option volume= is missing: the id under which selvold knows the volume, such as volume=db.");
        if (!utf8_is_valid(q->source) || !utf8_is_valid(q->target) || !utf8_is_valid(q->volume) ||
            !utf8_is_valid(strempty(type)))
                return report(MOUNT_USAGE,
                              "Source, directory, type and volume have to be UTF-8: '%s' at '%s', volume=%s.",
                              q->source, q->target, q->volume);
        return set_mount_defaults(q, type);
}

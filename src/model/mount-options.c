/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "model/context.h"
#include "model/mount-options.h"

void mount_options_done(MountOptions *o) {
        strv_free(o->options);
        free(o->context);
        *o = (MountOptions){ 0 };
}

static int bad_option(Failure *f, const char *option, const char *why) {
        _cleanup_free_ char *escaped = string_escape(option, 80);

        if (!escaped)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Mount option '%s' %s", escaped, why);
}

/* Accepts LABEL and, in the form that kubelet passes to CSI drivers, "LABEL". */
static int take_context_option(const char *value, MountOptions *o, Failure *f) {
        _cleanup_free_ char *bare = NULL, *canonical = NULL;
        size_t n = strlen(value);
        int r;

        if (n >= 2 && value[0] == '"' && value[n - 1] == '"')
                bare = strndup(value + 1, n - 2);
        else
                bare = strdup(value);
        if (!bare)
                return -ENOMEM;

        r = context_canonicalize(bare, &canonical, f);
        if (r != 0)
                return r;
        if (o->context && !streq(o->context, canonical))
                return failure_set(f, FAILURE_INCOMPATIBLE,
                                   "The mount options hold two contexts, %s and %s: pass one.", o->context,
                                   canonical);
        free(o->context);
        o->context = TAKE_PTR(canonical);
        return 0;
}

static bool option_is_well_formed(const char *option) {
        size_t n = strspn(option, "abcdefghijklmnopqrstuvwxyz0123456789_-");

        if (n == 0 || (option[n] != '\0' && option[n] != '='))
                return false;
        if (option[n] == '=') {
                const char *value = option + n + 1;
                size_t m = strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:/@%+");

                return m > 0 && value[m] == '\0';
        }
        return true;
}

static bool option_is_label(const char *option) {
        static const char *const keys[] = { "fscontext", "defcontext", "rootcontext", "seclabel", "noseclabel" };
        size_t n = strcspn(option, "=");

        for (size_t i = 0; i < ELEMENTSOF(keys); i++)
                if (strlen(keys[i]) == n && strncmp(option, keys[i], n) == 0)
                        return true;
        return false;
}

/* Whether the option has the name, with or without a value. */
static bool option_has_name(const char *option, const char *name) {
        return strlen(name) == strcspn(option, "=") && startswith(option, name);
}

bool mount_option_is_for_user_space(const char *name) {
        static const char *const names[] = {
                "defaults", "nofail", "_netdev", "auto",  "noauto",  "user",    "nouser",  "users",
                "nousers",  "owner",  "noowner", "group", "nogroup", "comment", "uhelper", "helper",
        };

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (option_has_name(name, names[i]))
                        return true;
        return startswith(name, "x-") || startswith(name, "X-");
}

/* mount(8) carries these out itself. Without it other files would be seen, or other owners and modes. */
static bool option_is_of_mount(const char *option) {
        static const char *const names[] = { "subdir", "idmap", "owner", "group", "mode" };
        const char *name = startswith(option, "X-mount.");

        for (size_t i = 0; name && i < ELEMENTSOF(names); i++)
                if (option_has_name(name, names[i]))
                        return true;
        return false;
}

static int take_option(const char *option, MountOptions *o, Failure *f) {
        const char *context;

        if (strnlen(option, OPTION_MAX + 1) > OPTION_MAX)
                return failure_set(f, FAILURE_INVALID_OPTION, "A mount option is longer than %i bytes.", OPTION_MAX);

        if (option_is_of_mount(option))
                return bad_option(f, option, "is refused, as only mount(8) itself can carry it out: leave it out.");
        if (mount_option_is_for_user_space(option))
                return 0;
        context = startswith(option, "context=");
        if (context)
                return take_context_option(context, o, f);
        if (option_is_label(option))
                return bad_option(f, option,
                                  "sets labels: pass the context as \"SELinuxContext\" or \"SELinuxLevel\" instead.");
        if (!option_is_well_formed(option))
                return bad_option(
                        f, option,
                        "is malformed: pass each option as a separate string, key or key=value, without quotes, commas and spaces.");
        if (streq(option, "suid") || streq(option, "dev"))
                return bad_option(f, option, "is refused: volumes are always mounted nosuid and nodev.");
        if (streq(option, "ro")) {
                o->read_only = true;
                return 0;
        }
        /* Options without effect: always on, or the default. */
        if (streq(option, "rw") || streq(option, "nosuid") || streq(option, "nodev"))
                return 0;
        return strv_extend(&o->options, option);
}

int mount_options_parse(char *const *options, MountOptions *ret, Failure *f) {
        _cleanup_(mount_options_done) MountOptions o = { 0 };

        assert(ret && f);

        if (strv_length(options) > OPTIONS_MAX)
                return failure_set(f, FAILURE_INVALID_OPTION, "There are more than %i mount options.", OPTIONS_MAX);

        for (size_t i = 0; options && options[i]; i++) {
                int r = take_option(options[i], &o, f);
                if (r != 0)
                        return r;
        }

        *ret = TAKE_STRUCT(o);
        return 0;
}

/* An element of the list is a whole option, or "key=" for a key with any value. */
static bool option_is_listed(char *const *list, const char *option) {
        size_t key = strcspn(option, "=");

        for (size_t i = 0; list && list[i]; i++)
                if (streq(list[i], option) ||
                    (option[key] == '=' && strlen(list[i]) == key + 1 && strncmp(list[i], option, key + 1) == 0))
                        return true;
        return false;
}

static bool option_is_allowed(const Settings *settings, const FileSystem *fs, const char *option) {
        /* The configuration lists group options in full, but gid= without its number. */
        const char *for_group = startswith(option, "gid=") ? "gid=" : option;

        if (!option_is_well_formed(option) || option_is_label(option) || startswith(option, "context="))
                return false;
        return option_is_listed(settings->common_options, option) || option_is_listed(fs->options, option) ||
               option_is_listed(fs->context_options, option) || strv_contains(fs->group_options, for_group);
}

int mount_options_check(char *const *options, const Settings *settings, const FileSystem *fs, Failure *f) {
        assert(settings && fs && f);

        for (size_t i = 0; options && options[i]; i++) {
                _cleanup_free_ char *escaped = NULL;

                if (option_is_allowed(settings, fs, options[i]))
                        continue;
                escaped = string_escape(options[i], 80);
                if (!escaped)
                        return -ENOMEM;
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "Mount option '%s' is not allowed for %s. To allow it, add MountOptions=%s under [FileSystem %s] " SETTINGS_REMEDY,
                        escaped, fs->name, escaped, fs->name);
        }
        return 0;
}

bool mount_option_is_attribute(const char *option, size_t n) {
        static const char *const attributes[] = {
                "noexec",      "exec",       "noatime",  "atime",       "relatime",
                "strictatime", "nodiratime", "diratime", "nosymfollow", "symfollow"
        };

        for (size_t i = 0; i < ELEMENTSOF(attributes); i++)
                if (strlen(attributes[i]) == n && memcmp(attributes[i], option, n) == 0)
                        return true;
        return false;
}

static bool same_key(const char *a, const char *b) {
        size_t n = strcspn(a, "=");

        return strcspn(b, "=") == n && strncmp(a, b, n) == 0;
}

static bool key_is_passed(char *const *options, const char *option) {
        for (size_t i = 0; options && options[i]; i++)
                if (same_key(options[i], option))
                        return true;
        return false;
}

int mount_options_add(char ***options, char *const *more) {
        assert(options);

        for (size_t i = 0; more && more[i]; i++) {
                int r = key_is_passed(*options, more[i]) ? 0 : strv_extend(options, more[i]);

                if (r < 0)
                        return r;
        }
        return 0;
}

static bool is_about_access_times(const char *option) {
        return streq(option, "noatime") || streq(option, "atime") || streq(option, "relatime") ||
               streq(option, "strictatime");
}

int mount_options_keep(char ***options, char *const *replaced) {
        _cleanup_strv_ char **all = NULL;
        bool access_times = false;
        int r = 0;

        for (size_t i = 0; *options && (*options)[i]; i++)
                access_times = access_times || is_about_access_times((*options)[i]);
        for (size_t i = 0; r >= 0 && replaced && replaced[i]; i++)
                if (!key_is_passed(*options, replaced[i]) && !(access_times && is_about_access_times(replaced[i])))
                        r = strv_extend(&all, replaced[i]);
        for (size_t i = 0; r >= 0 && *options && (*options)[i]; i++)
                r = strv_extend(&all, (*options)[i]);
        if (r < 0)
                return r;
        strv_free(*options);
        *options = TAKE_PTR(all);
        return 0;
}

/* Compares wanted as text: file systems may read a number with a leading zero as octal. */
static int check_group_option(char *const *options, const FileSystem *fs, const char *wanted, Failure *f) {
        if (!strv_contains(fs->group_options, "gid="))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "\"FSGroupPolicy\" is Mount, but file system %s has no mount option for the group of its files (GroupOptions=): use \"FSGroupPolicy\"=File.",
                        fs->name);

        for (size_t i = 0; options && options[i]; i++) {
                _cleanup_free_ char *escaped = NULL;

                if (!same_key(options[i], wanted) || streq(options[i], wanted))
                        continue;
                escaped = string_escape(options[i], 80);
                if (!escaped)
                        return -ENOMEM;
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "Mount option '%s' conflicts with the requested group (%s): remove it.", escaped,
                                   wanted);
        }
        return 0;
}

int mount_options_add_group(char ***options, const FileSystem *fs, gid_t gid, Failure *f) {
        _cleanup_free_ char *wanted = strdup_printf("gid=%u", gid);
        _cleanup_strv_ char **all = NULL;
        int r;

        assert(options && fs && f);

        if (!wanted)
                return -ENOMEM;
        r = check_group_option(*options, fs, wanted, f);
        if (r != 0)
                return r;

        STRV_FOREACH (option, fs->group_options) {
                if (key_is_passed(*options, *option))
                        continue;
                r = strv_extend(&all, streq(*option, "gid=") ? wanted : *option);
                if (r < 0)
                        return r;
        }
        STRV_FOREACH (option, *options) {
                r = strv_extend(&all, *option);
                if (r < 0)
                        return r;
        }

        strv_free(*options);
        *options = TAKE_PTR(all);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pwd.h>
#include <stdio.h>

#include "job/introduce.h"

/* Whether the id is NAME, a slash, and something more. */
static bool is_of(const char *volume, const char *name) {
        const char *rest = startswith(volume, name);

        return rest && rest[0] == '/' && rest[1] != '\0';
}

/* A name that is all digits is perhaps the number of another user. */
static bool is_name(const char *name) {
        return utf8_is_valid(name) && !strchr(name, '/') && name[strspn(name, "0123456789")] != '\0';
}

/* Looks for a name of the user with which the id begins. *ret gets this name, or another one of the user, or
 * NULL if the file has none. */
static int find_name(FILE *passwd, uid_t uid, const char *volume, char **ret) {
        _cleanup_free_ char *name = NULL;
        const struct passwd *user;

        while ((user = fgetpwent(passwd))) {
                if (user->pw_uid != uid || !is_name(user->pw_name) || (name && !is_of(volume, user->pw_name)))
                        continue;
                free(name);
                name = strdup(user->pw_name);
                if (!name)
                        return -ENOMEM;
                if (is_of(volume, name))
                        break;
        }
        *ret = TAKE_PTR(name);
        return 0;
}

static int refuse_id(const char *volume, const char *name, Failure *f) {
        _cleanup_free_ char *prefix = strdup_printf("%s/", name);

        if (!prefix)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INVALID_VOLUME,
                "Volume %s is not known, and the id of a new volume of this user begins with %s: pass %s%s.", volume,
                prefix, prefix, streq(volume, prefix) ? "NAME" : volume);
}

int introduce_check(const char *passwd, uid_t uid, const char *volume, Failure *f) {
        _cleanup_free_ char *number = strdup_printf("%u", (unsigned) uid), *name = NULL;
        FILE *file;
        int r = 0;

        if (!number)
                return -ENOMEM;
        if (is_of(volume, number))
                return 0;
        file = fopen(passwd, "re");
        if (file) {
                r = find_name(file, uid, volume, &name);
                (void) fclose(file);
        }
        if (r < 0 || (name && is_of(volume, name)))
                return r;
        return refuse_id(volume, name ?: number, f);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "basic/path-util.h"
#include "basic/string-util.h"

bool path_is_normalized(const char *path) {
        assert(path);

        if (path[0] != '/' || strnlen(path, PATH_MAX) >= PATH_MAX || !text_is_clean(path))
                return false;
        if (streq(path, "/"))
                return true;

        for (const char *p = path; *p;) {
                size_t n;

                p++;
                n = strcspn(p, "/");
                if (n == 0 || (n == 1 && p[0] == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
                        return false;
                p += n;
        }
        return true;
}

bool path_is_beneath(const char *path, const char *root) {
        const char *rest;

        assert(path && root);

        if (streq(root, "/"))
                return path[0] == '/' && path[1] != '\0';
        rest = startswith(path, root);
        return rest && rest[0] == '/' && rest[1] != '\0';
}

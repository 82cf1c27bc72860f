/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/container-contexts.h"

#define BLANKS " \t\r\v\f"

void container_contexts_done(ContainerContexts *c) {
        free(c->process);
        free(c->file);
        free(c->ro_file);
        *c = (ContainerContexts){ 0 };
}

/* Returns a copy of the n bytes at s without any of the given characters at both ends. */
static char *trimmed(const char *s, size_t n, const char *characters) {
        while (n > 0 && strchr(characters, s[0])) {
                s++;
                n--;
        }
        while (n > 0 && strchr(characters, s[n - 1]))
                n--;
        return strndup(s, n);
}

static int parse_line(const char *line, size_t n, ContainerContexts *c) {
        _cleanup_free_ char *stripped = trimmed(line, n, BLANKS), *key = NULL, *value = NULL, *bare = NULL;
        const char *equals;
        char **slot;

        if (!stripped)
                return -ENOMEM;
        equals = strchr(stripped, '=');
        if (stripped[0] == '#' || stripped[0] == ';' || !equals)
                return 0;

        key = trimmed(stripped, (size_t) (equals - stripped), BLANKS);
        value = trimmed(equals + 1, strlen(equals + 1), BLANKS);
        if (!key || !value)
                return -ENOMEM;
        bare = trimmed(value, strlen(value), "\"");
        if (!bare)
                return -ENOMEM;

        slot = streq(key, "process")   ? &c->process
               : streq(key, "file")    ? &c->file
               : streq(key, "ro_file") ? &c->ro_file
                                       : NULL;
        if (slot) {
                free(*slot);
                *slot = TAKE_PTR(bare);
        }
        return 0;
}

int container_contexts_parse(const char *text, ContainerContexts *ret) {
        _cleanup_(container_contexts_done) ContainerContexts c = { 0 };

        while (*text) {
                size_t n = strcspn(text, "\n");
                int r;

                r = parse_line(text, n, &c);
                if (r < 0)
                        return r;
                text += n + (text[n] == '\n');
        }

        if (!c.ro_file) {
                int r = free_and_strdup(&c.ro_file, c.file);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_STRUCT(c);
        return 0;
}

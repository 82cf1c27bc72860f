/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "client/parse.h"

/* Reads one number with its unit, and what blanks follow. */
static int parse_part(const char **s, uint64_t *ret_usec) {
        static const struct {
                const char *suffix;
                uint64_t usec;
        } units[] = {
                { "us", 1 },     { "ms", 1000 },           { "s", 1000000 },           { "sec", 1000000 },
                { "", 1000000 }, { "m", 60 * 1000000ull }, { "min", 60 * 1000000ull }, { "h", 3600 * 1000000ull },
        };
        size_t digits = strspn(*s, "0123456789"), letters;
        _cleanup_free_ char *number = strndup(*s, digits);
        unsigned long long value;
        const char *suffix;
        int r;

        if (!number)
                return -ENOMEM;
        r = parse_u64(number, &value);
        if (r < 0)
                return r;

        suffix = *s + digits + strspn(*s + digits, " ");
        letters = strspn(suffix, "abcdefghijklmnopqrstuvwxyz");
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (strlen(units[i].suffix) == letters && strncmp(units[i].suffix, suffix, letters) == 0) {
                        *s = suffix + letters;
                        *s += strspn(*s, " ");
                        return __builtin_mul_overflow((uint64_t) value, units[i].usec, ret_usec) ? -ERANGE : 0;
                }
        return -EINVAL;
}

int parse_timespan(const char *s, uint64_t *ret_usec) {
        uint64_t sum = 0, part;

        s += strspn(s, " ");
        if (*s == '\0')
                return -EINVAL;
        while (*s != '\0') {
                int r = parse_part(&s, &part);

                if (r < 0)
                        return r;
                if (__builtin_add_overflow(sum, part, &sum))
                        return -ERANGE;
        }
        *ret_usec = sum;
        return 0;
}

int parse_gid(const char *s, gid_t *ret) {
        unsigned long long number;
        int r;

        r = parse_u64(s, &number);
        if (r < 0)
                return r;
        if (number >= GID_NONE)
                return -ERANGE;
        *ret = (gid_t) number;
        return 0;
}

int parse_word(const char *s, const char *words) {
        size_t n = strlen(s);

        for (const char *p = words; n > 0 && (p = strstr(p, s)); p += n)
                if ((p == words || p[-1] == ' ') && (p[n] == ' ' || p[n] == '\0') && !strchr(s, ' '))
                        return 0;
        return -EINVAL;
}

int parse_mount_options(const char *s, char ***list) {
        for (;;) {
                bool quoted = false;
                size_t n = 0;
                int r;

                for (; s[n] != '\0' && (quoted || s[n] != ','); n++)
                        if (s[n] == '"')
                                quoted = !quoted;
                if (quoted)
                        return -EINVAL;
                if (n > 0) {
                        r = strv_consume(list, strndup(s, n));
                        if (r < 0)
                                return r;
                }
                if (s[n] == '\0')
                        return 0;
                s += n + 1;
        }
}

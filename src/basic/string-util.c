/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>

#include "basic/string-util.h"

int free_and_strdup(char **p, const char *s) {
        char *copy = NULL;

        assert(p);

        if (s) {
                copy = strdup(s);
                if (!copy)
                        return -ENOMEM;
        }

        free(*p);
        *p = copy;
        return 0;
}

char *strdup_vprintf(const char *format, va_list ap) {
        char *s;

        return vasprintf(&s, format, ap) < 0 ? NULL : s;
}

char *strdup_printf(const char *format, ...) {
        va_list ap;
        char *s;

        va_start(ap, format);
        s = strdup_vprintf(format, ap);
        va_end(ap);
        return s;
}

char **strv_free(char **l) {
        STRV_FOREACH (s, l)
                free(*s);
        free(l);
        return NULL;
}

size_t strv_length(char *const *l) {
        size_t n = 0;

        while (l && l[n])
                n++;
        return n;
}

bool strv_contains(char *const *l, const char *s) {
        for (size_t i = 0; l && l[i]; i++)
                if (streq(l[i], s))
                        return true;
        return false;
}

bool strv_equal(char *const *a, char *const *b) {
        size_t n = strv_length(a);

        if (n != strv_length(b))
                return false;
        for (size_t i = 0; i < n; i++)
                if (!streq(a[i], b[i]))
                        return false;
        return true;
}

int strv_consume(char ***l, char *s) {
        size_t n;
        char **grown;

        assert(l);

        n = strv_length(*l);
        if (!s)
                return -ENOMEM;

        grown = reallocarray(*l, n + 2, sizeof(char *));
        if (!grown) {
                free(s);
                return -ENOMEM;
        }

        grown[n] = s;
        grown[n + 1] = NULL;
        *l = grown;
        return 0;
}

int strv_extend(char ***l, const char *s) {
        return strv_consume(l, strdup(s));
}

int strv_copy(char *const *l, char ***ret) {
        _cleanup_strv_ char **copy = NULL;

        assert(ret);

        for (size_t i = 0; l && l[i]; i++) {
                int r = strv_extend(&copy, l[i]);
                if (r < 0)
                        return r;
        }

        *ret = TAKE_PTR(copy);
        return 0;
}

int strv_split(const char *s, const char *separators, char ***ret) {
        _cleanup_strv_ char **l = NULL;

        assert(separators);
        assert(ret);

        for (const char *p = strempty(s);;) {
                size_t n;
                int r;

                p += strspn(p, separators);
                n = strcspn(p, separators);
                if (n == 0)
                        break;
                r = strv_consume(&l, strndup(p, n));
                if (r < 0)
                        return r;
                p += n;
        }

        *ret = TAKE_PTR(l);
        return 0;
}

char *strv_join(char *const *l, const char *separator) {
        size_t size = 1;
        char *joined, *p;

        for (size_t i = 0; l && l[i]; i++)
                size += strlen(l[i]) + strlen(separator);

        joined = p = malloc(size);
        if (!joined)
                return NULL;

        for (size_t i = 0; l && l[i]; i++) {
                if (i > 0)
                        p = stpcpy(p, separator);
                p = stpcpy(p, l[i]);
        }
        *p = '\0';
        return joined;
}

/* The length of the valid UTF-8 sequence at s, 0 if there is none. *ret: its character; may be NULL. */
static size_t utf8_sequence(const unsigned char *s, uint32_t *ret) {
        size_t n;
        uint32_t c;

        if (s[0] < 0x80) {
                if (ret)
                        *ret = s[0];
                return 1;
        }
        if (s[0] >= 0xc2 && s[0] <= 0xdf) {
                n = 2;
                c = s[0] & 0x1fu;
        } else if (s[0] >= 0xe0 && s[0] <= 0xef) {
                n = 3;
                c = s[0] & 0x0fu;
        } else if (s[0] >= 0xf0 && s[0] <= 0xf4) {
                n = 4;
                c = s[0] & 0x07u;
        } else
                return 0;

        for (size_t i = 1; i < n; i++) {
                if ((s[i] & 0xc0) != 0x80)
                        return 0;
                c = (c << 6) | (s[i] & 0x3fu);
        }

        if ((n == 3 && c < 0x800) || (n == 4 && c < 0x10000) || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
                return 0;
        /* Noncharacters of Unicode: sd-bus refuses a string that has one. */
        if ((c >= 0xfdd0 && c <= 0xfdef) || (c & 0xfffe) == 0xfffe)
                return 0;
        if (ret)
                *ret = c;
        return n;
}

bool utf8_is_valid(const char *s) {
        for (size_t n; *s; s += n) {
                n = utf8_sequence((const unsigned char *) s, NULL);
                if (n == 0)
                        return false;
        }
        return true;
}

size_t utf8_length_within(const char *s, size_t max) {
        size_t n = strnlen(s, max);

        while (n > 0 && ((unsigned char) s[n] & 0xc0) == 0x80)
                n--;
        return n;
}

/* Whether a character is a control character, is invisible, looks like a blank and is none, or changes the
 * display of the text around it. By Unicode 15: Default_Ignorable_Code_Point; Zs but for U+0020, Zl, and Zp;
 * interlinear annotations; and the blank of Braille. */
static bool is_hidden(uint32_t c) {
        static const uint32_t ranges[][2] = {
                { 0x0000, 0x001f },   { 0x007f, 0x00a0 },   { 0x00ad, 0x00ad }, { 0x034f, 0x034f },
                { 0x061c, 0x061c },   { 0x115f, 0x1160 },   { 0x1680, 0x1680 }, { 0x17b4, 0x17b5 },
                { 0x180b, 0x180f },   { 0x2000, 0x200f },   { 0x2028, 0x202f }, { 0x205f, 0x206f },
                { 0x2800, 0x2800 },   { 0x3000, 0x3000 },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },
                { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffb }, { 0x1bca0, 0x1bca3 },
                { 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
        };

        for (size_t i = 0; i < ELEMENTSOF(ranges); i++)
                if (c >= ranges[i][0] && c <= ranges[i][1])
                        return true;
        return false;
}

bool text_is_clean(const char *s) {
        uint32_t c;

        for (size_t n; *s; s += n) {
                n = utf8_sequence((const unsigned char *) s, &c);
                if (n == 0 || is_hidden(c))
                        return false;
        }
        return true;
}

static char *escape_bytes(const char *s, size_t max, bool backslashes) {
        const char *hex = "0123456789abcdef";
        size_t limit = strnlen(s, max);
        char *escaped, *p;

        escaped = p = malloc(limit * 4 + sizeof("..."));
        if (!escaped)
                return NULL;

        for (size_t i = 0; i < limit;) {
                unsigned char c = (unsigned char) s[i];
                uint32_t character = 0;
                size_t n = utf8_sequence((const unsigned char *) s + i, &character);

                if (n == 0 || (backslashes && c == '\\') || is_hidden(character)) {
                        *p++ = '\\';
                        *p++ = 'x';
                        *p++ = hex[c >> 4];
                        *p++ = hex[c & 15];
                        i++;
                        continue;
                }
                if (i + n > limit)
                        break;
                p = mempcpy(p, s + i, n);
                i += n;
        }

        strcpy(p, s[limit] ? "..." : "");
        return escaped;
}

char *string_escape(const char *s, size_t max) {
        return escape_bytes(s, max, true);
}

char *text_make_clean(const char *s) {
        return escape_bytes(s, strlen(s), false);
}

char *text_join_lines(char *s) {
        for (char *p = s; p && (p = strchr(p, '\n'));)
                *p = ' ';
        return s;
}

char *shell_quote(const char *s) {
        static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/.,:@%+=_-";
        _cleanup_free_ char *escaped = string_escape(s, strlen(s));
        bool has_escapes = escaped && strchr(escaped, '\\');
        const char *apostrophe = has_escapes ? "\\'" : "'\\''";
        char *quoted, *p;

        if (!escaped || (!isempty(s) && s[strspn(s, plain)] == '\0'))
                return TAKE_PTR(escaped);
        quoted = p = malloc(strlen(escaped) * strlen("'\\''") + sizeof("$''"));
        if (!quoted)
                return NULL;
        p = stpcpy(p, has_escapes ? "$'" : "'");
        for (const char *q = escaped; *q; q++)
                if (*q == '\'')
                        p = stpcpy(p, apostrophe);
                else
                        *p++ = *q;
        strcpy(p, "'");
        return quoted;
}

int parse_u64(const char *s, unsigned long long *ret) {
        unsigned long long v = 0;

        assert(ret);

        if (isempty(s))
                return -EINVAL;

        for (; *s; s++) {
                if (*s < '0' || *s > '9')
                        return -EINVAL;
                if (__builtin_mul_overflow(v, 10ull, &v) || __builtin_add_overflow(v, (unsigned) (*s - '0'), &v))
                        return -ERANGE;
        }

        *ret = v;
        return 0;
}

int parse_boolean(const char *s) {
        static const char *const yes[] = { "yes", "true", "on", "1" }, *const no[] = { "no", "false", "off", "0" };

        for (size_t i = 0; i < ELEMENTSOF(yes); i++) {
                if (streq_ptr(s, yes[i]))
                        return 1;
                if (streq_ptr(s, no[i]))
                        return 0;
        }
        return -EINVAL;
}

const char *string_table_get(const StringTable *t, size_t value) {
        return value < t->n ? t->words[value] : NULL;
}

int string_table_find(const StringTable *t, const char *s) {
        for (size_t i = 0; s && i < t->n; i++)
                if (t->words[i] && streq(t->words[i], s))
                        return (int) i;
        return -EINVAL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stdint.h>

#include "model/context.h"

enum { SENSITIVITIES = 16, CATEGORIES = 1024 };

typedef struct Level {
        unsigned sensitivity;
        uint64_t categories[CATEGORIES / 64];
} Level;

static bool has_category(const Level *l, unsigned c) {
        return (l->categories[c / 64] >> (c % 64)) & 1;
}

/* Reads a letter and a number at *p. Refuses leading zeros, because the kernel looks names up by their
 * text. */
static int parse_name(const char **p, char letter, unsigned limit, unsigned *ret) {
        const char *s = *p;
        unsigned v = 0;
        size_t digits;

        if (*s++ != letter)
                return -EINVAL;
        digits = strspn(s, "0123456789");
        if (digits == 0 || (digits > 1 && s[0] == '0'))
                return -EINVAL;
        if (digits > 4)
                return -ERANGE;
        for (size_t i = 0; i < digits; i++)
                v = v * 10 + (unsigned) (s[i] - '0');
        if (v >= limit)
                return -ERANGE;

        *ret = v;
        *p = s + digits;
        return 0;
}

static int parse_categories(const char **p, Level *l) {
        for (;;) {
                unsigned first, last;
                int r;

                r = parse_name(p, 'c', CATEGORIES, &first);
                if (r < 0)
                        return r;
                last = first;
                if (**p == '.') {
                        (*p)++;
                        r = parse_name(p, 'c', CATEGORIES, &last);
                        if (r < 0)
                                return r;
                        if (last <= first)
                                return -EINVAL;
                }
                for (unsigned c = first; c <= last; c++)
                        l->categories[c / 64] |= UINT64_C(1) << (c % 64);

                if (**p != ',')
                        return 0;
                (*p)++;
        }
}

static int parse_level(const char **p, Level *ret) {
        Level l = { 0 };
        int r;

        r = parse_name(p, 's', SENSITIVITIES, &l.sensitivity);
        if (r < 0)
                return r;
        if (**p == ':') {
                (*p)++;
                r = parse_categories(p, &l);
                if (r < 0)
                        return r;
        }
        *ret = l;
        return 0;
}

static bool level_dominates(const Level *high, const Level *low) {
        if (high->sensitivity < low->sensitivity)
                return false;
        for (size_t i = 0; i < ELEMENTSOF(high->categories); i++)
                if (low->categories[i] & ~high->categories[i])
                        return false;
        return true;
}

static void print_level(FILE *f, const Level *l) {
        char separator = ':';

        fprintf(f, "s%u", l->sensitivity);
        for (unsigned c = 0; c < CATEGORIES; c++) {
                unsigned last = c;

                if (!has_category(l, c))
                        continue;
                while (last + 1 < CATEGORIES && has_category(l, last + 1))
                        last++;
                fprintf(f, "%cc%u", separator, c);
                if (last > c)
                        fprintf(f, "%cc%u", last == c + 1 ? ',' : '.', last);
                separator = ',';
                c = last;
        }
}

/* Parses LEVEL or LOW-HIGH. */
static int parse_range(const char *s, Level *ret_low, Level *ret_high) {
        Level low, high;
        int r;

        r = parse_level(&s, &low);
        if (r < 0)
                return r;
        high = low;
        if (*s == '-') {
                s++;
                r = parse_level(&s, &high);
                if (r < 0)
                        return r;
        }
        if (*s != '\0' || !level_dominates(&high, &low))
                return -EINVAL;
        *ret_low = low;
        *ret_high = high;
        return 0;
}

static int format_range(const Level *low, const Level *high, char **ret) {
        _cleanup_free_ char *text = NULL;
        size_t size;
        FILE *stream;

        stream = open_memstream(&text, &size);
        if (!stream)
                return -ENOMEM;
        print_level(stream, low);
        if (!level_dominates(low, high)) { /* high always dominates low; equal if low dominates high, too */
                fputc('-', stream);
                print_level(stream, high);
        }
        if (fclose(stream) != 0)
                return -ENOMEM;
        *ret = TAKE_PTR(text);
        return 0;
}

int level_canonicalize(const char *level, char **ret, Failure *f) {
        _cleanup_free_ char *escaped = NULL;
        Level low, high;
        int r;

        assert(level && ret && f);

        if (strnlen(level, CONTEXT_MAX + 1) > CONTEXT_MAX)
                return failure_set(f, FAILURE_INVALID_CONTEXT, "The level is longer than %i bytes.", CONTEXT_MAX);
        r = parse_range(level, &low, &high);
        if (r >= 0)
                return format_range(&low, &high, ret);
        escaped = string_escape(level, 80);
        if (!escaped)
                return -ENOMEM;
        if (r == -ERANGE)
                return failure_set(f, FAILURE_INVALID_CONTEXT,
                                   "Level '%s' is out of range: sensitivities are s0 to s15, categories c0 to c1023.",
                                   escaped);
        return failure_set(f, FAILURE_INVALID_CONTEXT,
                           "Level '%s' is malformed: write it as s0, s0:c1,c2 or s0:c1.c5,c7.", escaped);
}

bool context_name_is_valid(const char *s) {
        size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-");

        return n > 0 && n <= NAME_MAX_BYTES && s[n] == '\0';
}

/* Returns a part of a context as pointer and length, so that a comparison allocates no memory. The level
 * includes all colons after the third. */
static const char *find_part(const char *context, ContextPart part, size_t *ret_length) {
        for (ContextPart i = 0; i < part; i++) {
                context += strcspn(context, ":");
                if (*context == ':')
                        context++;
        }
        *ret_length = part == CONTEXT_LEVEL ? strlen(context) : strcspn(context, ":");
        return context;
}

char *context_part(const char *context, ContextPart part) {
        size_t n;

        assert(context && part < CONTEXT_PARTS);

        context = find_part(context, part, &n);
        return strndup(context, n);
}

/* Absent parts are "". */
typedef struct Parts {
        char *part[CONTEXT_PARTS];
} Parts;

static void parts_done(Parts *p) {
        for (ContextPart i = 0; i < CONTEXT_PARTS; i++)
                free(p->part[i]);
}

static int parts_split(const char *context, Parts *p) {
        for (ContextPart i = 0; i < CONTEXT_PARTS; i++) {
                p->part[i] = context_part(context, i);
                if (!p->part[i])
                        return -ENOMEM;
        }
        return 0;
}

static int parts_canonicalize(const char *context, const Parts *p, char **ret, Failure *f) {
        static const char *const names[] = { "user", "role", "type" };
        _cleanup_free_ char *level = NULL;
        char *joined;
        int r;

        for (size_t i = 0; i < CONTEXT_LEVEL; i++)
                if (!context_name_is_valid(p->part[i])) {
                        _cleanup_free_ char *escaped = string_escape(context, 80);

                        if (!escaped)
                                return -ENOMEM;
                        return failure_set(
                                f, FAILURE_INVALID_CONTEXT,
                                "Context '%s' is malformed: its %s is missing or has characters other than letters, digits, '_', '.' and '-'; write user:role:type:level.",
                                escaped, names[i]);
                }

        if (!isempty(p->part[CONTEXT_LEVEL])) {
                r = level_canonicalize(p->part[CONTEXT_LEVEL], &level, f);
                if (r != 0)
                        return r;
        }

        joined = strdup_printf("%s:%s:%s%s%s", p->part[CONTEXT_USER], p->part[CONTEXT_ROLE], p->part[CONTEXT_TYPE],
                               level ? ":" : "", strempty(level));
        if (!joined)
                return -ENOMEM;
        *ret = joined;
        return 0;
}

int context_canonicalize(const char *context, char **ret, Failure *f) {
        _cleanup_(parts_done) Parts p = { 0 };
        Level low, high;
        int r;

        assert(context && ret && f);

        if (strnlen(context, CONTEXT_MAX + 1) > CONTEXT_MAX)
                return failure_set(f, FAILURE_INVALID_CONTEXT, "The context is longer than %i bytes.", CONTEXT_MAX);
        if (parse_range(context, &low, &high) >= 0)
                return failure_set(f, FAILURE_INVALID_CONTEXT, "'%s' is a level: pass \"SELinuxLevel\"=%s.", context,
                                   context);
        r = parts_split(context, &p);
        return r < 0 ? r : parts_canonicalize(context, &p, ret, f);
}

int context_complete(const char *file_context, const char *user, const char *level, char **ret, Failure *f) {
        _cleanup_(parts_done) Parts p = { 0 };
        int r;

        assert(file_context && ret && f);

        r = parts_split(file_context, &p);
        if (r >= 0 && !isempty(user))
                r = free_and_strdup(&p.part[CONTEXT_USER], user);
        if (r >= 0 && !isempty(level))
                r = free_and_strdup(&p.part[CONTEXT_LEVEL], level);
        return r < 0 ? r : parts_canonicalize(file_context, &p, ret, f);
}

bool contexts_conflict(const char *a, const char *b) {
        for (ContextPart part = 0; part < CONTEXT_PARTS; part++) {
                size_t na, nb;
                const char *pa = find_part(a, part, &na), *pb = find_part(b, part, &nb);

                if (part != CONTEXT_LEVEL && (na == 0 || nb == 0))
                        continue;
                if (na != nb || memcmp(pa, pb, na) != 0)
                        return true;
        }
        return false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"

typedef struct Unit {
        const char *name;
        uint64_t usec;
} Unit;

static const Unit units[] = {
        { "us", 1 },
        { "usec", 1 },
        { "ms", USEC_PER_MSEC },
        { "msec", USEC_PER_MSEC },
        { "", USEC_PER_SEC },
        { "s", USEC_PER_SEC },
        { "sec", USEC_PER_SEC },
        { "second", USEC_PER_SEC },
        { "seconds", USEC_PER_SEC },
        { "m", 60 * USEC_PER_SEC },
        { "min", 60 * USEC_PER_SEC },
        { "minute", 60 * USEC_PER_SEC },
        { "minutes", 60 * USEC_PER_SEC },
        { "h", 3600 * USEC_PER_SEC },
        { "hr", 3600 * USEC_PER_SEC },
        { "hour", 3600 * USEC_PER_SEC },
        { "hours", 3600 * USEC_PER_SEC },
        { "d", 86400 * USEC_PER_SEC },
        { "day", 86400 * USEC_PER_SEC },
        { "days", 86400 * USEC_PER_SEC },
        { "w", 7 * 86400 * USEC_PER_SEC },
        { "week", 7 * 86400 * USEC_PER_SEC },
        { "weeks", 7 * 86400 * USEC_PER_SEC },
};

/* Returns 0 if there is no unit of that name, which has n bytes. */
static uint64_t find_unit(const char *name, size_t n) {
        for (size_t i = 0; i < ELEMENTSOF(units); i++)
                if (strlen(units[i].name) == n && strncmp(units[i].name, name, n) == 0)
                        return units[i].usec;
        return 0;
}

/* Reads one number with its unit, and the blanks after it. */
static int parse_part(const char **s, uint64_t *ret_usec) {
        size_t digits = strspn(*s, "0123456789"), letters;
        _cleanup_free_ char *number = strndup(*s, digits);
        unsigned long long value;
        const char *unit;
        uint64_t usec;
        int r;

        if (!number)
                return -ENOMEM;
        r = parse_u64(number, &value);
        if (r < 0)
                return r;
        unit = *s + digits + strspn(*s + digits, " ");
        letters = strspn(unit, "abcdefghijklmnopqrstuvwxyz");
        usec = find_unit(unit, letters);
        if (usec == 0)
                return -EINVAL;
        *s = unit + letters;
        *s += strspn(*s, " ");
        return __builtin_mul_overflow((uint64_t) value, usec, ret_usec) ? -ERANGE : 0;
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/format.h"

enum { TEXT_MAX = 4096, MINUTE = 60, HOUR = 60 * MINUTE, DAY = 24 * HOUR };

char *format_string(const char *s) {
        return string_escape(s, TEXT_MAX);
}

char *format_escaped(const char *s) {
        return strlen(s) < TEXT_MAX && text_is_clean(s) ? strdup(s) : string_escape(s, TEXT_MAX);
}

char *format_ascii(const char *s) {
        char *text = malloc(strlen(s) * strlen("\\xff") + 1), *end = text;

        for (; text && *s; s++)
                if ((unsigned char) *s < 0x80)
                        *end++ = *s;
                else
                        end += sprintf(end, "\\x%02x", (unsigned int) (unsigned char) *s);
        if (text)
                *end = '\0';
        return text;
}

char *format_time(uint64_t usec) {
        time_t seconds = (time_t) (usec / USEC_PER_SEC);
        char buffer[64];
        struct tm tm;

        if (!localtime_r(&seconds, &tm) || strftime(buffer, sizeof(buffer), "%F %T %Z", &tm) == 0)
                return strdup("");
        return strdup(buffer);
}

char *format_duration(uint64_t usec) {
        if (usec < USEC_PER_MSEC)
                return strdup_printf("%" PRIu64 "us", usec);
        if (usec < USEC_PER_SEC)
                return strdup_printf("%" PRIu64 "ms", usec / USEC_PER_MSEC);
        if (usec < MINUTE * USEC_PER_SEC)
                return strdup_printf("%" PRIu64 ".%" PRIu64 "s", usec / USEC_PER_SEC, usec % USEC_PER_SEC / 100000);
        return format_seconds(usec / USEC_PER_SEC);
}

char *format_seconds(uint64_t seconds) {
        if (seconds < MINUTE)
                return strdup_printf("%" PRIu64 "s", seconds);
        if (seconds < HOUR)
                return strdup_printf("%" PRIu64 "min %" PRIu64 "s", seconds / MINUTE, seconds % MINUTE);
        if (seconds < DAY)
                return strdup_printf("%" PRIu64 "h %" PRIu64 "min", seconds / HOUR, seconds % HOUR / MINUTE);
        return strdup_printf("%" PRIu64 "d %" PRIu64 "h", seconds / DAY, seconds % DAY / HOUR);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <nghttp2/nghttp2.h>

#include "basic/time-util.h"
#include "grpc/status.h"

GrpcCode grpc_code_parse(const char *s) {
        unsigned long long code;

        return parse_u64(s, &code) == 0 && code < GRPC_CODES ? (GrpcCode) code : GRPC_UNKNOWN;
}

GrpcCode grpc_code_of_http(unsigned status) {
        switch (status) {
        case 400:
        case 431:
                return GRPC_INTERNAL;
        case 401:
                return GRPC_UNAUTHENTICATED;
        case 403:
                return GRPC_PERMISSION_DENIED;
        case 404:
                return GRPC_UNIMPLEMENTED;
        case 429:
        case 502:
        case 503:
        case 504:
                return GRPC_UNAVAILABLE;
        default:
                return GRPC_UNKNOWN;
        }
}

GrpcCode grpc_code_of_reset(uint32_t error) {
        switch (error) {
        case NGHTTP2_REFUSED_STREAM:
                return GRPC_UNAVAILABLE;
        case NGHTTP2_CANCEL:
                return GRPC_CANCELLED;
        case NGHTTP2_ENHANCE_YOUR_CALM:
                return GRPC_RESOURCE_EXHAUSTED;
        case NGHTTP2_INADEQUATE_SECURITY:
                return GRPC_PERMISSION_DENIED;
        default:
                return GRPC_INTERNAL;
        }
}

/* Receivers may take blanks at both ends away, or refuse them. */
static bool is_plain(const char *text, size_t i) {
        if (text[i] == ' ')
                return i > 0 && text[i + 1] != '\0';
        return text[i] > ' ' && text[i] <= '~' && text[i] != '%';
}

char *grpc_text_escape(const char *text) {
        char *value = malloc(3 * strlen(text) + 1), *p = value;

        if (!value)
                return NULL;
        for (size_t i = 0; text[i] != '\0'; i++)
                if (is_plain(text, i))
                        *p++ = text[i];
                else
                        p += sprintf(p, "%%%02X", (unsigned char) text[i]);
        *p = '\0';
        return value;
}

static int hex_digit(char c) {
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        return -EINVAL;
}

/* Returns the byte of "%XX", or a negative errno if s does not begin with one. */
static int escaped_byte(const char *s) {
        int high, low;

        if (s[0] != '%')
                return -EINVAL;
        high = hex_digit(s[1]);
        if (high < 0)
                return high;
        low = hex_digit(s[2]);
        if (low < 0)
                return low;
        /* A string of C can't hold it. */
        return high == 0 && low == 0 ? -EINVAL : high * 16 + low;
}

char *grpc_text_unescape(const char *value) {
        char *text = malloc(strlen(value) + 1), *p = text;

        if (!text)
                return NULL;
        while (*value != '\0') {
                int byte = escaped_byte(value);

                *p++ = byte < 0 ? *value : (char) byte;
                value += byte < 0 ? 1 : 3;
        }
        *p = '\0';
        return text;
}

/* From the finest to the coarsest; nanoseconds are apart, as they are less than our unit. */
static const struct {
        char unit;
        uint64_t usec;
} timeout_units[] = {
        { 'u', 1 },
        { 'm', USEC_PER_MSEC },
        { 'S', USEC_PER_SEC },
        { 'M', 60 * USEC_PER_SEC },
        { 'H', 3600 * USEC_PER_SEC },
};

enum { TIMEOUT_DIGITS = 8, TIMEOUT_MAX = 99999999 };

int grpc_timeout_parse(const char *s, uint64_t *ret_usec) {
        size_t digits = strspn(s, "0123456789");
        uint64_t value = 0;

        if (digits == 0 || digits > TIMEOUT_DIGITS || s[digits] == '\0' || s[digits + 1] != '\0')
                return -EINVAL;
        for (size_t i = 0; i < digits; i++)
                value = value * 10 + (uint64_t) (s[i] - '0');
        if (s[digits] == 'n') {
                *ret_usec = (value + NSEC_PER_USEC - 1) / NSEC_PER_USEC;
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(timeout_units); i++)
                if (timeout_units[i].unit == s[digits]) {
                        *ret_usec = value * timeout_units[i].usec;
                        return 0;
                }
        return -EINVAL;
}

void grpc_timeout_format(uint64_t usec, char ret[static GRPC_TIMEOUT_SIZE]) {
        size_t i = 0;
        uint64_t value;

        while (usec / timeout_units[i].usec > TIMEOUT_MAX && i < ELEMENTSOF(timeout_units) - 1)
                i++;
        value = usec / timeout_units[i].usec;
        (void) snprintf(ret, GRPC_TIMEOUT_SIZE, "%u%c", (unsigned) (value < TIMEOUT_MAX ? value : TIMEOUT_MAX),
                        timeout_units[i].unit);
}

bool grpc_content_type_is_valid(const char *s) {
        const char *rest = startswith(s, "application/grpc");

        return rest && (*rest == '\0' || *rest == '+' || *rest == ';');
}

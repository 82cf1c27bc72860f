/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdarg.h>

#include "basic/string-util.h"
#include "mount-helper/report.h"

enum { TEXT_MAX = 8192 };

int report(int status, const char *format, ...) {
        _cleanup_free_ char *message = NULL, *escaped = NULL;
        va_list ap;

        va_start(ap, format);
        message = strdup_vprintf(format, ap);
        va_end(ap);
        if (message && !text_is_clean(message))
                escaped = string_escape(message, TEXT_MAX);
        fprintf(stderr, PROGRAM ": %s\n", strempty(escaped ? escaped : message));
        return status;
}

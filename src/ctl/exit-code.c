/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <systemd/sd-bus.h>

#include "basic/string-util.h"
#include "ctl/exit-code.h"
#include "wire/names.h"

int exit_code_of(const char *error_name) {
        static const struct {
                const char *name;
                int code;
        } table[] = {
                { "LevelRequired", EXIT_USAGE },
                { "InvalidContext", EXIT_USAGE },
                { "InvalidVolume", EXIT_USAGE },
                { "InvalidTarget", EXIT_USAGE },
                { "InvalidOption", EXIT_USAGE },
                { SD_BUS_ERROR_INVALID_ARGS, EXIT_USAGE },
                { "ContextConflict", EXIT_CONFLICT },
                { "GroupConflict", EXIT_CONFLICT },
                { "Busy", EXIT_CONFLICT },
                { "LimitReached", EXIT_CONFLICT },
                { SD_BUS_ERROR_ACCESS_DENIED, EXIT_DENIED },
                { SD_BUS_ERROR_AUTH_FAILED, EXIT_DENIED },
                { SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED, EXIT_DENIED },
                { "TimedOut", EXIT_TIMEOUT },
                { SD_BUS_ERROR_TIMEOUT, EXIT_TIMEOUT },
                { "PathNotAllowed", EXIT_REFUSED },
                { "TypeNotAllowed", EXIT_REFUSED },
                { "Incompatible", EXIT_REFUSED },
                { "SourceChanged", EXIT_REFUSED },
                { "NotSupported", EXIT_REFUSED },
                { "SELinuxDenied", EXIT_REFUSED },
        };
        const char *short_name = startswith(error_name, ERROR_PREFIX);

        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(short_name ? short_name : error_name, table[i].name))
                        return table[i].code;
        return EXIT_FAILURE;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/message-size.h"
#include "basic/string-util.h"
#include "model/limits.h"

static bool is_small(sd_bus_message *m, size_t *values, size_t *bytes, size_t bytes_max) {
        const char *contents;
        char type;
        int r;

        while ((r = sd_bus_message_peek_type(m, &type, &contents)) > 0) {
                union {
                        uint64_t number;
                        const char *string;
                } value;

                if (++*values > CALL_VALUES_MAX || type == SD_BUS_TYPE_UNIX_FD)
                        return false;
                if (contents) {
                        if (sd_bus_message_enter_container(m, type, contents) < 0 ||
                            !is_small(m, values, bytes, bytes_max) || sd_bus_message_exit_container(m) < 0)
                                return false;
                        continue;
                }
                if (sd_bus_message_read_basic(m, type, &value) < 0)
                        return false;
                if (strchr("sog", type))
                        *bytes += strlen(value.string);
                if (*bytes > bytes_max)
                        return false;
        }
        return r == 0;
}

bool message_is_small(sd_bus_message *m, size_t bytes_max) {
        size_t values = 0, bytes = strlen(strempty(sd_bus_message_get_path(m)));

        return sd_bus_message_rewind(m, true) >= 0 && is_small(m, &values, &bytes, bytes_max) &&
               sd_bus_message_rewind(m, true) >= 0;
}

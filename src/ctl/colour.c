/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdlib.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "ctl/colour.h"

bool terminal_obeys(int fd) {
        const char *term = getenv("TERM");

        return isatty(fd) && !isempty(term) && !streq(term, "dumb");
}

bool colours_wanted(int fd) {
        return terminal_obeys(fd) && isempty(getenv("NO_COLOR"));
}

const char *colour_of(const char *key, const char *value) {
        static const struct {
                const char *key, *value, *colour;
        } table[] = {
                { "OwnershipState", "partial", COLOUR_YELLOW },
                { "LabelState", "partial", COLOUR_YELLOW },
                { "Tainted", "yes", COLOUR_YELLOW },
                { "State", "mounting", COLOUR_YELLOW },
                { "State", "unmounting", COLOUR_YELLOW },
                { "SELinuxMode", "permissive", COLOUR_YELLOW },
                { "SELinuxMode", "disabled", COLOUR_YELLOW },
                { "Matches", "no", COLOUR_RED },
        };

        if (!key || isempty(value))
                return NULL;
        if (streq(key, "Error") || streq(key, "Message"))
                return COLOUR_RED;
        for (size_t i = 0; i < ELEMENTSOF(table); i++)
                if (streq(table[i].key, key) && streq(table[i].value, value))
                        return table[i].colour;
        return NULL;
}

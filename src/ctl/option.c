/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "basic/cleanup.h"
#include "ctl/option.h"

typedef struct SwitchInfo {
        Switch bit;
        char letter; /* 0: none */
        const char *name, *description;
        const char *argument, *values; /* NULL: none. A word of values may be omitted, and AGE */
} SwitchInfo;

static const SwitchInfo switches[] = {
        { SWITCH_LINES, 'n', "lines", "Number of entries to print (default: 64)", "NUMBER" },
        { SWITCH_ALL, 0, "all", "Adopt the mounts of devices at or beneath a directory" },
        { SWITCH_YES, 'y', "yes", "Adopt them, instead of only listing them" },
        { SWITCH_UNUSED, 0, "unused", "Forget all volumes that nobody has used for that time (default: 0)", "AGE" },
        { SWITCH_WATCH, 'w', "watch", "Keep showing what changes, until interrupted" },
        { SWITCH_NO_WAIT, 0, "no-wait", "Print the number of the job and exit" },
        { SWITCH_JSON, 0, "json", "Print JSON", "FORM", "short pretty" },
        { SWITCH_NO_LEGEND, 0, "no-legend", "Print no headings and no summary" },
        { SWITCH_FULL, 'l', "full", "Do not shorten cells to fit the terminal" },
        { SWITCH_NO_PAGER, 0, "no-pager", "Do not show output in a pager" },
        { SWITCH_QUIET, 'q', "quiet", "Print nothing on success" },
        { SWITCH_ASK_PASSWORD, 0, "ask-password", "Let polkit ask for a password (the default)" },
        { SWITCH_NO_ASK_PASSWORD, 0, "no-ask-password", "Do not let polkit ask for a password" },
        { SWITCH_HELP, 'h', "help", "Print this help" },
        { SWITCH_VERSION, 0, "version", "Print the version" },
};
static_assert(ELEMENTSOF(switches) == SWITCHES, "");

static Option of_selvold(RequestOptionId id) {
        const RequestOption *o = &request_options[id];

        return (Option){
                .name = o->long_name,
                .letter = id == OPTION_MOUNT_OPTIONS ? 'o' : 0,
                .argument = o->argument,
                .may_omit = id == OPTION_WAIT,
                .values = o->type[0] == 'b' && o->argument ? "yes no" : o->values,
                .description = o->description,
                .methods = o->methods,
                .request = o,
        };
}

Option option_get(size_t i) {
        const SwitchInfo *s;

        if (i < REQUEST_OPTIONS)
                return of_selvold((RequestOptionId) i);
        assert(i < OPTIONS);
        s = &switches[i - REQUEST_OPTIONS];
        return (Option){
                .name = s->name,
                .letter = s->letter,
                .argument = s->argument,
                .may_omit = s->values || s->bit == SWITCH_UNUSED,
                .values = s->values,
                .description = s->description,
                .bit = s->bit,
        };
}

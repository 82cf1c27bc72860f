/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <getopt.h>
#include <stdarg.h>
#include <time.h>

#include "basic/path-util.h"
#include "basic/time-util.h"
#include "ctl/args.h"
#include "ctl/terminal.h"
#include "wire/names.h"

/* For a long option, getopt_long() returns this plus the index of the option. */
enum { LONG_OPTION = 0x100 };

int report_usage(const char *format, ...) {
        _cleanup_free_ char *message = NULL, *line = NULL;
        va_list ap;

        va_start(ap, format);
        message = strdup_vprintf(format, ap);
        va_end(ap);
        line = message ? format_escaped(message) : NULL;
        report_error(NULL, strempty(line));
        return EXIT_USAGE;
}

/* --- options --- */

typedef struct SwitchInfo {
        Switch bit;
        char letter; /* 0: none */
        const char *name, *description;
        const char *argument, *values; /* NULL: none */
} SwitchInfo;

#define SORT_WORDS    "id target holder level state age"
#define AGE_EXPECTED  "a time, such as 30d or 12h"
#define TIME_EXPECTED "a time, such as 2h (ago), today, yesterday, \"2026-01-31 18:00\" or 2026-01-31"

static const SwitchInfo switches[] = {
        { SWITCH_LINES, 'n', "lines", "Number of entries to print (default: 64)", "NUMBER" },
        { SWITCH_SINCE, 'S', "since", "Only entries since a time: 2h (ago), today, 2026-01-31", "TIME" },
        { SWITCH_UNTIL, 'U', "until", "Only entries until a time", "TIME" },
        { SWITCH_FAILED, 0, "failed", "Only failures" },
        { SWITCH_FOLLOW, 'f', "follow", "Print new entries as they come, until interrupted" },
        { SWITCH_ALL, 'a', "all", "list: also volumes that nobody holds; adopt: all mounts; unmount: all holders" },
        { SWITCH_YES, 'y', "yes", "Adopt them, instead of only listing them" },
        { SWITCH_UNUSED, 0, "unused", "Forget all volumes that nobody has used for that time (default: 0)", "AGE" },
        { SWITCH_CHANGED, 0, "changed", "Print only what differs from the shipped configuration" },
        { SWITCH_VOLUME, 0, "volume", "The volume's id, also one that begins as a path does", "ID" },
        { SWITCH_MKDIR, 'm', "mkdir", "Make the target's directory if it is missing" },
        { SWITCH_PRINT_FLAGS, 0, "print-flags", "Print only the options that podman or docker need" },
        { SWITCH_VERBOSE, 'v', "verbose", "Print the full contexts of a conflict, too" },
        { SWITCH_ROOT, 0, "root", "Read the configuration of the system in a directory", "DIR" },
        { SWITCH_WATCH, 'w', "watch", "Print what happens to jobs, until interrupted" },
        { SWITCH_NO_WAIT, 0, "no-wait", "Print the number of the job and exit" },
        { SWITCH_OUTPUT, 0, "output", "Form of the output, also -o", "FORM", "wide name json" },
        { SWITCH_SORT, 0, "sort", "Column to sort by", "COLUMN", SORT_WORDS },
        { SWITCH_JSON, 0, "json", "Print JSON", "FORM", "short pretty" },
        { SWITCH_NO_LEGEND, 0, "no-legend", "Print no headings and no summary" },
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
                .bit = id == OPTION_HOLDER ? SWITCH_HOLDER : 0,
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
                .may_omit = s->bit == SWITCH_JSON || s->bit == SWITCH_UNUSED,
                .values = s->values,
                .description = s->description,
                .bit = s->bit,
        };
}

/* --- values --- */

static int refuse_value(const Option *o, const char *value) {
        const bool time = o->bit == SWITCH_SINCE || o->bit == SWITCH_UNTIL;
        _cleanup_free_ char *expected = o->request  ? value_expected((RequestOptionId) (o->request - request_options))
                                        : o->values ? format_words(o->values)
                                        : o->bit == SWITCH_UNUSED ? strdup(AGE_EXPECTED)
                                        : time                    ? strdup(TIME_EXPECTED)
                                                                  : strdup("a number");

        return expected ? report_usage("--%s=%s: must be %s.", o->name, value, expected) : -ENOMEM;
}

static int read_request_option(Args *a, size_t i, const char *value) {
        Option o = option_get(i);
        int r;

        r = value_parse((RequestOptionId) i, value, &a->values[i]);
        return r == 0 || r == -ENOMEM ? r : refuse_value(&o, value);
}

/* Reads a time in the past: how long ago, or a date, in local time. Returns 0 or -EINVAL. */
static int parse_time(const char *value, uint64_t *ret_usec) {
        static const char *const formats[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%d" };
        const time_t now = time(NULL);
        uint64_t ago;

        if (parse_timespan(value, &ago) >= 0 && ago <= now_realtime_usec()) {
                *ret_usec = now_realtime_usec() - ago;
                return 0;
        }
        for (size_t i = 0; i < ELEMENTSOF(formats) + 2; i++) {
                struct tm tm = { .tm_isdst = -1 };
                time_t t;

                if (i >= ELEMENTSOF(formats)) {
                        if (!streq(value, i == ELEMENTSOF(formats) ? "today" : "yesterday") ||
                            !localtime_r(&now, &tm))
                                continue;
                        tm.tm_mday -= i > ELEMENTSOF(formats);
                        tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
                        tm.tm_isdst = -1;
                } else {
                        const char *end = strptime(value, formats[i], &tm);

                        if (!end || *end != '\0')
                                continue;
                }
                t = mktime(&tm);
                if (t < 0)
                        return -EINVAL;
                *ret_usec = (uint64_t) t * USEC_PER_SEC;
                return 0;
        }
        return -EINVAL;
}

static int parse_switch(Args *a, const Option *o, const char *value) {
        switch (o->bit) {
        case SWITCH_UNUSED:
                return parse_timespan(value, &a->unused_usec);
        case SWITCH_SINCE:
                return parse_time(value, &a->since_usec);
        case SWITCH_UNTIL:
                return parse_time(value, &a->until_usec);
        case SWITCH_LINES:
                return parse_u64(value, &a->lines);
        case SWITCH_OUTPUT:
                a->output = value;
                break;
        case SWITCH_SORT:
                a->sort = value;
                break;
        case SWITCH_ROOT:
                a->root = value;
                return 0;
        case SWITCH_VOLUME:
                a->volume = value;
                return 0;
        }
        return parse_word(value, o->values);
}

static int read_switch(Args *a, size_t i, const char *value) {
        Option o = option_get(i);

        /* The last one of these two options counts. */
        if (o.bit == SWITCH_ASK_PASSWORD || o.bit == SWITCH_NO_ASK_PASSWORD)
                a->switches &= ~(unsigned int) (SWITCH_ASK_PASSWORD | SWITCH_NO_ASK_PASSWORD);
        a->switches |= o.bit;
        if (value && parse_switch(a, &o, value) < 0)
                return refuse_value(&o, value);
        if (o.bit == SWITCH_JSON || args_ask_for(a, "json")) {
                a->switches |= SWITCH_JSON;
                a->json_pretty = o.bit == SWITCH_JSON && value ? streq(value, "pretty") : isatty(STDOUT_FILENO);
        }
        return 0;
}

int args_read_o(Args *a, bool mounts) {
        size_t i = OPTION_MOUNT_OPTIONS;

        if (!a->o_value)
                return 0;
        if (mounts)
                return read_request_option(a, i, a->o_value);
        while (option_get(i).bit != SWITCH_OUTPUT)
                i++;
        return read_switch(a, i, a->o_value);
}

static int read_option(Args *a, int c, const char *value) {
        size_t i = 0;

        if (c >= LONG_OPTION)
                i = (size_t) (c - LONG_OPTION);
        else
                while (option_get(i).letter != c)
                        i++;
        /* All but the last -o are mount options, in their order: an output has one form. */
        if (i == OPTION_MOUNT_OPTIONS && a->o_value) {
                int r = args_read_o(a, true);

                if (r != 0)
                        return r;
                a->o_value = NULL;
        }
        if (c == 'o') {
                a->o_value = value;
                return 0;
        }
        return i < REQUEST_OPTIONS ? read_request_option(a, i, value) : read_switch(a, i, value);
}

/* --- the command line --- */

/* c and optopt are those of getopt_long(). */
static int refuse_option(int c, const char *argument) {
        Option o;

        if (optopt == 0)
                return report_usage("Unknown option '%.*s'. See 'selvolctl --help'.", (int) strcspn(argument, "="),
                                    argument);
        if (optopt >= LONG_OPTION) {
                o = option_get((size_t) (optopt - LONG_OPTION));
                return c == ':' ? report_usage("Option --%s needs a value: --%s=%s.", o.name, o.name, o.argument)
                                : report_usage("Option --%s takes no value.", o.name);
        }
        return c == ':' ? report_usage("Option -%c needs a value.", optopt)
                        : report_usage("Unknown option '-%c'. See 'selvolctl --help'.", optopt);
}

int args_parse(int argc, char **argv, Args *ret) {
        struct option long_options[OPTIONS + 1] = { 0 };
        char letters[2 * OPTIONS + 2] = ":", *next = letters + 1;
        _cleanup_(args_done) Args a = { 0 };
        int c, r;

        for (int i = 0; i < OPTIONS; i++) {
                Option o = option_get((size_t) i);

                long_options[i] = (struct option){ .name = o.name,
                                                   .has_arg = !o.argument  ? no_argument
                                                              : o.may_omit ? optional_argument
                                                                           : required_argument,
                                                   .val = LONG_OPTION + i };
                if (o.letter) {
                        *next++ = o.letter;
                        if (o.argument)
                                *next++ = ':';
                }
        }

        opterr = 0;
        optind = 0; /* GNU: also reset the position within an argument */
        while ((c = getopt_long(argc, argv, letters, long_options, NULL)) >= 0) {
                r = c == '?' || c == ':' ? refuse_option(c, argv[optind - 1]) : read_option(&a, c, optarg);
                if (r != 0)
                        return r;
        }

        if (a.values[OPTION_HOLDER].set)
                a.switches |= SWITCH_HOLDER;
        if (optind < argc)
                a.verb = argv[optind++];
        /* getopt_long() has moved the options, of which --volume= is one, before the operands. */
        if (a.volume)
                argv[--optind] = (char *) a.volume;
        a.operands = argv + optind;
        a.n_operands = argc - optind;

        *ret = TAKE_STRUCT(a);
        return 0;
}

bool path_is_meant(const char *operand) {
        size_t dots = strspn(operand, ".");

        return dots <= 2 && (operand[dots] == '/' || (dots > 0 && operand[dots] == '\0'));
}

int args_clean_paths(Args *a, const char *kinds) {
        const int n = (int) strlen(kinds), skipped = kinds[0] == 'V' ? n - a->n_operands : 0;

        for (int i = 0; i < a->n_operands; i++) {
                const char kind = kinds[i + skipped < n ? i + skipped : n - 1];
                char *path;
                int r;

                if ((i == 0 && a->volume) || kind == 'v' || kind == 'V' ||
                    (!(kind == 'p' && a->n_operands > 1) && !path_is_meant(a->operands[i])))
                        continue;
                path = path_make_clean(a->operands[i]);
                if (!path)
                        return -errno;
                r = strv_consume(&a->paths, path);
                if (r < 0)
                        return r;
                a->operands[i] = path;
        }
        return 0;
}

void args_done(Args *a) {
        strv_free(a->paths);
        values_done(a->values);
        *a = (Args){ 0 };
}

bool args_have_option(const Args *a, size_t i) {
        return i < REQUEST_OPTIONS ? a->values[i].set : a->switches & option_get(i).bit;
}

/* --- exit codes --- */

int exit_code_of(const char *error_name) {
        static const struct {
                const char *name;
                int code;
        } table[] = {
                { "LevelRequired", EXIT_USAGE },
                { "InvalidContext", EXIT_USAGE },
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
                { "InvalidVolume", EXIT_REFUSED },
                { "InvalidTarget", EXIT_REFUSED },
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

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>

#include "ctl/args.h"
#include "ctl/format.h"
#include "ctl/parse.h"
#include "ctl/terminal.h"

typedef struct SwitchInfo {
        Switch bit;
        char letter; /* 0: none */
        const char *name, *description;
} SwitchInfo;

static const SwitchInfo switches[] = {
        { SWITCH_HISTORY, 0, "history", "Also print what was decided and done" },
        { SWITCH_NO_WAIT, 0, "no-wait", "Print the number of the job and exit" },
        { SWITCH_JSON, 0, "json", "Print JSON" },
        { SWITCH_NO_LEGEND, 0, "no-legend", "Print no headings and no summary" },
        { SWITCH_QUIET, 'q', "quiet", "Print nothing on success" },
        { SWITCH_ASK_PASSWORD, 0, "ask-password", "Let polkit ask for a password (the default)" },
        { SWITCH_NO_ASK_PASSWORD, 0, "no-ask-password", "Do not let polkit ask for a password" },
        { SWITCH_HELP, 'h', "help", "Print this help" },
        { SWITCH_VERSION, 0, "version", "Print the version" },
};

/* What getopt_long() returns for a long option. */
enum { ARG_REQUEST = 0x100, ARG_SWITCH = 0x200 };

static char letter_of(RequestOptionId id) {
        return id == OPTION_MOUNT_OPTIONS ? 'o' : 0;
}

/* Returns 0, -ENOMEM, or another errno if the value is none of the option's. */
static int parse_value(const RequestOption *o, const char *value, OptionValue *v) {
        unsigned long long number;
        gid_t gid;
        int r;

        switch (o->type[0]) {
        case 'b':
                r = value ? parse_boolean(value) : 1;
                v->number = r > 0;
                return r < 0 ? r : 0;
        case 'u':
                r = parse_gid(value, &gid);
                if (r >= 0)
                        v->number = gid;
                return r;
        case 't':
                if (strstr(o->name, "USec"))
                        return parse_timespan(value, &v->number);
                r = parse_u64(value, &number);
                if (r >= 0)
                        v->number = number;
                return r;
        case 'a':
                return utf8_is_valid(value) ? parse_mount_options(value, &v->list) : -EINVAL;
        default:
                v->string = value;
                return utf8_is_valid(value) ? 0 : -EINVAL;
        }
}

static const char *expected_value(const RequestOption *o) {
        switch (o->type[0]) {
        case 'b':
                return "yes or no";
        case 'u':
                return GID_EXPECTED;
        case 't':
                return strstr(o->name, "USec") ? "a time such as 20s, 1min or 500ms" : "a number";
        case 'a':
                return "UTF-8, and a closing quote for each opening one";
        default:
                return "UTF-8";
        }
}

static int read_request_option(Args *a, RequestOptionId id, const char *value) {
        const RequestOption *o = &request_options[id];
        _cleanup_free_ char *escaped = NULL;
        int r;

        a->values[id].set = true;
        r = parse_value(o, value, &a->values[id]);
        if (r == 0 || r == -ENOMEM)
                return r;
        escaped = format_string(value);
        if (!escaped)
                return -ENOMEM;
        fprintf(stderr, "selvolctl: --%s=%s: expected %s\n", o->long_name, escaped, expected_value(o));
        return EXIT_USAGE;
}

static void take_switch(Args *a, Switch s) {
        /* Of these two the last one counts. */
        if (s == SWITCH_ASK_PASSWORD || s == SWITCH_NO_ASK_PASSWORD)
                a->switches &= ~(unsigned int) (SWITCH_ASK_PASSWORD | SWITCH_NO_ASK_PASSWORD);
        a->switches |= s;
}

static int read_option(Args *a, int c, const char *value) {
        if (c >= ARG_SWITCH) {
                take_switch(a, switches[c - ARG_SWITCH].bit);
                return 0;
        }
        if (c >= ARG_REQUEST)
                return read_request_option(a, (RequestOptionId) (c - ARG_REQUEST), value);
        if (c == letter_of(OPTION_MOUNT_OPTIONS))
                return read_request_option(a, OPTION_MOUNT_OPTIONS, value);
        for (size_t i = 0; i < ELEMENTSOF(switches); i++)
                if (c == switches[i].letter) {
                        take_switch(a, switches[i].bit);
                        return 0;
                }
        return EXIT_USAGE; /* getopt has said what is wrong */
}

int args_parse(int argc, char **argv, Args *ret) {
        struct option long_options[REQUEST_OPTIONS + ELEMENTSOF(switches) + 1] = { 0 }, *next = long_options;
        _cleanup_(args_done) Args a = { 0 };
        int c, r;

        for (int i = 0; i < REQUEST_OPTIONS; i++)
                *next++ = (struct option){ .name = request_options[i].long_name,
                                           .has_arg = request_options[i].argument ? required_argument : no_argument,
                                           .val = ARG_REQUEST + i };
        for (int i = 0; i < (int) ELEMENTSOF(switches); i++)
                *next++ = (struct option){ .name = switches[i].name, .val = ARG_SWITCH + i };

        optind = 0; /* GNU: also forget the position within an argument */
        while ((c = getopt_long(argc, argv, "ho:q", long_options, NULL)) >= 0) {
                r = read_option(&a, c, optarg);
                if (r != 0)
                        return r;
        }

        if (optind < argc)
                a.verb = argv[optind++];
        a.operands = argv + optind;
        a.n_operands = argc - optind;

        *ret = a;
        a = (Args){ 0 };
        return 0;
}

void args_done(Args *a) {
        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                strv_free(a->values[i].list);
        *a = (Args){ 0 };
}

static int refuse_option(const Verb *v, const char *name) {
        fprintf(stderr, "selvolctl: %s does not take --%s\n", v->name, name);
        return EXIT_USAGE;
}

static int bad_usage(const Verb *v) {
        fprintf(stderr, "selvolctl: usage: selvolctl %s%s%s\n", v->name, v->operands[0] ? " " : "", v->operands);
        return EXIT_USAGE;
}

int args_check(const Args *a, const Verb *v) {
        if (a->n_operands < v->min || a->n_operands > v->max)
                return bad_usage(v);
        for (int i = 0; i < a->n_operands; i++)
                if (!utf8_is_valid(a->operands[i])) {
                        report_error(a->operands[i], "expected UTF-8");
                        return EXIT_USAGE;
                }
        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                if (a->values[i].set && !(request_options[i].methods & v->methods))
                        return refuse_option(v, request_options[i].long_name);
        for (size_t i = 0; i < ELEMENTSOF(switches); i++)
                if (a->switches & switches[i].bit & ~(v->switches | SWITCHES_COMMON))
                        return refuse_option(v, switches[i].name);
        return 0;
}

enum { HELP_INDENT = 38 };

/* In the column of all descriptions, after what takes so many columns. */
static void print_description(int used, const char *description) {
        printf("%*s%s\n", used < HELP_INDENT ? HELP_INDENT - used : 1, "", description);
}

static void print_option(char letter, const char *name, const char *argument, const char *description) {
        char letters[] = { '-', letter, '\0' };

        print_description(
                printf("  %2s --%s%s%s", letter ? letters : "", name, argument ? "=" : "", strempty(argument)),
                description);
}

static void print_switches(unsigned int set) {
        for (size_t i = 0; i < ELEMENTSOF(switches); i++)
                if (switches[i].bit & set)
                        print_option(switches[i].letter, switches[i].name, NULL, switches[i].description);
}

static void print_verb_help(const Verb *v) {
        printf("selvolctl [OPTIONS...] %s%s%s\n\n%s.\n\nOptions:\n", v->name, v->operands[0] ? " " : "", v->operands,
               v->description);
        for (size_t i = 0; i < REQUEST_OPTIONS; i++)
                if (request_options[i].methods & v->methods)
                        print_option(letter_of((RequestOptionId) i), request_options[i].long_name,
                                     request_options[i].argument, request_options[i].description);
        print_switches(v->switches | SWITCHES_COMMON);
}

void args_help(const Verb *verbs, size_t n, const Verb *verb) {
        if (verb) {
                print_verb_help(verb);
                return;
        }

        puts("selvolctl [OPTIONS...] VERB ...\n\n"
             "List, explain, mount and change the volumes of selvol.\n\n"
             "Verbs:");
        for (size_t i = 0; i < n; i++)
                print_description(printf("  %s %s", verbs[i].name, verbs[i].operands), verbs[i].description);
        puts("\nCommon options:");
        print_switches(SWITCHES_COMMON | SWITCH_JSON);
        puts("\n'selvolctl VERB --help' lists all options of a verb.\n\n"
             "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 conflict, 4 not authorized,\n"
             "5 verify: the label or the group does not match.\n\n"
             "See selvolctl(1) for details.");
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <getopt.h>

#include "basic/path-util.h"
#include "client/values.h"
#include "ctl/args.h"
#include "ctl/suggest.h"
#include "ctl/terminal.h"

/* For a long option, getopt_long() returns this plus the index of the option. */
enum { LONG_OPTION = 0x100 };

static int refuse_value(const Option *o, const char *value) {
        _cleanup_free_ char *expected = o->request  ? value_expected((RequestOptionId) (o->request - request_options))
                                        : o->values ? format_words(o->values)
                                        : o->bit == SWITCH_UNUSED ? strdup("a time, such as 30d or 12h")
                                                                  : strdup("a number");

        return expected ? report_usage("--%s=%s: must be %s.", o->name, value, expected) : -ENOMEM;
}

static int read_request_option(Args *a, size_t i, const char *value) {
        Option o = option_get(i);
        int r;

        r = value_parse((RequestOptionId) i, value, &a->values[i]);
        return r == 0 || r == -ENOMEM ? r : refuse_value(&o, value);
}

static int parse_switch(Args *a, const Option *o, const char *value) {
        if (o->values)
                return parse_word(value, o->values);
        return o->bit == SWITCH_UNUSED ? parse_timespan(value, &a->unused_usec) : parse_u64(value, &a->lines);
}

static int read_switch(Args *a, size_t i, const char *value) {
        Option o = option_get(i);

        /* The last one of these two options counts. */
        if (o.bit == SWITCH_ASK_PASSWORD || o.bit == SWITCH_NO_ASK_PASSWORD)
                a->switches &= ~(unsigned int) (SWITCH_ASK_PASSWORD | SWITCH_NO_ASK_PASSWORD);
        a->switches |= o.bit;
        if (value && parse_switch(a, &o, value) < 0)
                return refuse_value(&o, value);
        if (o.bit == SWITCH_JSON)
                a->json_pretty = value ? streq(value, "pretty") : isatty(STDOUT_FILENO);
        return 0;
}

static int read_option(Args *a, int c, const char *value) {
        size_t i = 0;

        if (c >= LONG_OPTION)
                i = (size_t) (c - LONG_OPTION);
        else
                while (option_get(i).letter != c)
                        i++;
        return i < REQUEST_OPTIONS ? read_request_option(a, i, value) : read_switch(a, i, value);
}

/* Reports an option that getopt_long() does not know, or an ambiguous beginning of several. */
static int refuse_unknown(const char *argument) {
        _cleanup_free_ char *name = strndup(argument + strlen("--"), strcspn(argument + strlen("--"), "="));
        Suggestion s = { 0 };

        if (!name)
                return -ENOMEM;
        for (size_t i = 0; i < OPTIONS; i++)
                suggest_consider(&s, name, option_get(i).name);
        if (s.word)
                return report_usage("Unknown option '--%s'. Did you mean '--%s'?", name, s.word);
        return report_usage("Unknown option '--%s'. See 'selvolctl --help'.", name);
}

/* c and optopt are those of getopt_long(). */
static int refuse_option(int c, const char *argument) {
        Option o;

        if (optopt == 0)
                return refuse_unknown(argument);
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

        if (optind < argc)
                a.verb = argv[optind++];
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
        const int n = (int) strlen(kinds), skipped = n > a->n_operands ? n - a->n_operands : 0;

        for (int i = 0; i < a->n_operands; i++) {
                const char kind = kinds[i + skipped < n ? i + skipped : n - 1];
                char *path;
                int r;

                if (kind == 'v' || (!(kind == 'p' && a->n_operands > 1) && !path_is_meant(a->operands[i])))
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

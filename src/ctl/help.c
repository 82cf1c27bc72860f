/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/format.h"
#include "ctl/help.h"

enum { HELP_INDENT = 38 };

static const char *const headings[VERB_GROUPS] = {
        [GROUP_LOOK] = "Look at volumes:",
        [GROUP_CHANGE] = "Change volumes:",
        [GROUP_JOBS] = "Jobs:",
        [GROUP_SERVICE] = "Other:",
};

/* Prints a description in the column of all descriptions; used: the columns before it. */
static void print_description(int used, const char *description) {
        printf("%*s%s\n", used < HELP_INDENT ? HELP_INDENT - used : 1, "", description);
}

static void print_option(const Option *o) {
        _cleanup_free_ char *words = o->values && !streq(o->argument, "BOOL") ? format_words(o->values) : NULL;
        _cleanup_free_ char *text = strdup_printf("%s%s%s", o->description, words ? ": " : "", strempty(words));
        char letter[] = { '-', o->letter, '\0' };

        print_description(printf("  %2s --%s%s%s%s%s", o->letter ? letter : "", o->name, o->may_omit ? "[" : "",
                                 o->argument ? "=" : "", strempty(o->argument), o->may_omit ? "]" : ""),
                          strempty(text));
}

static void print_verb(const Verb *v) {
        printf("selvolctl [OPTIONS...] %s%s%s\n\n%s.\n", v->name, v->operands[0] ? " " : "", v->operands,
               v->description);
        if (v->alias)
                printf("'selvolctl %s' is the same.\n", v->alias);
        puts("\nOptions:");
        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (verb_takes(v, &o))
                        print_option(&o);
        }
}

static void print_program(void) {
        puts("selvolctl [OPTIONS...] VERB ...\n\n"
             "List, explain, mount and change the volumes of selvol.");
        for (size_t g = 0; g < VERB_GROUPS; g++) {
                printf("\n%s\n", headings[g]);
                for (size_t i = 0; i < n_verbs; i++)
                        if (verbs[i].group == g)
                                print_description(printf("  %s %s", verbs[i].name, verbs[i].operands),
                                                  verbs[i].description);
        }
        puts("\nCommon options:");
        for (size_t i = 0; i < OPTIONS; i++) {
                Option o = option_get(i);

                if (o.bit & (SWITCHES_COMMON | SWITCH_JSON))
                        print_option(&o);
        }
        puts("\n'selvolctl VERB --help' lists all options of a verb.\n\n"
             "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 conflict with another user of the volume,\n"
             "4 not authorized, 5 verify found a mismatch, 6 timed out, 7 not allowed or not possible here.\n\n"
             "See selvolctl(1) for details.");
}

void help_print(const Verb *v) {
        if (v)
                print_verb(v);
        else
                print_program();
}

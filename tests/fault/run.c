/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <stdlib.h>

#include "run.h"

enum { EXIT_USAGE = 2, EXIT_SKIPPED = 77 };

static void parse_arguments(Run *r, const RunSpec *spec, int argc, char **argv) {
        const GOptionEntry entries[] = {
                { "seed", 0, 0, G_OPTION_ARG_INT, &r->seed, "What decides (random)", "N" },
                { spec->option, 0, 0, G_OPTION_ARG_INT, &r->amount, spec->about, "N" },
                { "full", 0, 0, G_OPTION_ARG_NONE, &r->full, "All that there is to do", NULL },
                { spec->has_scenes ? "scene" : NULL, 0, 0, G_OPTION_ARG_INT, &r->only,
                  "Interrupt one scene only, from 0 on", "N" },
                { 0 },
        };
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_autoptr(GError) error = NULL;

        g_option_context_add_main_entries(context, entries, NULL);
        if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 1 || r->seed < 0 || r->amount <= 0) {
                g_printerr("%s: %s\n", spec->name, error ? error->message : "see --help");
                exit(EXIT_USAGE);
        }
        if (r->full && spec->all > 0)
                r->amount = spec->all;
}

void run_begin(Run *r, const RunSpec *spec, int argc, char **argv) {
        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        r->seed = (int) (g_random_int() >> 1);
        r->amount = spec->few;
        r->only = -1;
        parse_arguments(r, spec, argc, argv);
        if (!namespace_enter())
                exit(EXIT_SKIPPED);
        g_print("1..2\n# to repeat: meson test -C %s %s --test-args='--seed %i --%s %i'\n",
                spec->directory ?: "build-asan", spec->name, r->seed, spec->option, r->amount);
        r->rand = g_rand_new_with_seed((uint32_t) r->seed);
        environment_start(&r->environment);
        r->client = client_new(&r->environment, 0);
}

int run_end(Run *r, bool ok) {
        client_free(r->client);
        environment_stop(&r->environment);
        return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

bool run_report(bool ok, int number, const char *what) {
        g_print("%sok %i - %s\n", ok ? "" : "not ", number, what);
        return ok;
}

void run_print_wrong(const Run *r, const Wrong *w) {
        g_print("# volume %i, target %i: %s\n", w->volume, w->target, w->text);
        model_print_history(w->volume, w->target);
        print_log(r->environment.log);
}

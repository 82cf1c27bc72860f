/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The completion of selvolctl in real shells: the words that the last word of a command line can become, with
 * the blank that follows. test-ctl-usage.c has the words that selvolctl itself offers. */
#include <locale.h>

#include <glib/gstdio.h>

#include "ctl-support.h"

#define ID(element, id) "'/org/selvol1/volume/" element "': {'org.selvol1.Volume': {'Id': <'" id "'>}}, "
#define OTHERS          ID("x", "csi:disk=1:2") ID("b", "dm9s=") ID("o", "-q") ID("h", "~root") ID("v", "v=~root")
#define KNOWN                                                                                                                                                           \
        GET_OBJECTS(                                                                                                                                                    \
                "({objectpath '" PVC1 "': {'org.selvol1.Volume': {'Id': <'pvc-1'>, 'Holders': <[{'Target': "                                                            \
                "<'/nowhere/a b'>}, {'Target': <'/nowhere/c'>, 'Context': <'u:r:t:s0:c1,c2'>}, {'Context': <'u:r:t:s0:c3'>}, {'Context': <'u:r:t:s0:c3'>}]>}}, " OTHERS \
                "'" JOB6 "': {'org.selvol1.Job': {'Id': <uint64 6>, 'State': <'ended'>}}, '" JOB7                                                                       \
                "': {'org.selvol1.Job': {'Id': <uint64 7>, 'State': <'acting'>}}},)")

/* The command is what was typed after "selvolctl "; FILES is a directory. */
static const Case cases[] = {
        { "verb", "rel", .out = "relabel \n" },
        { "verbs", "s", .out = "show \nstatus \n" },
        { "verb-of-help", "help mon", .out = "monitor \n" },
        { "option", "jobs --w", .out = "--watch \n" },
        { "option-with-value", "unmount --t", .out = "--timeout=\n" },
        { "value", "plan --policy=O", .out = "--policy=OnVolumeMount \n" },
        { "values", "verify --depth=", .out = "--depth=full \n--depth=root \n" },
        { "value-word", "plan --policy A", .out = "Always \n" },
        { "volumes", "forget ", CALLS(KNOWN), .out = "csi:disk=1:2 \ndm9s= \npvc-1 \n" },
        { "volumes-no-options", "forget -- ", CALLS(KNOWN), .out = "-q \ncsi:disk=1:2 \ndm9s= \npvc-1 \n" },
        { "volume", "relabel p", CALLS(KNOWN), .out = "pvc-1 \n" },
        { "volume-with-colons", "relabel csi:d", CALLS(KNOWN), .out = "csi:disk=1:2 \n" },
        { "target", "unmount /nowhere/c", CALLS(KNOWN, KNOWN), .out = "/nowhere/c \n" },
        { "level", "mount v /dev/x /t --level=", CALLS(KNOWN), .out = "--level=s0:c1,c2 \n--level=s0:c3 \n" },
        { "level-word", "relabel v --level s0:c3", CALLS(KNOWN), .out = "s0:c3 \n" },
        { "job", "cancel ", CALLS(KNOWN), .out = "7 \n" },
        { "files", "mount v FILES/f", .out = "FILES/file-1 \nFILES/file-2 \n" },
        { "files-glob", "mount v FILES/g", .out = "FILES/glob-* \nFILES/glob-1 \n" },
        { "nothing", "conflicts x" },
};

static const struct {
        const char *name, *needs, *script;
} shells[] = {
        { "bash", "/usr/share/bash-completion/bash_completion", "src/ctl/completion/selvolctl.bash" },
        { "zsh", "/usr/bin/zsh", "src/ctl/completion/_selvolctl" },
};

static char *files; /* a directory with some */

/* With tests/bus/complete.SHELL in selvolctl's place. */
static void test_words(Fixture *f, gconstpointer data) {
        size_t n = G_N_ELEMENTS(shells), i = GPOINTER_TO_SIZE(data) / n, shell = GPOINTER_TO_SIZE(data) % n;
        const char *top = g_getenv("G_TEST_SRCDIR");
        g_autofree char *ctl = g_strdup(g_getenv("SELVOLCTL")),
                        *complete = g_strdup_printf("%s/tests/bus/complete.%s %s/%s", top, shells[shell].name, top,
                                                    shells[shell].script);
        g_autoptr(GString) typed = g_string_new(NULL), words = g_string_new(cases[i].out);
        Case c = cases[i];

        if (!g_file_test(shells[shell].needs, G_FILE_TEST_EXISTS)) {
                g_test_skip("the shell's completion is not installed");
                return;
        }
        g_string_printf(typed, "'selvolctl %s'", c.command);
        g_string_replace(typed, "FILES", files, 0);
        g_string_replace(words, "FILES", files, 0);
        c.command = typed->str;
        c.out = words->str;
        g_setenv("SELVOLCTL", complete, TRUE);
        test_case(f, &c);
        g_setenv("SELVOLCTL", ctl, TRUE);
}

/* The shells find selvolctl by its name. */
static void extend_path(void) {
        g_autofree char *directory = g_path_get_dirname(g_getenv("SELVOLCTL")),
                        *path = g_strdup_printf("%s:%s", directory, g_getenv("PATH"));

        g_setenv("PATH", path, TRUE);
}

int main(int argc, char **argv) {
        static const char *const names[] = { "file-1", "file-2", "glob-*", "glob-1" };
        int r;

        setlocale(LC_ALL, "C.UTF-8");
        g_test_init(&argc, &argv, NULL);
        g_test_set_nonfatal_assertions();
        extend_path();
        files = g_dir_make_tmp("selvolctl-XXXXXX", NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename(files, names[i], NULL);

                g_assert_true(g_file_set_contents(path, "", 0, NULL));
        }

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                for (size_t k = 0; k < G_N_ELEMENTS(shells); k++) {
                        g_autofree char *path =
                                g_strdup_printf("/ctl-completion/%s/%s", shells[k].name, cases[i].name);

                        g_test_add(path, Fixture, GSIZE_TO_POINTER(i * G_N_ELEMENTS(shells) + k), fixture_set_up,
                                   test_words, fixture_tear_down);
                }
        r = g_test_run();
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename(files, names[i], NULL);

                g_assert_cmpint(g_unlink(path), ==, 0);
        }
        g_assert_cmpint(g_rmdir(files), ==, 0);
        g_free(files);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The output of selvolctl on a terminal: tables that fit, colors, and the pager. */
#include <locale.h>
#include <string.h>

#include "ctl-support.h"

/* The names that kubelet chooses. */
#define PV     "pvc-0d9c0f1e-6b1c-4a5e-9a39-0c9a5f1d2b3c"
#define POD    "1f0e9c5a-7d1a-4a0e-8b1f-3f6f1a2b4c5d"
#define TARGET "/var/lib/kubelet/pods/" POD "/volumes/kubernetes.io~csi/" PV "/mount"

#define VOLUMES                                                                                              \
        "({objectpath '" PVC1 "': {'org.selvol1.Volume': {'Id': <'" PV "'>, 'Strategy': <'context-mount'>, " \
        "'Context': <'" CONTEXT "'>, 'LabelState': <'unknown'>, 'FSType': <'ext4'>, 'Source': "              \
        "<'/srv/images/année.img'>, 'Holders': <[{'Holder': <'" POD "'>, 'Target': <'" TARGET                \
        "'>, 'State': <'mounted'>, 'SinceUSec': <uint64 32503680000000000>}]>}}},)"

#define COUNTED "1 of 1 volumes listed.\n"

/* With what a pager puts before each line. */
#define LISTED(prefix)                                                                             \
        prefix "ID               TARGET           HOLDER           LEVEL     STATE   AGE\n" prefix \
               "pvc-0d9…5f1d2b3c /var/li…3c/mount 1f0e9c5…1a2b4c5d s0:c0,c10 mounted 0s\n" prefix  \
               "\n" prefix COUNTED

typedef struct ListCase {
        const char *name, *command;
        unsigned short columns;
        const char *pager; /* NULL: none is set */
        const char *out;   /* "\n" is "\r\n" there */
} ListCase;

static const ListCase cases[] = {
        { "80", "list", 80, "",
          "ID                 TARGET              HOLDER              LEVEL     STATE   AGE\n"
          "pvc-0d9c…a5f1d2b3c /var/lib/…b3c/mount 1f0e9c5a-…f1a2b4c5d s0:c0,c10 mounted 0s\n\n" COUNTED },
        { "100", "list", 100, "",
          "ID                        TARGET                    HOLDER                     LEVEL     STATE   AGE\n"
          "pvc-0d9c0f1e…0c9a5f1d2b3c /var/lib/kub…1d2b3c/mount 1f0e9c5a-7d1…-3f6f1a2b4c5d s0:c0,c10 mounted 0s\n\n" COUNTED },
        { "narrow", "list", 72, "", LISTED("") },
        { "wide", "list -o wide --no-legend", 72, "",
          PV " " TARGET " " POD " mounted 0s " CONTEXT " - - ext4 /srv/images/année.img\n" },
        { "tiny", "list", 10, "",
          "ID       TARGET   HOLDER   LEVEL     STATE   AGE\n"
          "pvc…2b3c /va…ount 1f0…4c5d s0:c0,c10 mounted 0s\n\n" COUNTED },
        { "pager", "list", 72, "sed s/^/:/", LISTED(":") },
        { "no-such-pager", "list", 72, "/nowhere/pager -x", LISTED("pager:") },
        { "no-pager", "list --no-pager --no-legend -o name", 72, "sed s/^/:/", PV "\n" },
        { "pager-that-ends", "list", 72, "true", "" },
};

/* A directory with pagers, and nothing else. */
static char *pagers;

/* Returns what it has written on the terminal. */
static char *run_list(Fixture *f, const char *command, unsigned short columns, const char *pager) {
        static const Exchange exchanges[] = {
                GET_OBJECTS(VOLUMES),
                GET_OF_MANAGER("UnrecordedMounts", "(<@a(ss) []>,)"),
        };
        g_autofree char *out = NULL, *path = g_strdup(g_getenv("PATH"));
        g_auto(GStrv) lines = NULL;
        g_auto(Terminal) t = { 0 };

        g_setenv("PAGER", pager, TRUE);
        g_setenv("PATH", pagers, TRUE);
        terminal_start_output(&t, command, columns);
        g_setenv("PATH", path, TRUE);
        serve_calls(f, exchanges, G_N_ELEMENTS(exchanges));
        out = terminal_finish(&t);
        g_assert_cmpint(g_subprocess_get_exit_status(t.child), ==, 0);
        lines = g_strsplit(t.output->str, "\r\n", -1);
        return g_strjoinv("\n", lines);
}

static void add_program(const char *name, const char *text) {
        g_autofree char *path = g_build_filename(pagers, name, NULL);

        g_assert_true(g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0700, NULL));
}

static void add_pagers(void) {
        g_autofree char *sed = g_find_program_in_path("sed"),
                        *pager = g_strdup_printf("#!/bin/sh\nexec %s s/^/pager:/\n", sed),
                        *less = g_strdup_printf("#!/bin/sh\nexec %s s/^/less-$LESSSECURE:/\n", sed),
                        *own = g_strdup_printf("#!/bin/sh\nexec %s \"$@\"\n", sed);

        add_program("pager", pager);
        add_program("less", less);
        add_program("sed", own);
        add_program("true", "#!/bin/sh\n");
}

static void remove_program(const char *name) {
        g_autofree char *path = g_build_filename(pagers, name, NULL);

        g_assert_cmpint(unlink(path), ==, 0);
}

static void test_list(Fixture *f, gconstpointer data) {
        const ListCase *c = data;
        g_autofree char *text = run_list(f, c->command, c->columns, c->pager);

        g_assert_cmpstr(text, ==, c->out);
}

static const Case pager_cases[] = {
        { "jobs", "jobs", CALLS(NO_OBJECTS), .out = ":0 jobs listed.\r\n" },
        { "history", "history",
          .journal = RECORD("32503680000000000", "selvold.service",
                            "SELVOL_OPERATION=mount\nSELVOL_RESULT=done\nMESSAGE=Mounted.\n"),
          .out = ":3000-01-01 00:00:00 (0s ago) Mounted.\r\n" },
        { "history/empty", "history", .journal = NO_RECORDS, .out = "The history is empty.\r\n" },
        { "history/empty-volume", "history pvc-1", .journal = NO_RECORDS,
          .out = "The history of pvc-1 is empty.\r\n" },
        { "history/empty-quiet", "history -q", .journal = NO_RECORDS },
        { "config", "config --root=ROOT",
          .out = ":[Service]\r\n:# ROOT/etc/selvol/selvol.conf:2\r\n:JobTimeoutSec=20\r\n" },
};

/* The other verbs with long output; ROOT is a directory with a configuration. */
static void test_pager(Fixture *f, gconstpointer data) {
        const Case *c = data;
        g_autofree char *root = g_dir_make_tmp("selvolctl-XXXXXX", NULL),
                        *directory = g_build_filename(root, "etc/selvol", NULL),
                        *file = g_build_filename(directory, "selvol.conf", NULL),
                        *remove = g_strdup_printf("rm -r '%s'", root), *out = NULL;
        g_autoptr(GString) command = g_string_new(c->command), expected = g_string_new(c->out);
        g_auto(Terminal) t = { 0 };

        g_string_replace(command, "ROOT", root, 0);
        g_string_replace(expected, "ROOT", root, 0);
        g_assert_cmpint(g_mkdir_with_parents(directory, 0700), ==, 0);
        g_assert_true(g_file_set_contents(file, "[Service]\nJobTimeoutSec=20\n", -1, NULL));
        if (c->journal)
                write_journal(f, c->journal);
        g_setenv("PAGER", "sed s/^/:/", TRUE);
        terminal_start_output(&t, command->str, 200);
        serve_calls(f, c->exchanges, EXCHANGES_MAX);
        out = terminal_finish(&t);
        g_assert_cmpstr(t.output->str, ==, expected->str);
        g_assert_true(g_spawn_command_line_sync(remove, NULL, NULL, NULL, NULL));
}

#define SECURE LISTED("less-1:")

typedef struct SecureCase {
        const char *name, *sudo_uid, *secure; /* NULL: not set */
        const char *out;
} SecureCase;

static const SecureCase secure_cases[] = {
        { "less", "1000", NULL, SECURE },
        { "wanted", NULL, "1", SECURE },
        { "not-wanted", "1000", "no", LISTED(":") },
        { "empty", "1000", "", SECURE },
        { "invalid", "1000", "maybe", SECURE },
        { "invalid-unprivileged", NULL, "maybe", LISTED(":") },
};

static void set_variable(const char *name, const char *value) {
        if (value)
                g_setenv(name, value, TRUE);
        else
                g_unsetenv(name);
}

/* By sudo and for root, or where that is wanted, only less without its commands is used. */
static void test_privileged(Fixture *f, gconstpointer data) {
        const SecureCase *c = data;
        g_autofree char *text = NULL;

        set_variable("SUDO_UID", c->sudo_uid);
        set_variable("SYSTEMD_PAGERSECURE", c->secure);
        text = run_list(f, "list", 72, "sed s/^/:/");
        g_assert_cmpstr(text, ==, c->out);
        g_unsetenv("SUDO_UID");
        g_unsetenv("SYSTEMD_PAGERSECURE");
}

static void test_privileged_without_less(Fixture *f, gconstpointer data) {
        g_autofree char *text = NULL;

        remove_program("less");
        g_setenv("SUDO_UID", "1000", TRUE);
        text = run_list(f, "list", 72, "sed s/^/:/");
        g_assert_cmpstr(text, ==, LISTED(""));
        g_unsetenv("SUDO_UID");
        add_pagers();
}

/* Words that need attention have a color, also through a pager. */
static void test_colors(Fixture *f, gconstpointer data) {
        static const Exchange exchanges[] = {
                GET_PVC1,
                GET_PROPERTIES("{'LabelState': <'partial'>, 'Holders': <[{'Target': <'/t'>, 'State': <'mounting'>, "
                               "'SinceUSec': <uint64 0>}]>}"),
        };
        g_autofree char *out = NULL;
        g_auto(Terminal) t = { 0 };

        g_setenv("PAGER", data, TRUE);
        terminal_start_output(&t, "show pvc-1", 80);
        serve_calls(f, exchanges, G_N_ELEMENTS(exchanges));
        out = terminal_finish(&t);
        g_assert_nonnull(strstr(t.output->str, "Label state: \033[33mpartial\033[0m"));
        g_assert_nonnull(strstr(t.output->str, "\033[33mmounting"));
}

int main(int argc, char **argv) {
        static const char *const programs[] = { "less", "pager", "sed", "true" };
        g_autofree char *unshare = g_find_program_in_path("unshare"),
                        *as_user = g_strdup_printf("%s --user --map-user=1000 --cgroup %s", unshare,
                                                   g_getenv("SELVOLCTL"));
        int r;

        setlocale(LC_ALL, "C.UTF-8");
        g_setenv("TERM", "xterm", TRUE);
        g_unsetenv("NO_COLOR");
        g_unsetenv("COLUMNS");
        g_unsetenv("SYSTEMD_PAGER");
        g_unsetenv("SYSTEMD_PAGERSECURE");
        g_test_init(&argc, &argv, NULL);
        g_test_set_nonfatal_assertions();

        add_ctl_rows("/ctl-terminal", cases, test_list);
        add_ctl_rows("/ctl-terminal/pager", pager_cases, test_pager);
        add_ctl_rows("/ctl-terminal/privileged", secure_cases, test_privileged);
        g_test_add("/ctl-terminal/privileged/no-less", Fixture, NULL, fixture_set_up, test_privileged_without_less,
                   fixture_tear_down);
        g_test_add("/ctl-terminal/colors/no-pager", Fixture, "", fixture_set_up, test_colors, fixture_tear_down);
        g_test_add("/ctl-terminal/colors/pager", Fixture, "sed p", fixture_set_up, test_colors, fixture_tear_down);
        /* Root's environment does not choose the pager, so it is another user who calls, outside of all
         * sessions. */
        g_setenv("SELVOLCTL", as_user, TRUE);
        g_unsetenv("SUDO_UID");
        g_unsetenv("PKEXEC_UID");
        pagers = g_dir_make_tmp("selvolctl-XXXXXX", NULL);
        add_pagers();
        r = g_test_run();
        for (size_t i = 0; i < G_N_ELEMENTS(programs); i++)
                remove_program(programs[i]);
        g_assert_cmpint(rmdir(pagers), ==, 0);
        g_free(pagers);
        return r;
}

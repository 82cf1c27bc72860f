/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program.h"
#include "wait.h"

enum { LOG_LINES = 60 };

static GPtrArray *collect_words(const char *const *prefix, const char *first, va_list ap) {
        GPtrArray *words = g_ptr_array_new();

        for (; prefix && *prefix; prefix++)
                g_ptr_array_add(words, (char *) *prefix);
        for (const char *s = first; s; s = va_arg(ap, const char *))
                g_ptr_array_add(words, (char *) s);
        g_ptr_array_add(words, NULL);
        return words;
}

bool run_words(char **argv) {
        g_autofree char *output = NULL;
        int status = -1;

        if (g_spawn_sync(NULL, argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL,
                         &output, &status, NULL) &&
            g_spawn_check_wait_status(status, NULL))
                return true;
        g_print("# %s: %s\n", argv[0], output ? g_strdelimit(g_strchomp(output), "\n", ' ') : "not started");
        return false;
}

bool run(const char *program, ...) {
        g_autoptr(GPtrArray) argv = NULL;
        va_list ap;

        va_start(ap, program);
        argv = collect_words(NULL, program, ap);
        va_end(ap);
        return run_words((char **) argv->pdata);
}

bool has_program(const char *name) {
        g_autofree char *path = g_find_program_in_path(name);

        return path;
}

static void set_up_child(gpointer wrapper) {
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* strace -D sets an alarm of two seconds, in which it can't attach on a busy machine. */
        if (wrapper)
                (void) signal(SIGALRM, SIG_IGN);
}

static GStrv make_environment(const char *const *changes) {
        GStrv environment = g_get_environ();

        for (; changes && *changes; changes++) {
                const char *value = strchr(*changes, '=');
                g_autofree char *name = g_strndup(*changes, strcspn(*changes, "="));

                environment = value ? g_environ_setenv(environment, name, value + 1, TRUE)
                                    : g_environ_unsetenv(environment, name);
        }
        return environment;
}

GPid launch(const Launch *how, const char *program, ...) {
        const Launch h = how ? *how : (Launch){ 0 };
        g_auto(GStrv) environment = make_environment(h.environment);
        int log = h.log ? open(h.log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1, as = STDERR_FILENO + 1;
        g_autoptr(GPtrArray) argv = NULL;
        g_autoptr(GError) error = NULL;
        va_list ap;
        GPid pid;

        va_start(ap, program);
        argv = collect_words(h.wrapper, program, ap);
        va_end(ap);
        if (h.log)
                must(log);
        g_spawn_async_with_pipes_and_fds(NULL, (const char *const *) argv->pdata, (const char *const *) environment,
                                         G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_SEARCH_PATH, set_up_child,
                                         (gpointer) h.wrapper, -1, log, log, &h.inherited, &as, h.inherited > 0, &pid,
                                         NULL, NULL, NULL, &error);
        g_assert_no_error(error);
        if (h.log)
                close(log);
        return pid;
}

int program_end(GPid pid, int signal_number) {
        int status;

        must(kill(pid, signal_number));
        must(TEMP_FAILURE_RETRY(waitpid(pid, &status, 0)));
        return status;
}

int program_get_end(GPid pid) {
        siginfo_t si = { 0 };

        must(waitid(P_PID, (id_t) pid, &si, WEXITED | WNOHANG | WNOWAIT));
        if (si.si_pid != pid)
                return -1;
        return si.si_code == CLD_EXITED ? si.si_status : 128 + si.si_status;
}

void print_log(const char *log) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        unsigned n;

        if (!log || !g_file_get_contents(log, &text, NULL, NULL))
                return;
        lines = g_strsplit(text, "\n", -1);
        n = g_strv_length(lines);
        for (unsigned i = n > LOG_LINES ? n - LOG_LINES : 0; i < n; i++)
                g_print("# log: %s\n", lines[i]);
}

long program_memory(GPid pid) {
        g_autofree char *path = g_strdup_printf("/proc/%i/statm", (int) pid), *text = NULL;
        long pages = 0;

        if (g_file_get_contents(path, &text, NULL, NULL))
                g_assert_cmpint(sscanf(text, "%*d %ld", &pages), ==, 1);
        return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

long program_peak(GPid pid) {
        g_autofree char *path = g_strdup_printf("/proc/%i/status", (int) pid), *text = NULL;
        const char *line = NULL;

        if (g_file_get_contents(path, &text, NULL, NULL))
                line = strstr(text, "VmHWM:");
        return line ? strtol(line + strlen("VmHWM:"), NULL, 10) : 0;
}

/* A process that hangs at its start has no log: so the test prints its state, too. */
void program_give_up(GPid pid, const char *log, const char *why) {
        static const char *const files[] = { "cmdline", "wchan", "syscall", "status" };

        print_log(log);
        g_print("# it has ended: %i (-1: not)\n", program_get_end(pid));
        for (size_t i = 0; i < G_N_ELEMENTS(files); i++) {
                g_autofree char *path = g_strdup_printf("/proc/%i/%s", (int) pid, files[i]), *text = NULL;

                if (g_file_get_contents(path, &text, NULL, NULL))
                        g_print("# %s: %s\n", path, g_strdelimit(text, "\n\t", ' '));
        }
        g_error("%s", why);
}

/* The child that waits for a connection has a name of its own. */
static bool is_spare(const char *pid) {
        g_autofree char *path = g_strdup_printf("/proc/%s/comm", pid), *name = NULL;

        return g_file_get_contents(path, &name, NULL, NULL) && g_str_equal(name, "selvol-spare\n");
}

GStrv list_children(GPid pid, Children which) {
        g_autofree char *path = g_strdup_printf("/proc/%i/task/%i/children", (int) pid, (int) pid), *text = NULL;
        g_autoptr(GStrvBuilder) list = g_strv_builder_new();
        g_auto(GStrv) all = NULL;

        if (g_file_get_contents(path, &text, NULL, NULL))
                all = g_strsplit(g_strchomp(text), " ", -1);
        for (char **p = all; p && *p; p++)
                if (**p && (which == CHILDREN_ALL || is_spare(*p) == (which == CHILDREN_SPARE)))
                        g_strv_builder_add(list, *p);
        return g_strv_builder_end(list);
}

unsigned count_children(GPid pid, Children which) {
        g_auto(GStrv) list = list_children(pid, which);

        return g_strv_length(list);
}

pid_t find_child(GPid pid, Children which) {
        g_auto(GStrv) list = list_children(pid, which);

        return g_strv_length(list) == 1 ? (pid_t) g_ascii_strtoll(list[0], NULL, 10) : 0;
}

pid_t wait_for_child(GPid pid, Children which) {
        pid_t child = 0;

        WAIT_FOR((child = find_child(pid, which)) > 0);
        return child;
}

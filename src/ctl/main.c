/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>

#include <sys/prctl.h>
#include <sys/wait.h>

#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/terminal.h"
#include "ctl/verb-table.h"
#include "selvol-config.h"

/* --- polkit's agent for terminals --- */

#define AGENT "pkttyagent"

enum { READY_TIMEOUT_MSEC = 5000 };

static void agent_exec(int notify_fd) {
        char number[16];

        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void) fcntl(notify_fd, F_SETFD, 0);
        snprintf(number, sizeof(number), "%i", notify_fd);
        execlp(AGENT, AGENT, "--notify-fd", number, "--fallback", NULL);
        _exit(127);
}

/* Starts the agent, so that polkit can ask for a password. Does nothing without a terminal, for root, and
 * without pkttyagent: then a session's own agent may answer polkit. Returns the pid of the agent or 0. */
static pid_t agent_start(void) {
        _cleanup_close_ int reading = -EBADF, writing = -EBADF;
        int fds[2];
        pid_t pid;

        if (geteuid() == 0 || !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
                return 0;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return 0;
        reading = fds[0];
        writing = fds[1];

        pid = fork();
        if (pid < 0)
                return 0;
        if (pid == 0)
                agent_exec(writing);

        /* The agent closes its end when it has registered or has failed to start; both end the wait. */
        writing = fd_close(writing);
        (void) poll(&(struct pollfd){ .fd = reading, .events = POLLHUP }, 1, READY_TIMEOUT_MSEC);
        return pid;
}

static void agent_stopp(pid_t *pid) {
        if (*pid <= 0)
                return;
        /* SIGCONT, because the terminal may have stopped the agent. */
        (void) kill(*pid, SIGTERM);
        (void) kill(*pid, SIGCONT);
        (void) waitpid(*pid, NULL, 0);
}

static int run_help(const Args *a) {
        const Verb *v = NULL;

        if (a->n_operands > 0) {
                v = verb_expect(a->operands[0]);
                if (!v)
                        return EXIT_USAGE;
        }
        help_print(v);
        return 0;
}

/* Whether the verb starts selvold: verbs that show whether selvold runs don't. */
static bool needs_service(const Verb *v, const Args *a) {
        return v->run != verb_status && v->run != verb_monitor && !args_have(a, SWITCH_WATCH);
}

static int run_verb(Args *a) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(agent_stopp) pid_t agent = 0;
        const Verb *v = verb_expect(a->verb ? a->verb : "list");
        int r;

        if (!v)
                return EXIT_USAGE;
        if (args_have(a, SWITCH_HELP)) {
                help_print(a->verb ? v : NULL);
                return 0;
        }
        r = verb_check(v, a);
        if (r != 0)
                return r;
        if (v->run_alone)
                return v->run_alone(a);
        if (!v->run)
                return run_help(a);
        r = bus_open(a, needs_service(v, a), &bus);
        if (r != 0)
                return r;
        if (!args_have(a, SWITCH_NO_ASK_PASSWORD))
                agent = agent_start();
        return v->run(bus, a);
}

static int run_selvolctl(int argc, char **argv) {
        _cleanup_(args_done) Args a = { 0 };
        int r;

        /* Before getopt_long(), which would refuse an incomplete word. */
        if (argc > 1 && streq(argv[1], "__complete"))
                return complete_print(argv + 2, argc - 2);
        r = args_parse(argc, argv, &a);
        if (r != 0)
                return r;
        if (args_have(&a, SWITCH_VERSION)) {
                puts("selvolctl " SELVOL_VERSION);
                return 0;
        }
        if (args_have(&a, SWITCH_NO_PAGER))
                (void) setenv("SYSTEMD_PAGER", "", 1);
        r = run_verb(&a);
        return r < 0 && args_have(&a, SWITCH_JSON) ? bus_report_errno(&a, r) : r;
}

int main(int argc, char **argv) {
        int r;

        (void) setlocale(LC_ALL, "");
        (void) setlocale(LC_NUMERIC, "C"); /* for options and JSON */
        r = run_selvolctl(argc, argv);
        if (r < 0) {
                report_error(NULL, strerror(-r));
                r = EXIT_FAILURE;
        }
        if ((fflush(stdout) != 0 || ferror(stdout)) && !pager_is_open()) {
                report_error(NULL, "Can't write to standard output.");
                return r != 0 ? r : EXIT_FAILURE;
        }
        pager_close();
        /* A shell ends its script only if a signal ended the program. */
        if (r > EXIT_SIGNAL)
                (void) raise(r - EXIT_SIGNAL);
        return r;
}

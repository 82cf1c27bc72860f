/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <systemd/sd-login.h>

#include "basic/string-util.h"
#include "ctl/pager.h"
#include "ctl/terminal.h"

/* The options of journalctl: exit at once if everything fits, colors, scroll long lines sideways, don't clear
 * the screen. */
#define LESS_OPTIONS "FRSXMK"

static pid_t pager; /* 0: none */

/* Whether the pager has to be secure: not chosen by the environment, and without access to a shell. So if
 * $SYSTEMD_PAGERSECURE says so, or if selvolctl has rights that the person at the terminal may lack. */
static bool is_secure(void) {
        int wanted = parse_boolean(strempty(getenv("SYSTEMD_PAGERSECURE")));
        uid_t owner;

        if (wanted >= 0)
                return wanted;
        if (geteuid() == 0 || geteuid() != getuid() || getenv("SUDO_UID") || getenv("PKEXEC_UID"))
                return true;
        return sd_pid_get_owner_uid(0, &owner) >= 0 && owner != geteuid();
}

static void set_default(const char *name, const char *wanted, const char *value) {
        (void) setenv(name, isempty(wanted) ? value : wanted, 1);
}

/* Splits the command at spaces and runs it without a shell. */
static void exec_command(const char *command) {
        _cleanup_strv_ char **words = NULL;

        if (strv_split(command, " ", &words) >= 0 && words)
                execvp(words[0], words);
}

static void exec_pager(const char *command) {
        static const char *const pagers[] = { "pager", "less", "more" };

        set_default("LESS", getenv("SYSTEMD_LESS"), LESS_OPTIONS);
        set_default("LESSCHARSET", getenv("SYSTEMD_LESSCHARSET"),
                    streq(nl_langinfo(CODESET), "UTF-8") ? "utf-8" : "ascii");
        if (is_secure()) {
                (void) setenv("LESSSECURE", "1", 1);
                execlp("less", "less", NULL);
                return;
        }
        if (command)
                exec_command(command);
        for (size_t i = 0; i < ELEMENTSOF(pagers); i++)
                execlp(pagers[i], pagers[i], NULL);
}

/* Runs in the child. Writes a byte to failed if there is no pager; execve(2) of a pager closes failed. */
_Noreturn static void run_pager(const char *command, int input, int failed) {
        (void) prctl(PR_SET_PDEATHSIG, SIGTERM);
        (void) dup2(input, STDIN_FILENO);
        exec_pager(command);
        (void) !write(failed, "", 1);
        _exit(EXIT_FAILURE);
}

/* Returns 0, or a negative errno if there is no pager; then no output is lost. */
static int start_pager(const char *command, int input) {
        _cleanup_close_ int waiting = -EBADF, failed = -EBADF;
        int fds[2];
        pid_t pid;
        char byte;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        waiting = fds[0];
        failed = fds[1];
        pid = fork();
        if (pid < 0)
                return -errno;
        if (pid == 0)
                run_pager(command, input, failed);
        (void) close(failed);
        failed = -EBADF;
        if (read(waiting, &byte, 1) > 0) {
                (void) waitpid(pid, NULL, 0);
                return -ENOENT;
        }
        pager = pid;
        return 0;
}

void pager_open(const Args *a) {
        const char *command = getenv("SYSTEMD_PAGER") ? getenv("SYSTEMD_PAGER") : getenv("PAGER");
        _cleanup_close_ int reading = -EBADF, writing = -EBADF;
        int fds[2];

        if (pager > 0 || args_have(a, SWITCH_NO_PAGER) || !terminal_is_capable(STDOUT_FILENO) ||
            (command && (isempty(command) || streq(command, "cat"))))
                return;
        if (pipe2(fds, O_CLOEXEC) < 0)
                return;
        reading = fds[0];
        writing = fds[1];

        (void) fflush(stdout);
        if (start_pager(command, reading) < 0)
                return;
        terminal_keep();

        (void) dup2(writing, STDOUT_FILENO);
        if (isatty(STDERR_FILENO))
                (void) dup2(writing, STDERR_FILENO);
        /* The pager handles Control-C, and may exit before it has read everything. */
        (void) signal(SIGINT, SIG_IGN);
        (void) signal(SIGPIPE, SIG_IGN);
}

bool pager_is_open(void) {
        return pager > 0;
}

void pager_close(void) {
        if (pager == 0)
                return;
        (void) close(STDOUT_FILENO);
        (void) close(STDERR_FILENO);
        (void) waitpid(pager, NULL, 0);
        pager = 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "ctl/agent.h"

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

pid_t agent_start(void) {
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

void agent_stop(pid_t pid) {
        if (pid <= 0)
                return;
        /* SIGCONT, because the terminal may have stopped the agent. */
        (void) kill(pid, SIGTERM);
        (void) kill(pid, SIGCONT);
        (void) waitpid(pid, NULL, 0);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <glib.h>

#include "tracer.h"

#define CALL_SIGNAL (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */

bool tracer_can_fail(void) {
#ifdef __x86_64__
        return true;
#else
        return false;
#endif
}

#ifdef __x86_64__
/* The number of the call is in orig_rax, and its result in rax. */
static void skip_call(const Tracer *t) {
        (void) ptrace(PTRACE_POKEUSER, t->pid, offsetof(struct user_regs_struct, orig_rax), -1L);
}

static void set_result(const Tracer *t, int error) {
        (void) ptrace(PTRACE_POKEUSER, t->pid, offsetof(struct user_regs_struct, rax), (long) -error);
}
#else
static void skip_call(const Tracer *t) {
}

static void set_result(const Tracer *t, int error) {
}
#endif

bool tracer_attach(Tracer *t, pid_t pid, bool own) {
        *t = (Tracer){ .pid = pid, .own = own };
        if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACESYSGOOD) < 0 ||
            ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) < 0)
                *t = (Tracer){ 0 };
        return t->pid > 0;
}

static Stop at_call(Tracer *t, Call *call) {
        struct __ptrace_syscall_info info = { 0 };

        if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof(info), &info) <= 0)
                return STOP_OTHER;
        t->inside = info.op == PTRACE_SYSCALL_INFO_ENTRY;
        if (t->inside) {
                *call = (Call){ t->pid, (long) info.entry.nr, (int) info.entry.args[0], (int) info.entry.args[1] };
                return STOP_CALL;
        }
        if (t->inject > 0)
                set_result(t, t->inject);
        t->inject = 0;
        return STOP_OTHER;
}

Stop tracer_poll(Tracer *t, Call *call) {
        siginfo_t si = { 0 };
        int status;

        if (t->pid == 0)
                return STOP_ENDED;
        if (waitid(P_PID, (id_t) t->pid, &si, WEXITED | WSTOPPED | WNOHANG | WNOWAIT | __WALL) < 0)
                return STOP_ENDED;
        if (si.si_pid == 0)
                return STOP_NONE;
        if (si.si_code == CLD_EXITED || si.si_code == CLD_KILLED || si.si_code == CLD_DUMPED) {
                if (!t->own)
                        (void) waitpid(t->pid, &status, __WALL); /* the parent learns of it only after that */
                t->pid = 0;
                return STOP_ENDED;
        }
        if (waitpid(t->pid, &status, __WALL) != t->pid)
                return STOP_ENDED;
        if (WSTOPSIG(status) == CALL_SIGNAL)
                return at_call(t, call);
        /* The thread gets the signal that has stopped it. The stop of tracer_attach() has no signal. */
        if (status >> 16 == 0) {
                (void) ptrace(PTRACE_SYSCALL, t->pid, NULL, WSTOPSIG(status));
                return STOP_NONE;
        }
        return STOP_OTHER;
}

void tracer_fail(Tracer *t, int error) {
        t->inject = error;
        skip_call(t);
}

void tracer_continue(Tracer *t) {
        (void) ptrace(PTRACE_SYSCALL, t->pid, NULL, 0);
}

void tracer_detach(Tracer *t) {
        Call call;

        if (t->pid == 0)
                return;
        (void) ptrace(PTRACE_INTERRUPT, t->pid, NULL, NULL);
        for (;;) {
                Stop stop = tracer_poll(t, &call);

                if (stop == STOP_ENDED || (stop != STOP_NONE && ptrace(PTRACE_DETACH, t->pid, NULL, NULL) >= 0))
                        break;
                g_usleep(100);
        }
        t->pid = 0;
}

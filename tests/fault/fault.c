/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "run.h"

/* selvold, selvol-worker and its children are killed at any moment of a stream of operations. The answers
 * must be true, record and kernel must agree, and nothing may be left over.
 *
 * A seed decides on the calls and the kills, but not on their timing, so a failure may need several runs. */

enum {
        CLIENTS = 4,
        KILLS = 40,
        FULL_KILLS = 10000,
        MORE = 10, /* at most so many times as many kills, until enough have hit a process */
        DELAY_USEC = 150000,
        FREEZE_USEC = 120000,
        DOWN_USEC = 30000,
        ROUND_SEC = 600
};

typedef struct Fault {
        Run run;
        Client *clients[CLIENTS];
        int mountinfo; /* poll(2) tells of changes */
        int n_killed[VICTIMS], n_kills, n_frozen;
} Fault;

/* Draws short times more often than long ones. */
static void pause_up_to(Fault *f, int usec) {
        pause_usec((int64_t) (usec * g_rand_double(f->run.rand) * g_rand_double(f->run.rand)));
}

static bool mounts_have_changed(const Fault *f) {
        struct pollfd p = { .fd = f->mountinfo, .events = POLLPRI };

        return poll(&p, 1, 0) > 0;
}

/* Returns after some time, or at a mount, an unmount or an answer, where a kill most likely does harm. */
static void wait_for_moment(Fault *f) {
        enum { MOMENT_TIME, MOMENT_MOUNT, MOMENT_ANSWER, MOMENTS } moment = g_rand_int_range(f->run.rand, 0, MOMENTS);
        unsigned n = model_count_answers();
        int64_t end;

        pause_up_to(f, moment == MOMENT_TIME ? DELAY_USEC : DELAY_USEC / 3);
        (void) mounts_have_changed(f);
        end = g_get_monotonic_time() + DELAY_USEC;
        while (moment != MOMENT_TIME && g_get_monotonic_time() < end) {
                (void) g_main_context_iteration(NULL, FALSE);
                if (moment == MOMENT_MOUNT ? mounts_have_changed(f) : model_count_answers() > n)
                        return;
        }
}

/* Kills a process and starts it again. In a third of the cases it stops a child before. */
static void strike(Fault *f) {
        static const Victim victims[] = { VICTIM_DAEMON, VICTIM_WORKER, VICTIM_CHILD, VICTIM_CHILD };
        Victim v = victims[g_rand_int_range(f->run.rand, 0, G_N_ELEMENTS(victims))];
        bool freeze = g_rand_int_range(f->run.rand, 0, 3) == 0;
        int child = -1;

        wait_for_moment(f);
        if (freeze || v == VICTIM_CHILD)
                (void) HOLDS_WITHIN(1, (child = environment_pick_child(&f->run.environment, f->run.rand)) >= 0);
        if (freeze && child >= 0) {
                f->n_frozen += pidfd_send_signal(child, SIGSTOP, NULL, 0) >= 0;
                pause_up_to(f, FREEZE_USEC);
        }
        model_note(victim_names[v]);
        f->n_kills++;
        f->n_killed[v] += environment_kill(&f->run.environment, v, child);
        pause_up_to(f, DOWN_USEC);
        environment_restart(&f->run.environment, v, g_rand_int_range(f->run.rand, 0, 2) == 0);
        if (child >= 0) {
                (void) pidfd_send_signal(child, SIGCONT, NULL, 0);
                close(child);
        }
}

static bool clients_are_idle(const Fault *f) {
        for (int i = 0; i < CLIENTS; i++)
                if (!client_is_idle(f->clients[i]))
                        return false;
        return true;
}

static bool check_answers(const Fault *f, Wrong *w) {
        for (int i = 0; i < CLIENTS; i++) {
                const Operation *o = client_hung(f->clients[i]);

                if (o)
                        return blame(w, o->volume, o->target, "a call got no answer");
        }
        return true;
}

/* A round may have several kills, so that some hit a process that has not recovered from the kill before. */
static bool run_round(Fault *f, Wrong *w) {
        for (int i = 0; i < CLIENTS; i++)
                client_start(f->clients[i], g_rand_int(f->run.rand));
        do
                strike(f);
        while (g_rand_int_range(f->run.rand, 0, 4) == 0);
        if (!HOLDS_WITHIN(ROUND_SEC, clients_are_idle(f)))
                return blame(w, NO_VOLUME, NO_TARGET, "the clients don't come to an end");
        return check_sound(&f->run.environment, w) && check_answers(f, w) && check_all(&f->run.environment, w);
}

/* A run has to do enough of everything, as it would find no fault otherwise. */
static bool is_mixed(const Fault *f) {
        for (Victim v = 0; v < VICTIMS; v++)
                if (f->n_killed[v] < f->run.amount / 20)
                        return false;
        for (Kind k = 0; k < KINDS; k++)
                if ((int) model_count(k, OUTCOME_ACKNOWLEDGED) < f->run.amount / 5)
                        return false;
        return true;
}

/* Few operations end between two kills if the machine is busy. */
static bool goes_on(const Fault *f) {
        return f->n_kills < f->run.amount ||
               (f->run.amount >= KILLS && !is_mixed(f) && f->n_kills < MORE * f->run.amount);
}

static bool run_rounds(Fault *f, Wrong *w) {
        model_start_empty();
        if (!check_all(&f->run.environment, w))
                return false;
        while (goes_on(f))
                if (!run_round(f, w))
                        return false;
        return true;
}

static void print_counts(const Fault *f) {
        for (Victim v = 0; v < VICTIMS; v++)
                g_print("# killed: %s %i times\n", victim_names[v], f->n_killed[v]);
        g_print("# a child stood still before: %i times\n", f->n_frozen);
        model_print_counts();
}

int main(int argc, char **argv) {
        static const RunSpec spec = { .name = "fault",
                                      .option = "kills",
                                      .about = "How many there are (40)",
                                      .few = KILLS,
                                      .all = FULL_KILLS };
        static Fault f;
        g_autofree char *what = NULL;
        const char *why_skipped;
        Wrong wrong = { 0 };
        bool ok, mixed;

        run_begin(&f.run, &spec, argc, argv);
        must(f.mountinfo = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
        f.clients[0] = f.run.client;
        for (int i = 1; i < CLIENTS; i++)
                f.clients[i] = client_new(&f.run.environment, i);

        ok = run_rounds(&f, &wrong);
        if (!ok) {
                g_print("# after %i kills:\n", f.n_kills);
                run_print_wrong(&f.run, &wrong);
        }
        print_counts(&f);
        run_report(ok, 1, "what was acknowledged holds, record and kernel agree, and nothing is left over");
        why_skipped = !ok ? " # SKIP it ended early" : f.run.amount < KILLS ? " # SKIP the run was too short" : "";
        what = g_strconcat("enough was killed and acknowledged", why_skipped, NULL);
        mixed = run_report(why_skipped[0] || is_mixed(&f), 2, what);
        for (int i = 1; i < CLIENTS; i++)
                client_free(f.clients[i]);
        g_free(wrong.text);
        return run_end(&f.run, ok && mixed);
}

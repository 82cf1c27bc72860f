/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "check.h"
#include "client.h"

/* selvold, selvol-worker and its children are killed at any moment of a stream of operations. What was acknowledged must
 * hold, record and kernel must agree, and nothing may be left over.
 *
 * A seed decides on the calls and the kills, but not on how they meet in time: to see a failure again a run may have to
 * be repeated. */

enum {
        CLIENTS = 4,
        KILLS = 60,
        FULL_KILLS = 10000,
        DELAY_USEC = 150000,
        FREEZE_USEC = 120000,
        DOWN_USEC = 30000,
        ROUND_SEC = 600
};

typedef struct Fault {
        Environment environment;
        Client *clients[CLIENTS];
        GRand *rand;
        int seed, kills;
        int mountinfo; /* can be polled */
        int n_killed[VICTIMS], n_kills, n_frozen;
} Fault;

/* Short times are drawn more often than long ones. */
static void pause_up_to(Fault *f, int usec) {
        pause_usec((int64_t) (usec * g_rand_double(f->rand) * g_rand_double(f->rand)));
}

static bool mounts_have_changed(const Fault *f) {
        struct pollfd p = { .fd = f->mountinfo, .events = POLLPRI };

        return poll(&p, 1, 0) > 0;
}

/* At any time, or at once when something was mounted or unmounted, or answered: most of what must not be interrupted is
 * near. */
static void wait_for_moment(Fault *f) {
        enum { MOMENT_TIME, MOMENT_MOUNT, MOMENT_ANSWER, MOMENTS } moment = g_rand_int_range(f->rand, 0, MOMENTS);
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

/* Kills and starts again. In a third of the cases a child, which may be the victim, stands still for a while before. */
static void strike(Fault *f) {
        static const Victim victims[] = { VICTIM_DAEMON, VICTIM_WORKER, VICTIM_CHILD, VICTIM_CHILD };
        Victim v = victims[g_rand_int_range(f->rand, 0, G_N_ELEMENTS(victims))];
        bool freeze = g_rand_int_range(f->rand, 0, 3) == 0;
        int child = -1;

        wait_for_moment(f);
        if (freeze || v == VICTIM_CHILD)
                (void) HOLDS_WITHIN(1, (child = environment_pick_child(&f->environment, f->rand)) >= 0);
        if (freeze && child >= 0) {
                f->n_frozen += pidfd_send_signal(child, SIGSTOP, NULL, 0) >= 0;
                pause_up_to(f, FREEZE_USEC);
        }
        model_note(victim_names[v]);
        f->n_kills++;
        f->n_killed[v] += environment_kill(&f->environment, v, child);
        pause_up_to(f, DOWN_USEC);
        environment_restart(&f->environment, v, g_rand_int_range(f->rand, 0, 2) == 0);
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

/* Now and then what is killed has not recovered from the last kill. */
static bool run_round(Fault *f, Wrong *w) {
        const char *complaint;

        for (int i = 0; i < CLIENTS; i++)
                client_start(f->clients[i], g_rand_int(f->rand));
        do
                strike(f);
        while (g_rand_int_range(f->rand, 0, 4) == 0);
        if (!HOLDS_WITHIN(ROUND_SEC, clients_are_idle(f)))
                return blame(w, NO_VOLUME, NO_TARGET, "the clients don't come to an end");
        if (!environment_is_sound(&f->environment, &complaint))
                return blame(w, NO_VOLUME, NO_TARGET, "%s", complaint);
        return check_answers(f, w) && check_all(&f->environment, w);
}

static bool run_rounds(Fault *f, Wrong *w) {
        static const uint32_t gids[VOLUMES];
        int at[TARGETS];

        for (int i = 0; i < TARGETS; i++)
                at[i] = NO_VOLUME;
        model_start_over(at, gids);
        if (!check_all(&f->environment, w))
                return false;
        while (f->n_kills < f->kills)
                if (!run_round(f, w))
                        return false;
        return true;
}

static void print_wrong(const Fault *f, const Wrong *w) {
        g_print("# seed %i, after %i kills: volume %i, target %i: %s\n", f->seed, f->n_kills, w->volume, w->target,
                w->text);
        model_print_history(w->volume, w->target);
        print_log(f->environment.log);
}

/* Where nothing was done, nothing wrong is found. */
static bool check_mixture(const Fault *f) {
        bool ok = true;

        for (Victim v = 0; v < VICTIMS; v++) {
                g_print("# killed: %s %i times\n", victim_names[v], f->n_killed[v]);
                ok = ok && f->n_killed[v] >= f->kills / 20;
        }
        g_print("# a child stood still before: %i times\n", f->n_frozen);
        model_print_counts();
        for (Kind k = 0; k < KINDS; k++)
                ok = ok && (int) model_count(k, OUTCOME_ACKNOWLEDGED) >= f->kills / 5;
        return ok;
}

static bool parse_arguments(Fault *f, int argc, char **argv) {
        gboolean full = FALSE;
        const GOptionEntry entries[] = {
                { "seed", 0, 0, G_OPTION_ARG_INT, &f->seed, "What decides on calls and kills (random)", "N" },
                { "kills", 0, 0, G_OPTION_ARG_INT, &f->kills, "How many there are (60)", "N" },
                { "full", 0, 0, G_OPTION_ARG_NONE, &full, "10000 kills", NULL },
                { 0 },
        };
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_autoptr(GError) error = NULL;

        g_option_context_add_main_entries(context, entries, NULL);
        if (!g_option_context_parse(context, &argc, &argv, &error) || argc != 1 || f->seed < 0 || f->kills <= 0) {
                g_printerr("test-fault: %s\n", error ? error->message : "it takes --seed N, --kills N and --full");
                return false;
        }
        if (full)
                f->kills = FULL_KILLS;
        return true;
}

int main(int argc, char **argv) {
        static Fault f = { .kills = KILLS };
        Wrong wrong = { 0 };
        bool ok, mixed;

        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        f.seed = (int) (g_random_int() >> 1);
        if (!parse_arguments(&f, argc, argv))
                return 2;
        if (!namespace_enter())
                return 77;
        g_print("1..2\n# to repeat: tools/test fault --seed %i --kills %i\n", f.seed, f.kills);
        f.rand = g_rand_new_with_seed((uint32_t) f.seed);
        environment_start(&f.environment);
        must(f.mountinfo = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
        for (int i = 0; i < CLIENTS; i++)
                f.clients[i] = client_new(&f.environment, i);

        ok = run_rounds(&f, &wrong);
        if (!ok)
                print_wrong(&f, &wrong);
        mixed = check_mixture(&f) || !ok || f.kills < KILLS;
        g_print("%sok 1 - what was acknowledged holds, record and kernel agree, and nothing is left over\n",
                ok ? "" : "not ");
        g_print("%sok 2 - enough was killed and acknowledged%s\n", mixed ? "" : "not ",
                ok && f.kills >= KILLS ? "" : " # SKIP the run was too short");

        for (int i = 0; i < CLIENTS; i++)
                client_free(f.clients[i]);
        environment_stop(&f.environment);
        g_free(wrong.text);
        return ok && mixed ? 0 : 1;
}

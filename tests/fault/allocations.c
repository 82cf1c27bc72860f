/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "fail-allocation.h"
#include "scenes.h"

/* An allocation of selvold, selvol-worker or its child fails while they serve a request. Both must stay, record and kernel must
 * agree, what was acknowledged must hold, and the same request must work.
 *
 * With --full each allocation in turn; without it some that a seed draws. */

typedef enum Subject { SUBJECT_DAEMON, SUBJECT_WORKER, SUBJECT_CHILD, SUBJECTS } Subject;
static const char *const subject_names[SUBJECTS] = { "selvold", "selvol-worker", "a child" };

typedef struct Allocations {
        Environment environment;
        Client *client;
        GRand *rand;
        FailAllocation *shared;
        int seed, sample, only; /* only: a scene; negative: all */
        gboolean full;
        unsigned n_failed[SUBJECTS];
} Allocations;

static void share(Allocations *a) {
        g_autofree char *path = NULL;
        int fd = g_file_open_tmp("selvol-fault-XXXXXX", &path, NULL);

        must(fd);
        must(ftruncate(fd, sizeof(FailAllocation)));
        a->shared = mmap(NULL, sizeof(FailAllocation), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        g_assert_true(a->shared != MAP_FAILED);
        close(fd);
        a->environment.preload[0] = "LD_PRELOAD=" FAIL_ALLOCATION;
        g_assert_true(g_setenv(FAIL_ALLOCATION_FILE, path, TRUE));
}

static pid_t find_subject(const Environment *e, Subject subject) {
        switch (subject) {
        case SUBJECT_DAEMON:
                return e->daemon;
        case SUBJECT_WORKER:
                return e->worker;
        default:
                return find_child(e->worker, CHILDREN_SPARE);
        }
}

/* Makes the request with the nth allocation failing; returns how many there were. */
static bool play(Allocations *a, const Scene *scene, Subject subject, unsigned n, unsigned *ret_count, Wrong *w) {
        pid_t pid = 0;

        if (!HOLDS_WITHIN(5, (pid = find_subject(&a->environment, subject)) > 0))
                return blame(w, scene->volume, scene->target, "%s is not there", subject_names[subject]);
        atomic_store(&a->shared->count, 0);
        atomic_store(&a->shared->fail_at, n);
        atomic_store(&a->shared->pid, pid);
        (void) scene_start(a->client, scene);
        (void) HOLDS_WITHIN(SCENE_ANSWER_SEC, client_is_idle(a->client));
        atomic_store(&a->shared->pid, 0);
        *ret_count = atomic_load(&a->shared->count);
        a->n_failed[subject] += *ret_count > n;
        return client_is_idle(a->client) || blame(w, scene->volume, scene->target, "a call got no answer");
}

static bool fail(Allocations *a, const Scene *scene, Subject subject, unsigned n, unsigned *ret_count, Wrong *w) {
        if (play(a, scene, subject, n, ret_count, w) && scenes_check(&a->environment, w) &&
            scene_do(a->client, scene, "the same request", w) && scene_undo(a->client, scene, w))
                return true;
        g_print("# %s: %s, allocation %u\n", scene->name, subject_names[subject], n);
        return false;
}

static bool run_subject(Allocations *a, const Scene *scene, Subject subject, Wrong *w) {
        unsigned count, n_tries, ignored;

        if (!fail(a, scene, subject, UINT32_MAX, &count, w))
                return false;
        g_print("# %s: %s: %u allocations\n", scene->name, subject_names[subject], count);
        if (count == 0)
                return blame(w, scene->volume, scene->target, "%s has allocated nothing: was the library preloaded?",
                             subject_names[subject]);
        n_tries = a->full ? count : MIN(count, (unsigned) a->sample);
        for (unsigned i = 0; i < n_tries; i++) {
                unsigned n = a->full ? i : (unsigned) g_rand_int_range(a->rand, 0, (int) count);

                if (!fail(a, scene, subject, n, &ignored, w))
                        return false;
        }
        return true;
}

static bool run_scene(Allocations *a, const Scene *scene, Wrong *w) {
        for (Subject subject = 0; subject < SUBJECTS; subject++)
                if (!run_subject(a, scene, subject, w))
                        return false;
        return scene_do(a->client, scene, "the request", w) && scenes_check(&a->environment, w);
}

static bool run_scenes(Allocations *a, Wrong *w) {
        scenes_begin();
        for (int i = 0; i < SCENES; i++)
                if (a->only >= 0 && i != a->only ? !scene_do(a->client, &scenes[i], "the request", w)
                                                 : !run_scene(a, &scenes[i], w))
                        return false;
        return true;
}

static bool parse_arguments(Allocations *a, int argc, char **argv) {
        const GOptionEntry entries[] = {
                { "seed", 0, 0, G_OPTION_ARG_INT, &a->seed, "What decides on the allocations (random)", "N" },
                { "sample", 0, 0, G_OPTION_ARG_INT, &a->sample, "How many of each process and scene (3)", "N" },
                { "full", 0, 0, G_OPTION_ARG_NONE, &a->full, "All of them", NULL },
                { "scene", 0, 0, G_OPTION_ARG_INT, &a->only, "Interrupt one scene only, from 0 on", "N" },
                { 0 },
        };
        g_autoptr(GOptionContext) context = g_option_context_new(NULL);
        g_autoptr(GError) error = NULL;

        g_option_context_add_main_entries(context, entries, NULL);
        if (g_option_context_parse(context, &argc, &argv, &error) && argc == 1 && a->seed >= 0 && a->sample > 0)
                return true;
        g_printerr("test-allocations: %s\n",
                   error ? error->message : "it takes --seed N, --sample N, --scene N and --full");
        return false;
}

int main(int argc, char **argv) {
        static Allocations a = { .sample = 3, .only = -1 };
        Wrong wrong = { 0 };
        bool ok;

        (void) setvbuf(stdout, NULL, _IOLBF, 0);
        a.seed = (int) (g_random_int() >> 1);
        if (!parse_arguments(&a, argc, argv))
                return 2;
        if (!namespace_enter())
                return 77;
        g_print("1..1\n# to repeat: test-allocations --seed %i --sample %i\n", a.seed, a.sample);
        a.rand = g_rand_new_with_seed((uint32_t) a.seed);
        share(&a);
        environment_start(&a.environment);
        a.client = client_new(&a.environment, 0);

        ok = run_scenes(&a, &wrong);
        if (!ok) {
                g_print("# volume %i, target %i: %s\n", wrong.volume, wrong.target, wrong.text);
                model_print_history(wrong.volume, wrong.target);
                print_log(a.environment.log);
        }
        for (Subject i = 0; i < SUBJECTS; i++)
                g_print("# %s: %u allocations failed\n", subject_names[i], a.n_failed[i]);
        g_print("%sok 1 - after an allocation has failed all agree, and the request works\n", ok ? "" : "not ");

        client_free(a.client);
        environment_stop(&a.environment);
        (void) unlink(g_getenv(FAIL_ALLOCATION_FILE));
        g_free(wrong.text);
        return ok ? 0 : 1;
}

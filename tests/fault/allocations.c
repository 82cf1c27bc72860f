/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>
#include <sys/mman.h>

#include "fail-allocation.h"
#include "scenes.h"

/* An allocation of selvold, selvol-worker or its child fails while they serve a request. Both must go on,
 * record and kernel must agree, the answers must be true, and the same request must work.
 *
 * With --full each allocation fails in turn, without it some that a seed draws. */

typedef enum Subject { SUBJECT_DAEMON, SUBJECT_WORKER, SUBJECT_CHILD, SUBJECTS } Subject;
static const char *const subject_names[SUBJECTS] = { "selvold", "selvol-worker", "a child" };

typedef struct Allocations {
        Run run;
        FailAllocation *shared;
        unsigned n_failed[SUBJECTS];
} Allocations;

static void share(Allocations *a) {
        int fd = memfd_create("fail-allocation", MFD_CLOEXEC);
        g_autofree char *path = path_printf("/proc/%i/fd/%i", (int) getpid(), fd);

        must(fd);
        must(ftruncate(fd, sizeof(FailAllocation)));
        a->shared = mmap(NULL, sizeof(FailAllocation), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        g_assert_true(a->shared != MAP_FAILED);
        a->run.environment.preload[0] = "LD_PRELOAD=" FAIL_ALLOCATION;
        g_assert_true(g_setenv(FAIL_ALLOCATION_FILE, path, TRUE));
}

/* Makes the request while the nth allocation fails. *ret_count is the number of allocations. */
static bool play(Allocations *a, const Scene *scene, Subject subject, unsigned n, unsigned *ret_count, Wrong *w) {
        const Environment *e = &a->run.environment;
        pid_t pid = subject == SUBJECT_DAEMON ? e->daemon : e->worker;

        if (subject == SUBJECT_CHILD && (pid = environment_renew_spare(e)) == 0)
                return blame(w, scene->volume, scene->target, "%s is not there", subject_names[subject]);
        atomic_store(&a->shared->count, 0);
        atomic_store(&a->shared->fail_at, n);
        atomic_store(&a->shared->pid, pid);
        (void) scene_start(a->run.client, scene);
        (void) HOLDS_WITHIN(SCENE_ANSWER_SEC, client_is_idle(a->run.client));
        atomic_store(&a->shared->pid, 0);
        *ret_count = atomic_load(&a->shared->count);
        a->n_failed[subject] += *ret_count > n;
        return client_is_idle(a->run.client) || blame(w, scene->volume, scene->target, "a call got no answer");
}

static bool fail(Allocations *a, const Scene *scene, Subject subject, unsigned n, unsigned *ret_count, Wrong *w) {
        if (play(a, scene, subject, n, ret_count, w) && scene_recover(&a->run, scene, w))
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
        n_tries = a->run.full ? count : MIN(count, (unsigned) a->run.amount);
        for (unsigned i = 0; i < n_tries; i++) {
                unsigned n = a->run.full ? i : (unsigned) g_rand_int_range(a->run.rand, 0, (int) count);

                if (!fail(a, scene, subject, n, &ignored, w))
                        return false;
        }
        return true;
}

static bool run_scene(void *userdata, const Scene *scene, Wrong *w) {
        for (Subject subject = 0; subject < SUBJECTS; subject++)
                if (!run_subject(userdata, scene, subject, w))
                        return false;
        return true;
}

static bool print_counts(const void *userdata) {
        const Allocations *a = userdata;
        bool all = true;

        for (Subject i = 0; i < SUBJECTS; i++) {
                g_print("# %s: %u allocations failed\n", subject_names[i], a->n_failed[i]);
                all = all && a->n_failed[i] > 0;
        }
        return all;
}

int main(int argc, char **argv) {
        static const SceneTest test = {
                .spec = { .name = "allocations",
                          .directory = "build",
                          .option = "sample",
                          .about = "How many of each process and scene (3)",
                          .few = 3,
                          .has_scenes = true },
                .interrupt = run_scene,
                .print_counts = print_counts,
                .sentence = "after an allocation has failed all agree, and the request works",
        };
        static Allocations a;

        share(&a);
        return scenes_main(&a.run, &a, &test, argc, argv);
}

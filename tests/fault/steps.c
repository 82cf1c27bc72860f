/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "scenes.h"
#include "tracer.h"

/* A process is killed at a system call of an operation, or the system call fails. Afterwards record and
 * kernel must agree, the answers must be true, and the same request must work.
 *
 * With --full this happens at each system call in turn, with each error that the call can have. Without it a
 * seed draws some. */

/* The store is a thread of selvold. */
typedef enum Subject { SUBJECT_DAEMON, SUBJECT_STORE, SUBJECT_WORKER, SUBJECT_CHILD, SUBJECTS } Subject;
static const char *const subject_names[SUBJECTS] = { "selvold", "selvold's store", "selvol-worker", "a child" };

/* Arm64 has no calls without a directory or a mask of signals: glibc makes the newer ones there. */
#ifndef SYS_mkdir
#define SYS_mkdir      SYS_mkdirat
#define SYS_readlink   SYS_readlinkat
#define SYS_epoll_wait SYS_epoll_pwait
#endif

/* The errors that a system call may have because of the disk, its server, memory, limits or signals. Calls on
 * entries of a tree do not have ESTALE here, as the engine takes it for an entry that is gone. */
typedef struct Fallible {
        long call;
        int errors[6];
} Fallible;

static const Fallible fallible[] = {
        { SYS_openat, { EMFILE, ENOMEM, EIO, EINTR } },
        { SYS_read, { EIO, EINTR } },
        { SYS_pread64, { EIO, ENOMEM, EINTR } },
        { SYS_pwrite64, { EIO, ENOSPC, EROFS } },
        { SYS_fsync, { EIO, ENOSPC } },
        { SYS_fdatasync, { EIO, ENOSPC } },
        { SYS_syncfs, { EIO } },
        { SYS_ftruncate, { EIO } },
        { SYS_newfstatat, { EIO, ENOMEM } },
        { SYS_fstatfs, { EIO, ESTALE } },
        { SYS_statx, { EIO, ENOMEM } },
        { SYS_readlinkat, { EIO, ENOMEM } },
        { SYS_readlink, { EIO, ENOMEM } },
        { SYS_getdents64, { EIO, ENOMEM } },
        { SYS_mkdir, { ENOSPC, EROFS } },
        { SYS_fgetxattr, { EIO, ENOMEM } },
        { SYS_getxattr, { EIO, ENOMEM } },
        { SYS_fsetxattr, { EIO, ENOSPC, EROFS } },
        { SYS_fchownat, { EIO, ENOMEM } },
        { SYS_fchmod, { EIO, ENOMEM } },
        { SYS_ioctl, { EIO, ENOMEM, EINTR } },
        { SYS_fsopen, { EMFILE, ENOMEM } },
        { SYS_fsconfig, { EIO, ENOMEM, EINTR } },
        { SYS_fsmount, { EMFILE, ENOMEM } },
        { SYS_open_tree, { EMFILE, ENOMEM } },
        { SYS_mount_setattr, { ENOMEM } },
        { SYS_move_mount, { ENOMEM, ESTALE } },
        { SYS_umount2, { EIO, ENOMEM, ESTALE } },
        { SYS_socket, { EMFILE, ENOMEM } },
        { SYS_socketpair, { EMFILE, ENOMEM } },
        { SYS_connect, { EAGAIN, EINTR } },
        { SYS_accept4, { EMFILE, ENOMEM, EINTR } },
        { SYS_clone, { EAGAIN, ENOMEM } },
        { SYS_epoll_wait, { EINTR } },
        { SYS_epoll_create1, { EMFILE, ENOMEM } },
        { SYS_epoll_ctl, { ENOMEM } },
        { SYS_timerfd_create, { EMFILE, ENOMEM } },
        { SYS_pidfd_open, { EMFILE, ENOMEM } },
};

typedef struct Steps {
        Run run;
        unsigned n_killed[SUBJECTS], n_failed[SUBJECTS];
} Steps;

/* A blow hits the subject at its nth moment. */
typedef struct Blow {
        Subject subject;
        bool kill; /* false: a system call fails */
        unsigned n;
        /* The result */
        bool struck;
        long call;
        int error;
} Blow;

/* read(2) of a timer or a pipe does not fail. */
static bool reads_file(const Call *call) {
        g_autofree char *path = g_strdup_printf("/proc/%i/fd/%i", (int) call->pid, call->fd),
                        *target = g_file_read_link(path, NULL);

        return target && target[0] == '/';
}

/* Only EPOLL_CTL_ADD needs memory, and sd-event relies on the others. */
static bool can_fail(const Call *call) {
        return call->number == SYS_read        ? reads_file(call)
               : call->number == SYS_epoll_ctl ? call->operation == EPOLL_CTL_ADD
                                               : true;
}

static const Fallible *find_fallible(const Call *call) {
        for (size_t i = 0; i < G_N_ELEMENTS(fallible); i++)
                if (fallible[i].call == call->number)
                        return can_fail(call) ? &fallible[i] : NULL;
        return NULL;
}

static unsigned count_errors(const Call *call) {
        const Fallible *f = find_fallible(call);
        unsigned n = 0;

        while (f && f->errors[n] != 0)
                n++;
        return n;
}

/* ---- blows ---- */

static pid_t find_store(pid_t daemon) {
        g_autofree char *path = g_strdup_printf("/proc/%i/task", (int) daemon);
        g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
        const char *name;

        while (dir && (name = g_dir_read_name(dir))) {
                g_autofree char *comm = g_build_filename(path, name, "comm", NULL);

                if (g_ascii_strtoll(name, NULL, 10) != daemon && g_file_test(comm, G_FILE_TEST_EXISTS))
                        return (pid_t) g_ascii_strtoll(name, NULL, 10);
        }
        return 0;
}

static pid_t find_subject(const Environment *e, Subject subject) {
        pid_t pid = 0;

        switch (subject) {
        case SUBJECT_DAEMON:
                return e->daemon;
        case SUBJECT_STORE:
                (void) HOLDS_WITHIN(WAIT_SEC, (pid = find_store(e->daemon)) > 0);
                return pid;
        case SUBJECT_WORKER:
                return e->worker;
        default:
                return environment_renew_spare(e);
        }
}

static void strike(Steps *s, Tracer *t, Blow *b, const Call *call, unsigned i) {
        b->struck = true;
        b->call = call->number;
        if (b->kill) {
                s->n_killed[b->subject]++;
                must(kill(b->subject == SUBJECT_STORE ? s->run.environment.daemon : t->pid, SIGKILL));
                return;
        }
        s->n_failed[b->subject]++;
        b->error = find_fallible(call)->errors[i];
        tracer_fail(t, b->error);
}

/* Each system call is a moment for a kill, and each error of one a moment for a failure. */
static void on_call(Steps *s, Tracer *t, Blow *b, const Call *call, unsigned *count) {
        unsigned n = b->kill ? 1 : count_errors(call);

        if (!b->struck && b->n >= *count && b->n < *count + n)
                strike(s, t, b, call, b->n - *count);
        *count += n;
        tracer_continue(t);
}

/* selvold answers an unmount before the store has recorded it. Whether that may still come: the store has
 * made no call yet, or the last one a moment ago. */
static bool store_goes_on(const Scene *scene, const Blow *b, unsigned count, int64_t last_call) {
        enum { MOMENT_USEC = 50000 };

        return b->subject == SUBJECT_STORE && scene->kind == KIND_UNMOUNT &&
               ((b->kill && count == 0) || g_get_monotonic_time() - last_call < MOMENT_USEC);
}

/* Runs the scene until its answer is there, and recorded. *ret_count is the number of moments. */
static bool play(Steps *s, const Scene *scene, Blow *b, unsigned *ret_count, Wrong *w) {
        int64_t last_call = g_get_monotonic_time(), end = last_call + SCENE_ANSWER_SEC * G_USEC_PER_SEC;
        unsigned count = 0;
        Tracer t;
        pid_t pid = find_subject(&s->run.environment, b->subject);

        if (!tracer_attach(&t, pid, b->subject == SUBJECT_DAEMON || b->subject == SUBJECT_WORKER))
                return blame(w, scene->volume, scene->target, "%s can't be traced", subject_names[b->subject]);
        (void) scene_start(s->run.client, scene);
        while ((!client_is_idle(s->run.client) || store_goes_on(scene, b, count, last_call)) &&
               g_get_monotonic_time() < end) {
                Call call = { 0 };
                Stop stop = tracer_poll(&t, &call);

                if (stop == STOP_CALL) {
                        on_call(s, &t, b, &call, &count);
                        last_call = g_get_monotonic_time();
                } else if (stop == STOP_OTHER)
                        tracer_continue(&t);
                else
                        g_usleep(20);
                (void) g_main_context_iteration(NULL, FALSE);
        }
        tracer_detach(&t);
        *ret_count = count;
        return client_is_idle(s->run.client) || blame(w, scene->volume, scene->target, "a call got no answer");
}

/* ---- steps ---- */

static void restart_killed(Steps *s, const Blow *b) {
        Victim v = b->subject == SUBJECT_WORKER ? VICTIM_WORKER : VICTIM_DAEMON;

        if (!b->struck || !b->kill || b->subject == SUBJECT_CHILD)
                return;
        (void) environment_kill(&s->run.environment, v, -1);
        environment_restart(&s->run.environment, v, false);
}

static bool step(Steps *s, const Scene *scene, Blow *b, unsigned *ret_count, Wrong *w) {
        if (!play(s, scene, b, ret_count, w))
                return false;
        restart_killed(s, b);
        return scene_recover(&s->run, scene, w);
}

static bool count_moments(Steps *s, const Scene *scene, Subject subject, bool kill, unsigned *ret, Wrong *w) {
        Blow none = { .subject = subject, .kill = kill, .n = UINT_MAX };

        if (!step(s, scene, &none, ret, w))
                return false;
        if (kill && *ret == 0)
                return blame(w, scene->volume, scene->target, "%s has made no system call", subject_names[subject]);
        return true;
}

static bool run_moment(Steps *s, const Scene *scene, Blow b, Wrong *w) {
        unsigned count;

        if (step(s, scene, &b, &count, w))
                return true;
        g_print("# %s: %s, moment %u, system call %li: %s\n", scene->name, subject_names[b.subject], b.n, b.call,
                b.kill ? "killed" : g_strerror(b.error));
        return false;
}

static bool run_moments(Steps *s, const Scene *scene, Subject subject, bool kill, Wrong *w) {
        unsigned count, n_tries;

        if (!count_moments(s, scene, subject, kill, &count, w))
                return false;
        if (s->run.full)
                g_print("# %s: %s: %u moments to %s\n", scene->name, subject_names[subject], count,
                        kill ? "be killed" : "fail");
        n_tries = s->run.full || count == 0 ? count : (unsigned) s->run.amount;
        for (unsigned i = 0; i < n_tries; i++) {
                unsigned n = s->run.full ? i : (unsigned) g_rand_int_range(s->run.rand, 0, (int) count);

                if (!run_moment(s, scene, (Blow){ .subject = subject, .kill = kill, .n = n }, w))
                        return false;
        }
        return true;
}

static bool run_scene(void *userdata, const Scene *scene, Wrong *w) {
        for (Subject subject = 0; subject < SUBJECTS; subject++)
                for (int kill = 0; kill <= 1; kill++)
                        if ((kill || tracer_can_fail()) && !run_moments(userdata, scene, subject, kill, w))
                                return false;
        return true;
}

/* Each process has to be interrupted, as the run would find no fault otherwise. */
static bool print_counts(const void *userdata) {
        const Steps *s = userdata;
        bool all = true;

        for (Subject i = 0; i < SUBJECTS; i++) {
                g_print("# %s: killed %u times, %u system calls failed\n", subject_names[i], s->n_killed[i],
                        s->n_failed[i]);
                all = all && s->n_killed[i] > 0 && (s->n_failed[i] > 0 || !tracer_can_fail());
        }
        return all;
}

int main(int argc, char **argv) {
        static const SceneTest test = {
                .spec = { .name = "steps",
                          .option = "sample",
                          .about = "How many moments of each kind (1)",
                          .few = 1,
                          .has_scenes = true },
                .interrupt = run_scene,
                .print_counts = print_counts,
                .sentence = "after an interruption at a system call all agree, and the request works",
        };
        static Steps s;

        return scenes_main(&s.run, &s, &test, argc, argv);
}

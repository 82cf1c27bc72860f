/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "support.h"
#include "worker/spare.h"

/* A child of the worker that has something of an operation left ends, in place of serving another one. */

static void *sleep_long(void *userdata) {
        (void) pause();
        return NULL;
}

static void leave_nothing(void) {
        _cleanup_close_ int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

        g_assert_cmpint(fd, >=, 0);
}

static void leave_descriptor(void) {
        must(open("/dev/null", O_RDONLY | O_CLOEXEC));
}

static void leave_staged_mount(void) {
        must(open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

static void leave_namespace(void) {
        must(unshare(CLONE_NEWNS));
}

static void leave_thread(void) {
        pthread_t id;

        g_assert_cmpint(pthread_create(&id, NULL, sleep_long, NULL), ==, 0);
}

static void leave_process(void) {
        pid_t pid = fork();

        must(pid);
        if (pid == 0)
                (void) pause();
}

static void end_process(void) {
        pid_t pid = fork();

        if (pid == 0)
                _exit(EXIT_SUCCESS);
        must(pid);
        must(waitpid(pid, NULL, 0));
}

static const struct {
        const char *name;
        void (*leave)(void);
        bool clean;
} rows[] = {
        { "nothing", leave_nothing, true },
        { "a descriptor", leave_descriptor, false },
        { "a staged mount", leave_staged_mount, false },
        { "a namespace", leave_namespace, false },
        { "a thread", leave_thread, false },
        { "a process", leave_process, false },
        { "a process that has ended", end_process, false },
};

/* Each row has a process of its own. */
TEST(test_belongings, "/spare/belongings") {
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                int status;
                pid_t pid = fork();

                if (pid == 0) {
                        Belongings before;

                        (void) setpgid(0, 0);
                        if (belongings_read(&before) < 0 || !belongings_are_same(&before))
                                _exit(2);
                        rows[i].leave();
                        _exit(belongings_are_same(&before) ? 1 : 0);
                }
                must(pid);
                must(waitpid(pid, &status, 0));
                (void) kill(-pid, SIGKILL);
                g_print("# %s\n", rows[i].name);
                g_assert_cmpint(WEXITSTATUS(status), ==, rows[i].clean);
        }
}

/* A child that could not look at itself serves one connection. */
TEST(test_unknown, "/spare/unknown") {
        const Belongings none = { 0 };

        g_assert_false(belongings_are_same(&none));
}

static Spare make_spare(pid_t pid, int *ret_child) {
        int pair[2];

        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
        *ret_child = pair[1];
        return (Spare){ .pid = pid, .fd = pair[0] };
}

/* The one that was used last gets the connection, unless it is dead; a reload, or time, ends the others. */
TEST(test_list, "/spare/list") {
        _cleanup_close_ int given = open("/dev/null", O_RDONLY | O_CLOEXEC), received = -EBADF;
        Spares s = { 0 };
        Spare got;
        int child[4];

        g_assert_cmpint(spares_give(&s, given, &got), ==, -ENOENT);
        for (int i = 0; i < 4; i++)
                spares_add(&s, make_spare(100 + i, &child[i]));
        must(close(child[3]));
        spares_forget(&s, 102);
        g_assert_cmpint(spare_receive(child[2]), ==, -ENOTCONN);
        g_assert_cmpint(spares_give(&s, given, &got), ==, 0);
        g_assert_cmpint(got.pid, ==, 101);
        received = spare_receive(child[1]);
        g_assert_cmpint(received, >=, 0);
        g_assert_cmpint(spare_offer(child[1]), ==, 0);
        spares_add(&s, got);
        g_assert_true(spares_trim(&s));
        g_assert_false(spares_trim(&s));
        g_assert_cmpuint(s.n, ==, 1);
        g_assert_cmpint(spare_receive(child[1]), ==, -ENOTCONN);
        spares_end(&s, 0);
        g_assert_cmpint(spare_offer(child[0]), ==, -EPIPE);
        for (int i = 0; i < 3; i++)
                must(close(child[i]));
}

/* A child for which there is no room ends. */
TEST(test_many, "/spare/many") {
        Spares s = { 0 };
        int child[SPARES_MAX + 1];

        for (int i = 0; i <= SPARES_MAX; i++)
                spares_add(&s, make_spare(100 + i, &child[i]));
        g_assert_cmpuint(s.n, ==, SPARES_MAX);
        g_assert_cmpint(spare_receive(child[SPARES_MAX]), ==, -ENOTCONN);
        spares_end(&s, 0);
        for (int i = 0; i <= SPARES_MAX; i++)
                must(close(child[i]));
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A rewrite of the state that is killed at any moment loses nothing, and selvold can read a state that it
 * can't write. */

#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <glib/gstdio.h>

#include "store-fixture.h"
#include "store/store-rows.h"

/* --- killed in the middle --- */

/* The child has asked to be traced, and has stopped itself. Lets it go on to its n-th stop at a system call,
 * before or after the call, and kills it there. Returns false if the child has ended before. */
static bool kill_at_call(pid_t child, unsigned n) {
        int status;

        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        g_assert_true(WIFSTOPPED(status));
        g_assert_cmpint(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL), ==, 0);
        for (unsigned calls = 0; calls < n; calls++) {
                g_assert_cmpint(ptrace(PTRACE_SYSCALL, child, NULL, NULL), ==, 0);
                g_assert_cmpint(waitpid(child, &status, 0), ==, child);
                if (!WIFSTOPPED(status)) {
                        g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
                        return false;
                }
        }
        (void) kill(child, SIGKILL);
        g_assert_cmpint(waitpid(child, &status, 0), ==, child);
        return true;
}

/* The store's thread does the same: a commit, which is acknowledged, and a rewrite. */
static void rewrite_and_exit(char *path) {
        Changes acknowledged = { 0 }, everything = { 0 };
        StoreFile file = { .schema = &store_schema, .path = path };
        Volumes all = { 0 };
        int error;

        g_assert_cmpint(volumes_add(&all, sample("a/b", "/var/lib/kubelet/a")), ==, 0);
        rows_put_everything(&acknowledged, &all, "boot");
        g_assert_cmpint(volumes_add(&all, sample("c", "/var/lib/kubelet/c")), ==, 0);
        rows_put_everything(&everything, &all, "boot");
        if (store_file_open(&file, &error) < 0 || error < 0 || store_file_commit(&file, &acknowledged) < 0)
                _exit(1);
        (void) ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void) raise(SIGSTOP);
        _exit(store_file_write_anew(&file, &everything, &(Changes){ 0 }) < 0);
}

/* After a kill at any system call of a rewrite the file has all that was acknowledged before; in the end the
 * new file counts. */
static void test_killed(Fixture *f, gconstpointer data) {
        unsigned n_old = 0, n_new = 0;
        bool killed = true;

        if (private_mounts) /* a tmpfs has no disk to wait for */
                mount_small(f);
        for (unsigned n = 1; killed; n += 2) { /* the state after a call is that before the next */
                _cleanup_(volumes_done) Volumes all = { 0 };
                pid_t child;

                f->store = store_close(f->store);
                g_assert_cmpint(g_unlink(f->path), ==, 0);
                child = fork();
                g_assert_cmpint(child, >=, 0);
                if (child == 0)
                        rewrite_and_exit(f->path);
                killed = kill_at_call(child, n);
                reopen(f);
                g_assert_cmpint(store_get_error(f->store), ==, 0);
                load(f, &all);
                g_assert_nonnull(volumes_find_target(&all, "/var/lib/kubelet/a", NULL));
                if (volumes_find(&all, "c"))
                        n_new++;
                else
                        n_old++;
                put_sample(f);
        }
        g_test_message("%u kills before the new file counts, %u after", n_old, n_new);
        g_assert_cmpuint(n_old, >, 20);
        g_assert_cmpuint(n_new, >, 5);
}

/* --- a file system that can't be written --- */

static bool has_mounts(void) {
        if (!private_mounts)
                g_test_skip("no mount namespace of our own");
        return private_mounts;
}

static bool has_small_disk(Fixture *f) {
        if (has_mounts())
                mount_small(f);
        return private_mounts;
}

typedef struct Unwritable {
        const char *name;
        int error;
        int version; /* 0: the file is of this version */
        bool log;    /* a killed process has left some rows in the log alone */
} Unwritable;

static const Unwritable unwritables[] = {
        { "read-only", -EROFS },
        { "read-only/log", -EROFS, .log = true },
        { "read-only/version", -EROFS, .version = 1 },
        { "full/version", -ENOSPC, .version = 2 },
};

/* Closes the store, which then has the same files as after a kill. */
static void close_with_log(Fixture *f) {
        g_autofree char *wal = g_strconcat(f->path, "-wal", NULL), *file_text = NULL, *wal_text = NULL;
        gsize file_size, wal_size;

        g_assert_true(g_file_get_contents(f->path, &file_text, &file_size, NULL));
        g_assert_true(g_file_get_contents(wal, &wal_text, &wal_size, NULL));
        f->store = store_close(f->store);
        g_assert_true(g_file_set_contents(f->path, file_text, (gssize) file_size, NULL));
        g_assert_true(g_file_set_contents(wal, wal_text, (gssize) wal_size, NULL));
}

/* selvold reads the file, with its log or without, whatever its version, and writes it as soon as that is
 * possible. */
static void test_unwritable(Fixture *f, gconstpointer data) {
        const Unwritable *u = data;
        const bool read_only = u->error == -EROFS;
        _cleanup_(volumes_done) Volumes all = { 0 }, read = { 0 };
        g_autofree char *copy = g_strconcat(f->path, ".version-1", NULL);

        if (!has_small_disk(f))
                return;
        if (u->version > 0)
                make_version(f, u->version, "");
        else
                put_sample(f);
        if (u->log)
                close_with_log(f);
        f->store = store_close(f->store);
        if (read_only)
                disk_mount(f->directory, MS_REMOUNT | MS_RDONLY);
        else
                disk_fill(f->directory);

        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
        g_assert_cmpint(store_get_error(f->store), ==, u->error);
        load(f, &all);
        g_assert_nonnull(volumes_find_target(&all, "/var/lib/kubelet/a", NULL));
        g_assert_cmpint(write_anew(f, &all), ==, u->error);
        if (read_only)
                disk_mount(f->directory, MS_REMOUNT);
        else
                disk_make_room(f->directory);
        g_assert_cmpint(write_anew(f, &all), ==, 0);
        reopen(f);
        g_assert_cmpint(store_get_error(f->store), ==, 0);
        load(f, &read);
        g_assert_nonnull(volumes_find_target(&read, "/var/lib/kubelet/a", NULL));
        g_assert_cmpint(g_file_test(copy, G_FILE_TEST_EXISTS), ==, u->version == 1);
}

/* There is no file yet. */
static void test_read_only_empty(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };

        if (!has_mounts())
                return;
        f->store = store_close(f->store);
        disk_mount(f->directory, MS_RDONLY);
        g_assert_cmpint(store_open(f->path, &f->schema, &f->store), ==, 0);
        g_assert_cmpint(store_get_error(f->store), ==, -EROFS);
        load(f, &all);
        disk_mount(f->directory, MS_REMOUNT);
        g_assert_cmpint(write_anew(f, &all), ==, 0);
        put_sample(f);
}

static void test_full(Fixture *f, gconstpointer data) {
        _cleanup_(volumes_done) Volumes all = { 0 };
        int r = 0;

        if (!has_small_disk(f))
                return;
        put_sample(f);
        disk_fill(f->directory);
        /* The log may have room for a few volumes. */
        for (unsigned i = 0; i < 1000 && r == 0; i++) {
                _cleanup_(volume_freep) Volume *v = sample("a/b", "/var/lib/kubelet/a");

                put(f, v);
                r = store_commit(f->store);
        }
        g_assert_cmpint(r, ==, -ENOSPC);
        g_assert_cmpint(volumes_add(&all, sample("a/b", "/var/lib/kubelet/a")), ==, 0);
        g_assert_cmpint(write_anew(f, &all), ==, -ENOSPC);
        disk_make_room(f->directory);
        g_assert_cmpint(write_anew(f, &all), ==, 0);
}

void add_tests(void) {
        private_mounts = namespace_try();
#define ADD(name, function) g_test_add("/store-disk/" name, Fixture, NULL, store_set_up, function, store_tear_down)
        ADD("killed", test_killed);
        ADD("read-only/empty", test_read_only_empty);
        ADD("full", test_full);
        add_fixture_rows("/store-disk", Fixture, unwritables, store_set_up, test_unwritable, store_tear_down);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/* All tests of the ring need these. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <systemd/sd-bus.h>

#include "model/observed.h"
#include "support/cases.h"
#include "support/files.h"
#include "support/program.h"
#include "support/wait.h"

/* The tests as root share a mount namespace, which goes with all that they have mounted in it when they end,
 * images, and a worker. SELinux is off where they run. The tests in tests/vm need SELinux. */

#define TEST_DIR     "/run/selvol-test"
#define TEST_TARGETS TEST_DIR "/targets"
#define TEST_IMAGES  TEST_DIR "/images"

/* Calls namespace_enter(), and makes the directories above. */
bool test_enter(void);
/* The main() of each program here calls this. */
int run_tests(int argc, char **argv);

/* Ends the test if the path can't be opened. The descriptor is closed by execve(2). */
int open_path(const char *path, int flags);
/* The same, to read the directory, or to walk from there. */
int open_directory(const char *path);

/* Defines a test PREFIX/TYPE for each type of a file system, fs_type. The test is skipped if the machine
 * has no mkfs for the type. */
#define TEST_DISKS(function, prefix, ...) \
        DEFINE_TEST_OF(function, const char *fs_type, add_disks(prefix, test_of_##function, __VA_ARGS__, NULL))
void add_disks(const char *prefix, GTestDataFunc function, ...) G_GNUC_NULL_TERMINATED;

/* Makes an image with a file system (NULL: with none), or marks the test as skipped and returns NULL. */
char *make_image(const char *name, const char *fs_type);
char *make_target(const char *name);
/* Attaches the image to a loop device. The kernel detaches the device when *ret_fd is closed. */
char *attach_loop(const char *image, int *ret_fd);
/* Makes a symbolic link in /dev. The host sees the link too, so the caller has to remove it. */
char *make_link(const char *name, const char *leads_to);
/* Writes the note that the worker would have written if it had made the mount itself. */
void note_mount(const char *target);
void note_mount_as(const char *target, const char *volume);
/* Writes the script /sbin/mount.TYPE, which only the test and its worker see. */
void add_mount_helper(const char *type, const char *script);
bool is_mounted(const char *path);
bool is_read_only(const char *path);
uint64_t mount_id_of(const char *path);
MountFact mount_fact_of(const char *path);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountFact, mount_fact_done)
/* Counts the mounts beneath the targets. */
size_t count_mounts(void);
/* Counts the loop devices of the image. */
size_t count_loops(const char *image);
/* There is none, or there is none as soon as another process, which looks for an image among all loop
 * devices, closes it. */
void assert_no_loop(const char *image);

typedef struct Worker {
        pid_t pid;
        char *socket;
} Worker;

/* Starts a worker with the shipped configuration, the roots of the test, and a drop-in (NULL: without one).
 * The words of the wrapper (NULL: none) come before the worker's own. */
Worker *worker_start(const char *dropin, const char *const *wrapper);
Worker *worker_launch(const char *dropin, const Launch *how);
/* Starts a worker under strace(1) with this injection ("inject=fsync:signal=KILL:when=1"). strace runs beside
 * the worker, which is a child of the test. Without strace it skips the
 * test and returns NULL. */
Worker *worker_start_traced(const char *injection);
/* The same, but strace injects only into system calls on this file, and logs these to WORKER_TRACE. */
#define WORKER_TRACE TEST_DIR "/trace"
Worker *worker_start_traced_at(const char *path, const char *injection);
/* Starts a worker under strace(1), which writes each of these system calls ("open,openat") into the log
 * before the call returns, with the paths of descriptors. */
Worker *worker_start_logged(const char *calls, const char *log);
/* Stops the worker and checks that its exit status is 0. */
void worker_stop(Worker *w);
/* Tells whether workers of this run do without file system contexts. */
bool stages_in_namespace(void);
/* A worker with only the shipped configuration, which add_tests() may start for all cases; or NULL. */
extern Worker *worker;

/* Returns the child that serves the only connection. */
pid_t worker_find_child(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Worker, worker_stop)

sd_bus *worker_dial(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus, sd_bus_close_unref)

/* Reads to the end of the connection, which ends when the child is gone, as the worker promises. */
void wait_for_end(sd_bus *bus);

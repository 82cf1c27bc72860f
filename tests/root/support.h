/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "model/observed.h"
#include "support/cases.h"
#include "support/files.h"
#include "support/program.h"
#include "support/wait.h"

/* What the tests as root share: a mount namespace in which all they do stays and goes with them, images,
 * and a worker. SELinux is off where they run; tests/vm has the rest. */

#define TEST_DIR     "/run/selvol-test"
#define TEST_TARGETS TEST_DIR "/targets"
#define TEST_IMAGES  TEST_DIR "/images"

/* namespace_enter(), and makes the directories above. */
bool test_enter(void);
/* main() of the programs here. */
int run_tests(int argc, char **argv);

/* Makes an image with a file system (NULL: with none), or marks the test as skipped and returns NULL. */
char *make_image(const char *name, const char *fs_type);
char *make_target(const char *name);
/* Attaches the image to a loop device, which goes with *ret_fd. */
char *attach_loop(const char *image, int *ret_fd);
/* A symbolic link in /dev, which the host sees too: to be removed. */
char *make_link(const char *name, const char *leads_to);
/* Notes what is mounted there as the worker does what it has made itself. */
void note_mount(const char *target);
void note_mount_as(const char *target, const char *volume);
bool is_mounted(const char *path);
bool is_read_only(const char *path);
uint64_t mount_id_of(const char *path);
/* The fact in the mount table about the mount that the path is on. */
MountFact mount_fact_of(const char *path);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(MountFact, mount_fact_done)
/* How many mounts the namespace has beneath the targets. */
size_t count_mounts(void);
/* How many loop devices there are over the image. */
size_t count_loops(const char *image);
/* There is none, or there is none as soon as another process, which looks for an image among all loop
 * devices, closes it. */
void assert_no_loop(const char *image);

typedef struct Worker {
        pid_t pid;
        char *socket;
} Worker;

/* Starts a worker with the shipped configuration, roots of the test, and a drop-in (NULL: none); behind the
 * words of wrapper, if not NULL. */
Worker *worker_start(const char *dropin, const char *const *wrapper);
/* The same in any other way. */
Worker *worker_launch(const char *dropin, const Launch *how);
/* Under strace(1) with this injection ("inject=fsync:signal=KILL:when=1"), which traces from the side: the
 * worker stays our child. Or marks the test as skipped and returns NULL. */
Worker *worker_start_traced(const char *injection);
/* The same, of system calls on the file alone, which are logged. */
#define WORKER_TRACE TEST_DIR "/trace"
Worker *worker_start_traced_at(const char *path, const char *injection);
/* Under strace(1), which writes each of these system calls ("open,openat") into the log before it returns,
 * with the paths of descriptors. */
Worker *worker_start_logged(const char *calls, const char *log);
/* Stops it and checks that it ends well. */
void worker_stop(Worker *w);
/* Whether workers are to do without file system contexts. */
bool stages_in_namespace(void);
/* With the shipped configuration alone: NULL, or started by add_tests() for all cases. */
extern Worker *worker;

/* The child of the only connection there is. */
pid_t worker_find_child(const Worker *w);
/* The child that waits for the next connection. */
pid_t worker_find_spare(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Worker, worker_stop)

sd_bus *worker_dial(const Worker *w);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(sd_bus, sd_bus_close_unref)

/* Reads until the end of the connection, which the worker promises comes when the child is gone. */
void wait_for_end(sd_bus *bus);

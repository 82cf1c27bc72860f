/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "model.h"
#include "support/files.h"
#include "support/records.h"
#include "support/service.h"
#include "support/wait.h"

/* The environment has volumes, a bus, selvold and selvol-worker, in a mount namespace of the test's own. The
 * processes end with the test, whatever happens to it, the namespace with the processes, and the loop devices
 * with the namespace. */

typedef struct TestVolume {
        char *id, *source;
        const char *fs_type;
        bool image; /* false: a tmpfs */
} TestVolume;

typedef struct Environment {
        char *directory, *log; /* the directory has everything but the state of selvold */
        Service service;
        char *bystander, *peek; /* a mount that selvol must not touch; a place for more mounts */
        char *targets[TARGETS];
        TestVolume volumes[VOLUMES];
        GDBusConnection *bus;
        GPid worker, daemon;
        const char *preload[2]; /* "LD_PRELOAD=..." for both, or NULL */
        bool slow;              /* strace delays the process that is started next */
        int worker_end;         /* a pipe that ends when the worker and all its children are gone */
} Environment;

typedef enum Victim { VICTIM_DAEMON, VICTIM_WORKER, VICTIM_CHILD, VICTIMS } Victim;
extern const char *const victim_names[VICTIMS];

void environment_start(Environment *e);
void environment_stop(Environment *e);

/* Returns NO_TARGET if the path is no target. */
int environment_find_target(const Environment *e, const char *path);
/* Returns a pidfd of a child of the worker, mostly of the youngest one; -1 if the worker has none. */
int environment_pick_child(const Environment *e, GRand *rand);
/* Lets the worker end all children that wait for a connection, and returns the new one, which gets the next;
 * 0 if there is none. */
pid_t environment_renew_spare(const Environment *e);
/* Returns whether the victim was there. */
bool environment_kill(Environment *e, Victim v, int child);
/* Starts the victim again. If slow, strace delays some of its system calls. */
void environment_restart(Environment *e, Victim v, bool slow);
/* Removes the state. selvold must not run. */
void environment_lose_state(void);
/* Adds records of volumes that nobody uses; records_fill() has their names. selvold must not run. */
void environment_fill_records(unsigned n);
/* Stops each write to the disk of the state, or lets them go on. */
void environment_freeze_state(bool frozen);

/* Mounts the volume for writing at e->peek: once more if it has a device, MAJOR:MINOR, and otherwise ("") its
 * image. */
void environment_peek(const Environment *e, const TestVolume *v, const char *device);

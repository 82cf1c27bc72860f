/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gio/gio.h>

#include "model.h"
#include "support/files.h"
#include "support/service.h"
#include "support/wait.h"

/* Volumes, a bus, selvold and selvol-worker, in a mount namespace of the test's own: whatever happens to the test, the
 * processes end with it, the namespace with them, and the loop devices with the namespace. */

typedef struct TestVolume {
        char *id, *source;
        const char *fs_type;
        bool image; /* or else a tmpfs */
} TestVolume;

typedef struct Environment {
        char *directory, *log; /* all of it, but for selvold's state */
        Service service;
        char *bystander, *peek;
        char *targets[TARGETS];
        TestVolume volumes[VOLUMES];
        GDBusConnection *bus;
        GPid worker, daemon;
        const char *preload[2]; /* "LD_PRELOAD=..." for both, or NULL */
        bool slow;              /* how selvold or the worker is started next */
        int worker_end;         /* is at its end when the worker and all its children are gone */
} Environment;

/* What can be killed. */
typedef enum Victim { VICTIM_DAEMON, VICTIM_WORKER, VICTIM_CHILD, VICTIMS } Victim;
extern const char *const victim_names[VICTIMS];

void environment_start(Environment *e);
void environment_stop(Environment *e);

/* NO_TARGET if the path is none. */
int environment_find_target(const Environment *e, const char *path);
/* A child of the worker, rather the youngest one, as a pidfd; -1 if there is none. */
int environment_pick_child(const Environment *e, GRand *rand);
/* Returns whether the victim was there. */
bool environment_kill(Environment *e, Victim v, int child);
/* Starts what was killed; slow: it is delayed at certain system calls. */
void environment_restart(Environment *e, Victim v, bool slow);
/* Removes the state of a selvold that does not run. */
void environment_lose_state(void);
/* Whether selvold and the worker run and have not complained; if not, *ret says what it is. */
bool environment_is_sound(const Environment *e, const char **ret);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "model/settings.h"
#include "mount/mountinfo.h"

/* selvolctl doctor is a list of checks. Each looks at one thing, and says with doctor_found() what it has
 * found. None of them starts a service or changes anything. */

typedef enum FindingState {
        OK,
        NOTE,    /* different from elsewhere, and nothing to do */
        WARNING, /* something works worse, or will not work for long */
        PROBLEM, /* something does not work */
        UNKNOWN, /* only root can see it */
        FINDING_STATES,
} FindingState;

/* Several checks use these. */
typedef struct Doctor {
        const char *root; /* before the paths of all files that are looked at: "", or a test's directory */
        bool is_root;     /* root runs selvolctl */
        char *user;
        Settings settings;
        char *mistake; /* in the configuration, which is empty then; NULL: none */

        sd_bus *bus;
        char *bus_error;            /* NULL: the bus can be reached */
        char **names;               /* names on the bus that have an owner, or a service to start */
        bool running;               /* selvold owns its name */
        char *version;              /* of selvold; NULL: no reply */
        sd_bus_error call_error;    /* why there is none */
        char *in_force, *in_worker; /* the configurations of selvold and selvol-worker; NULL or "": unknown */
        json_t *volumes, *holders;  /* selvold's, as volumes_get() has them; NULL: unknown */

        const char *check; /* the one that runs */
        json_t *findings;  /* objects with Check, State, Text and, where there is something to do, Remedy */
        size_t n_found[FINDING_STATES];
        char **texts; /* see doctor_keep() */
        int error;    /* the first one */
} Doctor;

/* Appends a finding. format: what was found, and why it matters; a second line says what to type. */
void doctor_found(Doctor *d, FindingState state, const char *format, ...) _printf_(3, 4);
#define AS_ROOT "\nrun 'selvolctl doctor' as root"

/* Notes a negative errno with which selvolctl ends. Returns whether r is one. */
bool doctor_failed(Doctor *d, int r);
/* Takes over a new string, and returns it until the end of all checks; NULL, for lack of memory, is an error,
 * and "" is returned. doctor_string() keeps a string from outside, escaped; doctor_path() a path beneath
 * root. */
const char *doctor_keep(Doctor *d, char *s);
const char *doctor_string(Doctor *d, const char *s);
const char *doctor_path(Doctor *d, const char *path);
/* Looks at a file beneath root. Returns 0, -EACCES if only root can, or -ENOENT. ret may be NULL. */
int doctor_stat(Doctor *d, const char *path, struct stat *ret) _warn_unused_;

/* Returns the mount of a path, by its text, if access to the path waits for a server or a process, forever if
 * that has gone; NULL for all others. */
const Mount *doctor_find_slow_mount(const MountTable *table, const char *path);

/* Runs all checks, in the order of the findings. Returns 0 or a negative errno. */
int doctor_check(Doctor *d) _warn_unused_;

typedef struct Check {
        const char *name;
        void (*look)(Doctor *d);
} Check;

/* The lists end with a check without a name. */
extern const Check service_checks[]; /* the configuration, the bus, selvold's records and files */
extern const Check node_checks[];    /* SELinux, directories, kubelet, podman, the kernel, the clock */

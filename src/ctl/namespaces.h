/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "mount/mountinfo.h"

/* Mount namespaces, and who has a device mounted in one. Only root can look into those of others. */

/* A mount namespace, by its process with the lowest number. */
typedef struct Namespace {
        unsigned pid;
        char *command; /* escaped */
        MountTable *table;
} Namespace;

typedef struct Namespaces {
        MountTable *own;   /* of this process */
        Namespace *others; /* ordered by their processes */
        size_t n;
} Namespaces;

/* Reads the mount tables of all mount namespaces that have a process. Returns 0 or a negative errno. */
int namespaces_read(Namespaces *ret) _warn_unused_;
void namespaces_done(Namespaces *all);

/* Says who has one of the devices mounted: "process 4711 (app) at /data, process 4800 (db) at /d". *ret is
 * NULL if nobody has, or if it is mounted in the own namespace too, of which others have copies. Returns 0 or
 * -ENOMEM. */
int namespaces_describe(const Namespaces *all, const dev_t *devices, size_t n, char **ret) _warn_unused_;

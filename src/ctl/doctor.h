/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "model/settings.h"

/* The facts about the node, and what doctor makes of them: apart, so that tests can judge nodes that don't
 * exist. */

typedef enum Truth { UNKNOWN, NO, YES } Truth; /* unknown: root is needed, or another thing first */

typedef enum KernelFeature {
        KERNEL_FSOPEN,
        KERNEL_MOUNT_SETATTR,
        KERNEL_USER_NAMESPACES,
        KERNEL_STATMOUNT,
        KERNEL_UNIQUE_MOUNT_IDS,
        KERNEL_FEATURES,
} KernelFeature;

/* A directory of TargetRoots=. */
typedef struct RootFacts {
        char *path;
        Truth exists;
        char *mount_point; /* if it exists, and what follows */
        bool shared, read_only;
} RootFacts;

typedef struct NodeFacts {
        char *user;
        char *mistake; /* in the configuration; NULL: none */
        Settings settings;
        RootFacts *roots;
        size_t n_roots;
        bool root;    /* whether it is root who asks */
        bool kubelet; /* its directory is there */
        bool kernel[KERNEL_FEATURES];

        bool selinux, enforcing;
        Truth types;  /* whether the policy has any of LabelTypes= */
        Truth module; /* whether it has selvol's own types */

        Truth bus_name;  /* whether the bus knows whom to start for the name */
        bool running;    /* the name has an owner */
        char *bus_error; /* NULL: it can be reached */
        char *version;   /* of selvold; NULL: it has not answered, as the call shows: */
        char *call_error, *call_error_name;
        char *service_file_state, *service_state, *socket_state; /* as systemctl shows them; NULL: unknown */
        bool worker_socket;
        Truth polkit, polkit_actions;
        char *denied_domain; /* SELinux denied its messages with selvold in this boot; NULL: none known */

        bool store_directory, store_read_only;
        Truth store_owned; /* the directory and the file belong to the user selvol */
        uint64_t store_free;

        bool clock_synchronized;
        uint64_t now_usec, newest_usec; /* the last time in the records; 0: not known */

        Truth metrics_directory;
        uint64_t metrics_usec; /* when the text file was written; 0: never */
} NodeFacts;

/* Read from files and the kernel. Returns 0 or a negative errno, for lack of memory and the like. */
int facts_read(NodeFacts *n) _warn_unused_;
/* Read from the bus, systemd and selvold, after facts_read(). Starts nothing. */
int facts_read_bus(NodeFacts *n) _warn_unused_;
/* Read from the journal, if the caller may read it. Returns 0 or -ENOMEM. */
int facts_read_denials(NodeFacts *n) _warn_unused_;
/* Whether a record of the audit says that SELinux denied a message between selvold and another domain.
 * Returns 1 with that, 0 or -ENOMEM. */
int denial_parse(const char *record, char **ret_domain) _warn_unused_;
void facts_done(NodeFacts *n);

/* Appends an object with Check, State ("ok", "warning", "problem" or "unknown"), Text and, but for ok, Remedy
 * to findings for all that is looked at. */
int facts_judge(const NodeFacts *n, json_t *findings) _warn_unused_;

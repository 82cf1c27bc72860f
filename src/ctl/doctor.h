/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "model/settings.h"
#include "mount/denial.h"
#include "mount/mountinfo.h"

/* The facts about the node, and doctor's judgment of them. They are separate, so that tests can judge any
 * node. */

typedef enum Truth { UNKNOWN, NO, YES } Truth; /* unknown: needs root, or another problem solved first */

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
        char *mount_point; /* set if the directory exists, like the next two */
        bool shared, read_only;
} RootFacts;

/* A directory of TargetRoots= or SourceRoots= other than /dev, and what the policy says of its type. */
typedef struct LabelFacts {
        DeniedObject object;
        const char *path; /* belongs to the settings */
        char *label;
        Truth allowed; /* selvol-worker may mount there, or use images of this type */
} LabelFacts;

/* A volume that nobody holds, and that is mounted in another mount namespace. */
typedef struct KeptFacts {
        char *volume;
        char *users; /* as namespaces_describe() has them */
} KeptFacts;

typedef struct NodeFacts {
        char *user;
        char *mistake; /* in the configuration; NULL: none */
        Settings settings;
        RootFacts *roots;
        size_t n_roots;
        LabelFacts *labels;
        size_t n_labels;
        KeptFacts *kept;
        size_t n_kept;
        Truth kept_known;       /* not unless root runs doctor, and selvold answers */
        bool root;              /* root runs doctor */
        bool kubelet;           /* kubelet's directory exists */
        char *kubelet_leads_to; /* by a symbolic link; NULL: none */
        bool kernel[KERNEL_FEATURES];

        bool selinux, enforcing;
        Truth types;  /* whether the policy has any type of LabelTypes= */
        Truth module; /* whether the policy has selvol's own types */

        Truth bus_name;             /* whether the bus knows a service for the name */
        bool running;               /* selvold owns the name */
        char *bus_error;            /* NULL: the bus can be reached */
        char *in_force, *in_worker; /* the configurations of selvold and selvol-worker; NULL or "": unknown */
        char *version;              /* of selvold; NULL: no reply, for these reasons: */
        char *call_error, *call_error_name;
        char *service_file_state, *service_state, *socket_state; /* as systemctl shows them; NULL: unknown */
        bool worker_socket;
        Truth polkit, polkit_actions;
        char *denied_domain; /* SELinux denied its messages with selvold since boot; NULL: none */

        bool store_directory, store_read_only;
        Truth store_owned; /* the user selvol owns the directory and the file */
        uint64_t store_free;

        bool clock_synchronized;
        uint64_t now_usec, newest_usec; /* newest: the last time in the records; 0: unknown */

        Truth metrics_directory;
        uint64_t metrics_usec; /* the time of the last write of the text file; 0: none */
} NodeFacts;

/* Reads facts from files and the kernel. Returns 0 or a negative errno, for lack of memory and the like. */
int facts_read(NodeFacts *n) _warn_unused_;
/* Reads facts from the bus, systemd and selvold, after facts_read(). Starts no service. */
int facts_read_bus(NodeFacts *n) _warn_unused_;
/* Reads facts from the journal, if the caller may read it. Returns 0 or -ENOMEM. */
int facts_read_denials(NodeFacts *n) _warn_unused_;
/* Finds those of selvold's volumes that nobody holds and that are mounted in another mount namespace. Only
 * root can. Returns 0 or -ENOMEM. */
int facts_read_kept(NodeFacts *n, const json_t *volumes) _warn_unused_;
/* Whether an audit record says that SELinux denied a message between selvold and another domain. Returns 1
 * and that domain, 0, or -ENOMEM. */
int denial_parse(const char *record, char **ret_domain) _warn_unused_;
void facts_done(NodeFacts *n);

/* Whether access to a file at the path waits for a server or a process, forever if that has gone. */
bool path_may_hang(const MountTable *table, const char *path);

/* Appends an object to findings for each check: Check, State ("ok", "warning", "problem" or "unknown"), Text
 * and, unless ok, Remedy. */
int facts_judge(const NodeFacts *n, json_t *findings) _warn_unused_;

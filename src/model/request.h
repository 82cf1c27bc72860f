/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "basic/gid-util.h"
#include "model/limits.h"
#include "model/mount-options.h"
#include "model/settings.h"

typedef enum AccessMode {
        ACCESS_INLINE, /* not a persistent volume, or not said */
        ACCESS_READ_WRITE_ONCE,
        ACCESS_READ_WRITE_ONCE_POD,
        ACCESS_READ_ONLY_MANY,
        ACCESS_READ_WRITE_MANY,
        ACCESS_MODES,
} AccessMode;
DECLARE_STRING_TABLE(access_mode, AccessMode);

/* The one who relabels the files where they have to be. */
typedef enum RelabelBy {
        RELABEL_BY_RUNTIME,
        RELABEL_BY_SERVICE,
        RELABEL_BY_NONE, /* the holder relies on no labels */
        RELABEL_BYS,
} RelabelBy;
DECLARE_STRING_TABLE(relabel_by, RelabelBy);

/* How much VerifyLabel compares. */
typedef enum VerifyDepth { VERIFY_ROOT, VERIFY_FULL, VERIFY_DEPTHS } VerifyDepth;
DECLARE_STRING_TABLE(verify_depth, VerifyDepth);

/* How a walk over all files treats other workloads. */
typedef struct WalkOptions {
        uint64_t entries_per_sec; /* at most; to WALK_ENTRIES_PER_SEC_MAX; 0: no limit */
        bool force;               /* walk also where the record says that there is nothing to do */
} WalkOptions;

/* A caller's request: the arguments and options of MountVolume, PlanVolume and AdoptVolume. Unset
 * strings are NULL, unset flags -1. */
typedef struct Request {
        char *volume;
        char *source;
        char *target;
        char *fs_type;
        char **mount_options;
        char *holder;
        char *driver;
        char *volume_type;
        AccessMode access_mode;
        char *context; /* SELinuxContext: full */
        char *user, *role, *type, *level;
        int policy; /* RelabelPolicy, or -1 */
        int selinux_mount_supported;
        bool read_only;
        gid_t fs_group;             /* FSGroup; GID_NONE: the group is not to be changed */
        int fs_group_policy;        /* FSGroupPolicy, or -1 */
        int fs_group_change_policy; /* FSGroupChangePolicy, or -1 */
        bool user_namespace;        /* the runtime is going to idmap the mount */
        RelabelBy relabel_by;
        WalkOptions walk;
        uint64_t timeout_usec; /* with the wait in line; 0: the configured one */
        uint64_t wait_usec;    /* for a conflict to end */
} Request;

#define REQUEST_INIT                               \
        ((Request){ .policy = -1,                  \
                    .selinux_mount_supported = -1, \
                    .fs_group = GID_NONE,          \
                    .fs_group_policy = -1,         \
                    .fs_group_change_policy = -1 })

void request_done(Request *q);

/* Checks a name that is shown, such as a holder's: printable, UTF-8, of limited length, without quotes,
 * commas and backslashes; NULL is one. Returns 0, -ENOMEM or INVALID_OPTION, which names the option. */
int request_validate_name(const char *name, const char *option, Failure *f) _warn_unused_;

/* Checks everything about a request that needs no look at the system and brings it to its one form: context
 * and level canonical, a context= among the mount options moved to context (which then means OnVolumeMount
 * by a driver that supports it, unless the request says otherwise), "ro" to read_only, absent holder set to
 * the target, absent volume type to "csi". source is checked only when the request has one. Idempotent.
 * Returns 0, -ENOMEM, or a failure kind. */
int request_validate(Request *q, const Settings *settings, Failure *f) _warn_unused_;

/* Checks a volume id: 1 to 256 of [A-Za-z0-9._:/@+=~-], no empty, "." or ".." part between slashes, no
 * slash at an end. It is opaque; the rules only keep it from ever being taken for a path that leads
 * elsewhere. */
int volume_id_validate(const char *id, Failure *f) _warn_unused_;

/* Checks a target: absolute, normalized, beneath one of the configured roots. */
int target_validate(const char *target, const Settings *settings, Failure *f) _warn_unused_;

/* Checks the options of a walk, whatever method they came with. Returns 0, -ENOMEM or INVALID_OPTION. */
int walk_options_validate(const WalkOptions *w, Failure *f) _warn_unused_;

/* Whether both ask for the same, so that one answer serves both. Both must be validated. Timeouts don't
 * count, nor how a walk treats other workloads: that changes no answer. Who relabels does, and force: a
 * walk that was skipped is no answer to it. */
bool request_equal(const Request *a, const Request *b) _pure_;

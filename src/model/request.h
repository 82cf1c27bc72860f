/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "basic/gid-util.h"
#include "model/limits.h"
#include "model/mount-options.h"
#include "model/settings.h"

typedef enum AccessMode {
        ACCESS_INLINE, /* not a persistent volume, or not passed */
        ACCESS_READ_WRITE_ONCE,
        ACCESS_READ_WRITE_ONCE_POD,
        ACCESS_READ_ONLY_MANY,
        ACCESS_READ_WRITE_MANY,
        ACCESS_MODES,
} AccessMode;
DECLARE_STRING_TABLE(access_mode, AccessMode);

/* The program that relabels files if labels have to be on disk. */
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

/* Options of a walk over all files. */
typedef struct WalkOptions {
        uint64_t entries_per_sec; /* the highest rate, up to WALK_ENTRIES_PER_SEC_MAX; 0: no limit */
        bool force;               /* walk even if the mark says that all files are right */
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
        char *context; /* SELinuxContext, in full */
        char *user, *role, *type, *level;
        int policy; /* RelabelPolicy, or -1 */
        int selinux_mount_supported;
        bool read_only;
        gid_t fs_group;             /* FSGroup; GID_NONE: selvol changes no group */
        int fs_group_policy;        /* FSGroupPolicy, or -1 */
        int fs_group_change_policy; /* FSGroupChangePolicy, or -1 */
        bool user_namespace;        /* the runtime will idmap the mount */
        bool ephemeral;             /* the record goes with the last holder, see job/forget.h */
        bool replace;               /* unmount the mount that another program made at the target */
        bool release_on_umount;     /* another program, such as umount(8), is to unmount the mount */
        bool by_root;               /* the caller is root, whom SourceDevices= does not bind */
        RelabelBy relabel_by;
        WalkOptions walk;
        uint64_t timeout_usec; /* includes the time in the queue; 0: JobTimeoutSec= */
        uint64_t wait_usec;    /* the time to wait for a conflict to end */
} Request;

#define REQUEST_INIT                               \
        ((Request){ .policy = -1,                  \
                    .selinux_mount_supported = -1, \
                    .fs_group = GID_NONE,          \
                    .fs_group_policy = -1,         \
                    .fs_group_change_policy = -1 })

void request_done(Request *q);
/* The bytes of all strings. */
size_t request_count_bytes(const Request *q) _pure_;

/* Checks a name that messages show, such as a holder's: printable, UTF-8, of limited length, without quotes,
 * commas and backslashes. NULL is valid. Returns 0, -ENOMEM, or INVALID_OPTION with the option's name in the
 * failure. */
int request_validate_name(const char *name, const char *option, Failure *f) _warn_unused_;

/* Checks everything about a request that needs no look at the system, and normalizes the request: context and
 * level become canonical, a context= among the mount options becomes context (and then implies OnVolumeMount
 * and a driver that supports it, unless the request says otherwise), "ro" becomes read_only, a missing holder
 * becomes the target, a missing volume type "csi". Checks source only if the request has one. A second call
 * changes nothing. Returns 0, -ENOMEM, or a failure kind. */
int request_validate(Request *q, const Settings *settings, Failure *f) _warn_unused_;

/* Checks a volume id: 1 to 512 bytes of UTF-8, as an id of CSI may have any characters. selvol does not
 * interpret the id, and never makes a file's name of it. An object's path has the id by
 * sd_bus_path_encode(), a note by mount_note_write(), a command in a message by shell_quote();
 * log_fields() and failure_set() escape it in texts. */
int volume_id_validate(const char *id, Failure *f) _warn_unused_;

/* The ids of podman's volumes begin with the user of selvol-volume-plugin. Nobody but that user and root
 * introduces such ids, whereas a holder's name can be any. */
#define PODMAN_IDS "selvol-volume-plugin/"

/* The holder of a mount that kubelet stages with a CSI driver: it ends after the pods that use its volume. */
#define HOLDER_STAGE "stage"

/* A source such as "LABEL=data" names a device by what is on it. Returns what stands after the '=', and the
 * directory in which udev has a link for it, such as /dev/disk/by-label; NULL for all other sources. */
const char *source_tag(const char *source, const char **ret_directory);

/* Checks a target: absolute, normalized, beneath one of the configured roots. */
int target_validate(const char *target, const Settings *settings, Failure *f) _warn_unused_;

/* Checks the options of a walk, for all methods. Returns 0, -ENOMEM or INVALID_OPTION. */
int walk_options_validate(const WalkOptions *w, Failure *f) _warn_unused_;

/* Whether both requests ask for the same, so that one reply serves both. Both must be validated. Timeouts,
 * the rate of a walk and release_on_umount are ignored: they change no reply. relabel_by and force count: a
 * skipped walk does not serve a caller who wants all files checked. */
bool request_equal(const Request *a, const Request *b) _pure_;

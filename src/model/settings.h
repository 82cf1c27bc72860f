/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/config.h"
#include "model/failure.h"

/* The configuration (selvol.conf(5)), checked. Both processes read it: selvold to decide, the worker to
 * refuse. */

/* How what is not allowed can be: the end of a sentence that says which key, or section, is to name it. A
 * key replaces the one of an earlier file, so a list is to be written in full. */
#define SETTINGS_REMEDY "in /etc/selvol/selvol.conf.d/50-local.conf, then run 'systemctl reload selvold'."

/* The exit status for an error in the configuration, which systemd calls EXIT_CONFIG: the units don't start
 * a service again that ended with it. */
enum { EXIT_CONFIG = 78 };

/* The end of a text about a mistake that is found at a reload. */
#define SETTINGS_KEPT " The earlier configuration stays in force."

#define SETTINGS_USR "/usr/lib/selvol"
#define SETTINGS_ETC "/etc/selvol"

/* The longest time that a job may have. */
#define JOB_TIMEOUT_USEC_MAX UINT64_C(3600000000)

/* Whether labels of a volume type are managed at all (proposal "SELinux for pods", 2015). */
typedef enum Managed { MANAGED_NEVER, MANAGED_ALWAYS, MANAGED_BY_ACCESS_MODE, MANAGED_VALUES } Managed;
DECLARE_STRING_TABLE(managed, Managed);

typedef enum RelabelPolicy { RELABEL_ALWAYS, RELABEL_ON_VOLUME_MOUNT, RELABEL_POLICIES } RelabelPolicy;
DECLARE_STRING_TABLE(relabel_policy, RelabelPolicy);
/* Takes the KEP's first names (Always, OnVolumeMount) and Kubernetes' of today (Recursive, MountOption). */
int relabel_policy_parse(const char *s);

/* The one who changes a volume's group (KEP-1682). Read for all drivers, so that one file describes them. */
typedef enum FSGroupPolicy {
        FS_GROUP_NONE,
        FS_GROUP_FILE,
        FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE,
        FS_GROUP_MOUNT,
        FS_GROUP_POLICIES,
} FSGroupPolicy;
DECLARE_STRING_TABLE(fs_group_policy, FSGroupPolicy);

/* Whether all files are visited although it is known that they have the group (KEP-695). */
typedef enum FSGroupChangePolicy {
        FS_GROUP_CHANGE_ON_ROOT_MISMATCH,
        FS_GROUP_CHANGE_ALWAYS,
        FS_GROUP_CHANGE_POLICIES,
} FSGroupChangePolicy;
DECLARE_STRING_TABLE(fs_group_change_policy, FSGroupChangePolicy);

/* Where a file system's data comes from, which decides what a source may be. */
typedef enum SourceKind { SOURCE_BLOCK, SOURCE_NONE, SOURCE_NETWORK, SOURCE_KINDS } SourceKind;
DECLARE_STRING_TABLE(source_kind, SourceKind);

/* With what priority a walk reads and writes the disk (ioprio_set(2)). */
typedef enum IOClass { IO_CLASS_BEST_EFFORT, IO_CLASS_IDLE, IO_CLASSES } IOClass;
DECLARE_STRING_TABLE(io_class, IOClass);

typedef struct FileSystem {
        char *name; /* as in mount -t */
        SourceKind source;
        bool labels;            /* keeps security.selinux xattrs of its own: mounted plainly it shows seclabel */
        char **options;         /* what a caller may pass, as it stands; "key=" is a key with any value */
        char **context_options; /* what a context mount needs besides, such as nosharecache */
        char **group_options;   /* what gives all files to a group, "gid=" without its value among them; or empty */
} FileSystem;

/* The settings of a volume type or a driver; -1 is "not said". */
typedef struct Trait {
        char *name;
        int managed; /* Managed */
        int selinux_mount_supported;
        int fs_group_policy;  /* FSGroupPolicy */
        int fs_group_readers; /* whether the group needs to read only */
        int trusted_mark;     /* whether nobody but selvol ever mounts it for writing */
} Trait;

typedef struct Settings {
        /* [Service] */
        bool gate_relabel_policy;     /* SELinuxRelabelPolicy=: context mounts at all (KEP-1710's first gate) */
        bool gate_mount;              /* SELinuxMount=: for all access modes, not only ReadWriteOncePod */
        bool gate_skip_fs_group;      /* SkipFSGroupChange=: believe the mark on a volume of its group at all */
        RelabelPolicy default_policy; /* DefaultRelabelPolicy= */
        FSGroupChangePolicy default_fs_group_change_policy; /* DefaultFSGroupChangePolicy= */
        uint64_t job_timeout_usec;                          /* JobTimeoutSec= */
        char *metrics_textfile;                             /* MetricsTextfile=, NULL: none */
        /* [Worker] */
        char **target_roots;   /* TargetRoots= */
        char **source_roots;   /* SourceRoots= */
        char **foreign_roots;  /* ForeignRoots=: where others may have what selvol mounts */
        bool images_of_others; /* ImagesOfOthers=: images that others than root can change */
        char **label_types;    /* LabelTypes= */
        IOClass io_class;      /* IOSchedulingClass= */
        /* [FileSystem NAME], [VolumeType NAME], [Driver NAME] */
        char **common_options;
        FileSystem *file_systems;
        size_t n_file_systems;
        Trait *volume_types;
        size_t n_volume_types;
        Trait *drivers;
        size_t n_drivers;
} Settings;

/* Checks a configuration. Returns 0, -ENOMEM, or INVALID_OPTION with the failure naming section, key and
 * value: unknown sections, keys and values are errors, as a misspelt restriction would otherwise be none. */
int settings_parse(const Config *config, Settings *ret, Failure *f) _warn_unused_;
/* These alone read files in this folder: both processes read the configuration, and this is the highest
 * folder that both link and that knows what settings are.
 *
 * Reads the configuration beneath the directories (NULL: those above), without a look at what it says.
 * Returns 0, INVALID_OPTION for a file that isn't one, or a negative errno. */
int settings_read(const char *usr_dir, const char *etc_dir, Config **ret, Failure *f) _warn_unused_;
/* Reads and checks it. Returns what settings_parse() does. */
int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) _warn_unused_;
void settings_done(Settings *s);

const FileSystem *settings_file_system(const Settings *s, const char *name) _pure_;
const Trait *settings_volume_type(const Settings *s, const char *name) _pure_;
const Trait *settings_driver(const Settings *s, const char *name) _pure_;

/* Whether a file system that is mounted at path may be a volume: beneath one of TargetRoots=, or at or
 * beneath one of ForeignRoots=. */
bool settings_may_have_volume(const Settings *s, const char *path) _pure_;

/* Whether path, normalized, is strictly beneath one of the roots; spelling only. */
bool roots_contain(char *const *roots, const char *path) _pure_;

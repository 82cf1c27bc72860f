/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/config.h"
#include "model/failure.h"
#include "model/setting-form.h"

/* The configuration (selvol.conf(5)), checked. Both processes read it: selvold decides by it, and the worker
 * refuses what it does not allow. */

/* The end of a sentence that tells which key or section allows something. A list adds up over files, so the
 * sentence has the new word alone. */
#define SETTINGS_REMEDY "in /etc/selvol/selvol.conf.d/50-local.conf, then run 'systemctl reload selvold'."

/* The exit status for a mistake in the configuration, EXIT_CONFIG of systemd: the units don't restart a
 * service that exits with it. */
enum { EXIT_CONFIG = 78 };

/* The end of a message about a mistake that selvol finds at a reload. */
#define SETTINGS_KEPT " The earlier configuration stays in force."

#define SETTINGS_USR "/usr/lib/selvol"
#define SETTINGS_ETC "/etc/selvol"

typedef struct FileSystem {
        char *name; /* as in mount -t */
        SourceKind source;
        bool labels;            /* supports security.selinux xattrs: a plain mount shows seclabel */
        char **options;         /* options that a caller may pass; "key=" is a key with any value */
        char **context_options; /* further options of a context mount, such as nosharecache */
        char **group_options;   /* options that give all files to a group, with a bare "gid="; or empty */
} FileSystem;

/* The settings of a volume type or a driver; -1 is "not set". */
typedef struct Trait {
        char *name;
        int managed; /* Managed */
        int selinux_mount_supported;
        int fs_group_policy;  /* FSGroupPolicy */
        int fs_group_readers; /* whether the group only needs to read */
        int trusted_mark;     /* whether only selvol ever mounts such volumes for writing */
        /* selvol-csi uses these of a driver. */
        char *socket;               /* Socket=, NULL: not set */
        DriverContext context;      /* Context= */
        DriverGroups groups;        /* Groups= */
        bool user_namespaces;       /* UserNamespaces=: a pod may have one, so nothing is idmapped */
        DriverAway when_away;       /* WhenAway= */
        int fs_group_change_policy; /* FSGroupChangePolicy= */
} Trait;

typedef struct Settings {
        uint64_t digest; /* of all keys and values: equal where the configuration is equal */
        /* [Service] */
        bool gate_relabel_policy;     /* SELinuxRelabelPolicy=: allow context mounts (KEP-1710, first gate) */
        bool gate_mount;              /* SELinuxMount=: context mounts for more than ReadWriteOncePod */
        bool gate_skip_fs_group;      /* SkipFSGroupChange=: trust the mark on a volume about its group */
        RelabelPolicy default_policy; /* DefaultRelabelPolicy= */
        FSGroupChangePolicy default_fs_group_change_policy; /* DefaultFSGroupChangePolicy= */
        uint64_t job_timeout_usec;                          /* JobTimeoutSec= */
        char *metrics_textfile;                             /* MetricsTextfile=, NULL: none */
        /* [Worker] */
        char **target_roots;         /* TargetRoots= */
        char **source_roots;         /* SourceRoots= */
        char **foreign_roots;        /* ForeignRoots=: where another program may mount the same volumes */
        bool images_of_others;       /* ImagesOfOthers=: allow images that users other than root can change */
        char **source_devices;       /* SourceDevices=: names and patterns of devices for others than root */
        char **sources_on_host_disk; /* SourcesOnHostDisk=: the same, of partitions (mount/host-use.h) */
        char **label_types;          /* LabelTypes= */
        IOClass io_class;            /* IOSchedulingClass= */
        /* [FileSystem NAME], [VolumeType NAME], [Driver NAME] */
        char **common_options;
        FileSystem *file_systems;
        size_t n_file_systems;
        Trait *volume_types;
        size_t n_volume_types;
        Trait *drivers;
        size_t n_drivers;
} Settings;

/* Returns the name of key i of all kinds of sections, or NULL after the last one. *ret_section, which may be
 * NULL: the first word of the section. */
const char *settings_key(size_t i, const char **ret_section);

/* Checks a configuration. Unknown sections, keys and values are errors, because a misspelled restriction
 * would have no effect. Returns 0, -ENOMEM, or INVALID_OPTION with section, key and value in the failure. */
int settings_parse(const Config *config, Settings *ret, Failure *f) _warn_unused_;
/* Only settings_read() and settings_load() read files in this folder: both processes read the configuration,
 * and this is the highest folder that both link and that has the settings.
 *
 * Reads the configuration beneath the directories (NULL: SETTINGS_USR and SETTINGS_ETC) and does not check
 * its contents. Returns 0, INVALID_OPTION for a file with a syntax error, or a negative errno. The caller
 * frees the configuration with config_done(). */
int settings_read(const char *usr_dir, const char *etc_dir, Config *ret, Failure *f) _warn_unused_;
/* Reads and checks the configuration. Returns the same as settings_read() and settings_parse(). */
int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) _warn_unused_;
void settings_done(Settings *s);

const FileSystem *settings_file_system(const Settings *s, const char *name) _pure_;
/* Refuses a type of file system that the configuration lacks, and says how it is allowed; of a type that
 * is no file system, what it is and what opens it. type: any text. Returns TYPE_NOT_ALLOWED or -ENOMEM. */
int fs_type_refuse(const char *type, Failure *f) _warn_unused_;
/* Refuses a source that holds something else than a file system. type, usage: TYPE and USAGE of libblkid.
 * Returns 0 for a file system, INVALID_VOLUME or -ENOMEM. */
int fs_type_check_usage(const char *source, const char *type, const char *usage, Failure *f) _warn_unused_;
const Trait *settings_volume_type(const Settings *s, const char *name) _pure_;
const Trait *settings_driver(const Settings *s, const char *name) _pure_;

/* Whether a file system that is mounted at path may be a volume: path has to be beneath one of TargetRoots=,
 * or at or beneath one of ForeignRoots=. */
bool settings_may_have_volume(const Settings *s, const char *path) _pure_;

/* Whether path, normalized, is strictly beneath one of the roots. Compares only the text. */
bool roots_contain(char *const *roots, const char *path) _pure_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/string-util.h"

/* The longest time-out of a job. */
#define JOB_TIMEOUT_USEC_MAX UINT64_C(3600000000)

/* Whether selvol manages the labels of a volume type (proposal "SELinux for pods", 2015). */
typedef enum Managed { MANAGED_NEVER, MANAGED_ALWAYS, MANAGED_BY_ACCESS_MODE, MANAGED_VALUES } Managed;
DECLARE_STRING_TABLE(managed, Managed);

typedef enum RelabelPolicy { RELABEL_ALWAYS, RELABEL_ON_VOLUME_MOUNT, RELABEL_POLICIES } RelabelPolicy;
DECLARE_STRING_TABLE(relabel_policy, RelabelPolicy);
/* Accepts the first names of the KEP (Always, OnVolumeMount) and those of Kubernetes today (Recursive,
 * MountOption). Returns a RelabelPolicy or -EINVAL. */
int relabel_policy_parse(const char *s);

/* Which program changes the group of a volume (KEP-1682). The configuration has a policy for every driver,
 * also for those that change groups themselves. */
typedef enum FSGroupPolicy {
        FS_GROUP_NONE,
        FS_GROUP_FILE,
        FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE,
        FS_GROUP_MOUNT,
        FS_GROUP_POLICIES,
} FSGroupPolicy;
DECLARE_STRING_TABLE(fs_group_policy, FSGroupPolicy);

/* Whether selvol visits all files even if the mark says that they have the group (KEP-695). */
typedef enum FSGroupChangePolicy {
        FS_GROUP_CHANGE_ON_ROOT_MISMATCH,
        FS_GROUP_CHANGE_ALWAYS,
        FS_GROUP_CHANGE_POLICIES,
} FSGroupChangePolicy;
DECLARE_STRING_TABLE(fs_group_change_policy, FSGroupChangePolicy);

/* The place of a file system's data. It decides which sources are valid. */
typedef enum SourceKind { SOURCE_BLOCK, SOURCE_NONE, SOURCE_NETWORK, SOURCE_KINDS } SourceKind;
DECLARE_STRING_TABLE(source_kind, SourceKind);

/* The priority with which a walk reads and writes the disk (ioprio_set(2)). */
typedef enum IOClass { IO_CLASS_BEST_EFFORT, IO_CLASS_IDLE, IO_CLASSES } IOClass;
DECLARE_STRING_TABLE(io_class, IOClass);

/* How selvol-csi treats the context that kubelet asks a CSI driver for. */
typedef enum DriverContext {
        DRIVER_CONTEXT_REPAIR, /* the volume is mounted anew with a context that the driver dropped */
        DRIVER_CONTEXT_VERIFY, /* the call fails */
        DRIVER_CONTEXT_IGNORE,
        DRIVER_CONTEXTS,
} DriverContext;
DECLARE_STRING_TABLE(driver_context, DriverContext);

/* The program that gives the files of a CSI driver's volumes to the group of a pod. */
typedef enum DriverGroups { DRIVER_GROUPS_KUBELET, DRIVER_GROUPS_SELVOL, DRIVER_GROUPS_VALUES } DriverGroups;
DECLARE_STRING_TABLE(driver_groups, DriverGroups);

/* How selvol-csi answers a call for which it needs selvold, and can't reach it. */
typedef enum DriverAway { DRIVER_AWAY_FAIL, DRIVER_AWAY_FORWARD, DRIVER_AWAY_VALUES } DriverAway;
DECLARE_STRING_TABLE(driver_away, DriverAway);

/* The forms that a value of the configuration can have, and the type of the setting that it is read into. */
typedef enum SettingForm {
        FORM_BOOL,     /* bool */
        FORM_TRISTATE, /* int; -1 is "not set" */
        FORM_MANAGED,  /* int, Managed */
        FORM_FS_GROUP_POLICY,
        FORM_FS_GROUP_CHANGE_POLICY,
        FORM_RELABEL_POLICY,
        FORM_IO_CLASS,
        FORM_SOURCE_KIND,
        FORM_DRIVER_CONTEXT,
        FORM_DRIVER_GROUPS,
        FORM_DRIVER_AWAY,
        FORM_TIME, /* uint64_t in microseconds, at most JOB_TIMEOUT_USEC_MAX */
        FORM_FILE, /* char *, NULL: none */
        /* These are lists, char **. */
        FORM_ROOTS,
        FORM_DEVICES,
        FORM_TYPES,
        FORM_OPTIONS,
        SETTING_FORMS,
} SettingForm;

bool setting_form_is_list(SettingForm form) _pure_;
/* Reads the value of one line into target. The words of a list are appended, and an empty value clears the
 * list. Returns 0, -ENOMEM, or another negative errno if the value has another form. */
int setting_read(SettingForm form, const char *value, void *target) _warn_unused_;
/* Returns the valid values as the end of a sentence, such as "use yes or no". */
const char *setting_form_expected(SettingForm form) _pure_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/path-util.h"
#include "basic/time-util.h"
#include "model/context.h"
#include "model/setting-form.h"

static const char *const managed_table[MANAGED_VALUES] = {
        [MANAGED_NEVER] = "never",
        [MANAGED_ALWAYS] = "always",
        [MANAGED_BY_ACCESS_MODE] = "by-access-mode",
};
DEFINE_STRING_TABLE(managed, Managed);

static const char *const relabel_policy_table[RELABEL_POLICIES] = {
        [RELABEL_ALWAYS] = "Always",
        [RELABEL_ON_VOLUME_MOUNT] = "OnVolumeMount",
};
DEFINE_STRING_TABLE(relabel_policy, RelabelPolicy);

static const char *const fs_group_policy_table[FS_GROUP_POLICIES] = {
        [FS_GROUP_NONE] = "None",
        [FS_GROUP_FILE] = "File",
        [FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE] = "ReadWriteOnceWithFSType",
        [FS_GROUP_MOUNT] = "Mount",
};
DEFINE_STRING_TABLE(fs_group_policy, FSGroupPolicy);

static const char *const fs_group_change_policy_table[FS_GROUP_CHANGE_POLICIES] = {
        [FS_GROUP_CHANGE_ON_ROOT_MISMATCH] = "OnRootMismatch",
        [FS_GROUP_CHANGE_ALWAYS] = "Always",
};
DEFINE_STRING_TABLE(fs_group_change_policy, FSGroupChangePolicy);

static const char *const source_kind_table[SOURCE_KINDS] = {
        [SOURCE_BLOCK] = "block",
        [SOURCE_NONE] = "none",
        [SOURCE_NETWORK] = "network",
};
DEFINE_STRING_TABLE(source_kind, SourceKind);

static const char *const io_class_table[IO_CLASSES] = {
        [IO_CLASS_BEST_EFFORT] = "best-effort",
        [IO_CLASS_IDLE] = "idle",
};
DEFINE_STRING_TABLE(io_class, IOClass);

static const char *const driver_context_table[DRIVER_CONTEXTS] = {
        [DRIVER_CONTEXT_REPAIR] = "repair",
        [DRIVER_CONTEXT_VERIFY] = "verify",
        [DRIVER_CONTEXT_IGNORE] = "ignore",
};
DEFINE_STRING_TABLE(driver_context, DriverContext);

static const char *const driver_groups_table[DRIVER_GROUPS_VALUES] = {
        [DRIVER_GROUPS_KUBELET] = "kubelet",
        [DRIVER_GROUPS_SELVOL] = "selvol",
};
DEFINE_STRING_TABLE(driver_groups, DriverGroups);

static const char *const driver_away_table[DRIVER_AWAY_VALUES] = {
        [DRIVER_AWAY_FAIL] = "fail",
        [DRIVER_AWAY_FORWARD] = "forward",
};
DEFINE_STRING_TABLE(driver_away, DriverAway);

int relabel_policy_parse(const char *s) {
        if (streq(s, "Recursive"))
                return RELABEL_ALWAYS;
        if (streq(s, "MountOption"))
                return RELABEL_ON_VOLUME_MOUNT;
        return relabel_policy_from_string(s);
}

#define DEFINE_READER(name, type, parse)                          \
        static int read_##name(const char *value, void *target) { \
                int r = parse(value);                             \
                                                                  \
                if (r < 0)                                        \
                        return r;                                 \
                *(type *) target = (type) r;                      \
                return 0;                                         \
        }                                                         \
        struct read_##name##_needs_a_semicolon

DEFINE_READER(bool, bool, parse_boolean);
DEFINE_READER(tristate, int, parse_boolean);
DEFINE_READER(managed, int, managed_from_string);
DEFINE_READER(fs_group_policy, int, fs_group_policy_from_string);
DEFINE_READER(fs_group_change_policy, FSGroupChangePolicy, fs_group_change_policy_from_string);
DEFINE_READER(relabel_policy, RelabelPolicy, relabel_policy_parse);
DEFINE_READER(io_class, IOClass, io_class_from_string);
DEFINE_READER(source_kind, SourceKind, source_kind_from_string);
DEFINE_READER(driver_context, DriverContext, driver_context_from_string);
DEFINE_READER(driver_groups, DriverGroups, driver_groups_from_string);
DEFINE_READER(driver_away, DriverAway, driver_away_from_string);

static int read_time(const char *value, void *target) {
        uint64_t usec;
        int r = parse_timespan(value, &usec);

        if (r < 0)
                return r;
        if (usec < USEC_PER_SEC || usec > JOB_TIMEOUT_USEC_MAX)
                return -ERANGE;
        *(uint64_t *) target = usec;
        return 0;
}

static int read_file(const char *value, void *target) {
        if (isempty(value))
                return free_and_strdup(target, NULL);
        if (!path_is_normalized(value))
                return -EINVAL;
        return free_and_strdup(target, value);
}

static bool root_is_valid(const char *word) {
        return path_is_normalized(word) && !streq(word, "/");
}

/* Names that follow from what is written on a device would let the writer choose. */
static bool device_is_valid(const char *word) {
        static const char *const by_contents[] = { "/dev/disk/by-label/", "/dev/disk/by-uuid/" };
        const char *wildcard = word + strcspn(word, "*?[");

        if (!path_is_normalized(word) || !startswith(word, "/dev/"))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(by_contents); i++)
                if (startswith(word, by_contents[i]))
                        return false;
        /* A pattern for a directory, such as /dev/disk/by-*, matches those two. */
        return *wildcard == '\0' || !strchr(wildcard, '/');
}

static bool option_is_valid(const char *word) {
        return word[0] != '\0';
}

typedef struct FormInfo {
        int (*read)(const char *value, void *target);
        bool (*word_is_valid)(const char *word); /* of a list */
        const char *expected;
} FormInfo;

static const FormInfo forms[] = {
        [FORM_BOOL] = { read_bool, NULL, "use yes or no" },
        [FORM_TRISTATE] = { read_tristate, NULL, "use yes or no" },
        [FORM_MANAGED] = { read_managed, NULL, "use always, never or by-access-mode" },
        [FORM_FS_GROUP_POLICY] = { read_fs_group_policy, NULL, "use None, File, ReadWriteOnceWithFSType or Mount" },
        [FORM_FS_GROUP_CHANGE_POLICY] = { read_fs_group_change_policy, NULL, "use Always or OnRootMismatch" },
        [FORM_RELABEL_POLICY] = { read_relabel_policy, NULL, "use OnVolumeMount, MountOption, Always or Recursive" },
        [FORM_IO_CLASS] = { read_io_class, NULL, "use best-effort or idle" },
        [FORM_SOURCE_KIND] = { read_source_kind, NULL, "use block, network or none" },
        [FORM_DRIVER_CONTEXT] = { read_driver_context, NULL, "use repair, verify or ignore" },
        [FORM_DRIVER_GROUPS] = { read_driver_groups, NULL, "use kubelet or selvol" },
        [FORM_DRIVER_AWAY] = { read_driver_away, NULL, "use fail or forward" },
        [FORM_TIME] = { read_time, NULL, "use a time from 1s to 1h, such as 90s or 1min 30s" },
        [FORM_FILE] = { read_file, NULL, "use an absolute path without '.', '..' and extra slashes" },
        [FORM_ROOTS] = { NULL, root_is_valid, "use absolute paths other than / without '.', '..' and extra slashes" },
        [FORM_DEVICES] = { NULL, device_is_valid,
                           "use paths beneath /dev, not in by-label or by-uuid, with patterns in the last name only" },
        [FORM_TYPES] = { NULL, context_name_is_valid, "use SELinux types" },
        [FORM_OPTIONS] = { NULL, option_is_valid, "use words separated by spaces" },
};
static_assert(ELEMENTSOF(forms) == SETTING_FORMS, "");

bool setting_form_is_list(SettingForm form) {
        return forms[form].word_is_valid;
}

static int extend_list(const FormInfo *form, const char *value, char ***list) {
        _cleanup_strv_ char **words = NULL;
        int r;

        if (isempty(value))
                *list = strv_free(*list);
        r = strv_split(value, " \t", &words);
        if (r < 0)
                return r;
        STRV_FOREACH (word, words) {
                if (!form->word_is_valid(*word))
                        return -EINVAL;
                r = strv_extend(list, *word);
                if (r < 0)
                        return r;
        }
        return 0;
}

int setting_read(SettingForm form, const char *value, void *target) {
        const FormInfo *info = &forms[form];

        return info->read ? info->read(value, target) : extend_list(info, value, target);
}

const char *setting_form_expected(SettingForm form) {
        return forms[form].expected;
}

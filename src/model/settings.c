/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stdarg.h>

#include "basic/path-util.h"
#include "basic/time-util.h"
#include "model/context.h"
#include "model/settings.h"

enum { JOB_TIMEOUT_SEC_DEFAULT = 20 };

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

int relabel_policy_parse(const char *s) {
        if (streq(s, "Recursive"))
                return RELABEL_ALWAYS;
        if (streq(s, "MountOption"))
                return RELABEL_ON_VOLUME_MOUNT;
        return relabel_policy_from_string(s);
}

/* A reader parses the value of one key. Returns 0, -ENOMEM, or another negative errno if the value has the
 * wrong form. */
typedef int (*Reader)(const char *value, void *target);

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
/* -1 is "not set". */
DEFINE_READER(tristate, int, parse_boolean);
DEFINE_READER(managed, int, managed_from_string);
DEFINE_READER(fs_group_policy, int, fs_group_policy_from_string);
DEFINE_READER(fs_group_change_policy, FSGroupChangePolicy, fs_group_change_policy_from_string);
DEFINE_READER(relabel_policy, RelabelPolicy, relabel_policy_parse);
DEFINE_READER(io_class, IOClass, io_class_from_string);
DEFINE_READER(source_kind, SourceKind, source_kind_from_string);

static int read_seconds(const char *value, void *target) {
        unsigned long long v;
        int r;

        r = parse_u64(value, &v);
        if (r < 0)
                return r;
        if (v < 1 || v > JOB_TIMEOUT_USEC_MAX / USEC_PER_SEC)
                return -ERANGE;
        *(uint64_t *) target = v * USEC_PER_SEC;
        return 0;
}

static int read_word_list(const char *value, void *target) {
        char **words;
        int r;

        r = strv_split(value, " \t", &words);
        if (r < 0)
                return r;
        strv_free(*(char ***) target);
        *(char ***) target = words;
        return 0;
}

static int read_group_options(const char *value, void *target) {
        char ***options = target;
        int r;

        r = read_word_list(value, target);
        if (r < 0)
                return r;
        return strv_length(*options) == 0 || strv_contains(*options, "gid=") ? 0 : -EINVAL;
}

static int read_root_list(const char *value, void *target) {
        char ***roots = target;
        int r;

        r = read_word_list(value, target);
        if (r < 0)
                return r;
        STRV_FOREACH (root, *roots)
                if (!path_is_normalized(*root) || streq(*root, "/"))
                        return -EINVAL;
        return 0;
}

/* Names that follow from what is written on a device would let the writer choose. */
static bool device_name_is_valid(const char *name) {
        static const char *const by_contents[] = { "/dev/disk/by-label/", "/dev/disk/by-uuid/" };
        const char *wildcard = name + strcspn(name, "*?[");

        if (!path_is_normalized(name) || !startswith(name, "/dev/"))
                return false;
        for (size_t i = 0; i < ELEMENTSOF(by_contents); i++)
                if (startswith(name, by_contents[i]))
                        return false;
        /* A pattern for a directory, such as /dev/disk/by-*, matches those two. */
        return *wildcard == '\0' || !strchr(wildcard, '/');
}

static int read_device_list(const char *value, void *target) {
        char ***devices = target;
        int r;

        r = read_word_list(value, target);
        if (r < 0)
                return r;
        STRV_FOREACH (device, *devices)
                if (!device_name_is_valid(*device))
                        return -EINVAL;
        return 0;
}

static int read_type_names(const char *value, void *target) {
        char ***types = target;
        int r;

        r = read_word_list(value, target);
        if (r < 0)
                return r;
        STRV_FOREACH (type, *types)
                if (!context_name_is_valid(*type))
                        return -EINVAL;
        return 0;
}

static int read_file_path(const char *value, void *target) {
        if (isempty(value))
                return free_and_strdup(target, NULL);
        if (!path_is_normalized(value))
                return -EINVAL;
        return free_and_strdup(target, value);
}

typedef struct Key {
        const char *name;
        Reader reader;
        void *target;
} Key;

/* Reports a setting_mistake at the key; key NULL: in the section. */
static _printf_(5, 6) int setting_mistake(const Config *config, const char *section, const char *key, Failure *f,
                                          const char *format, ...) {
        _cleanup_free_ char *place = NULL, *text = NULL;
        va_list ap;
        int r;

        va_start(ap, format);
        text = strdup_vprintf(format, ap);
        va_end(ap);
        if (!text)
                return -ENOMEM;
        r = config_locate(config, section, key, &place);
        if (r == -ENOMEM)
                return r;
        return failure_set(f, FAILURE_INVALID_OPTION, "Configuration: %s%s%s", strempty(place), place ? ": " : "",
                           text);
}

/* Describes the form that a reader accepts. */
static const char *describe_form(Reader reader) {
        static const struct {
                Reader reader;
                const char *form;
        } forms[] = {
                { read_bool, "use yes or no" },
                { read_tristate, "use yes or no" },
                { read_managed, "use always, never or by-access-mode" },
                { read_fs_group_policy, "use None, File, ReadWriteOnceWithFSType or Mount" },
                { read_fs_group_change_policy, "use Always or OnRootMismatch" },
                { read_relabel_policy, "use OnVolumeMount, MountOption, Always or Recursive" },
                { read_io_class, "use best-effort or idle" },
                { read_source_kind, "use block, network or none" },
                { read_seconds, "use a number of seconds, 1 to 3600" },
                { read_group_options, "use mount options, with gid= among them" },
                { read_root_list, "use absolute paths other than / without '.', '..' and extra slashes" },
                { read_device_list,
                  "use paths beneath /dev, not in by-label or by-uuid, with patterns in the last name only" },
                { read_type_names, "use SELinux types" },
                { read_file_path, "use an absolute path without '.', '..' and extra slashes" },
        };

        for (size_t i = 0; i < ELEMENTSOF(forms); i++)
                if (forms[i].reader == reader)
                        return forms[i].form;
        return "use words separated by spaces";
}

static int read_key(const Config *config, const char *section, const Key *key, Failure *f) {
        _cleanup_free_ char *value = NULL, *escaped = NULL;
        int r;

        r = config_get(config, section, key->name, &value);
        if (r < 0)
                return r;
        r = key->reader(value, key->target);
        if (r >= 0 || r == -ENOMEM)
                return r;
        escaped = string_escape(value, 80);
        if (!escaped)
                return -ENOMEM;
        return setting_mistake(config, section, key->name, f, "[%s] %s=%s is not valid: %s, see selvol.conf(5).",
                               section, key->name, escaped, describe_form(key->reader));
}

static int read_section(const Config *config, const char *section, const Key *keys, size_t n_keys, Failure *f) {
        _cleanup_strv_ char **present = NULL;
        int r;

        r = config_keys(config, section, &present);
        if (r < 0)
                return r;

        STRV_FOREACH (name, present) {
                const Key *key = keys;

                while (key < keys + n_keys && !streq(key->name, *name))
                        key++;
                if (key == keys + n_keys)
                        return setting_mistake(config, section, *name, f, "[%s] has no key %s=, see selvol.conf(5).",
                                               section, *name);
                r = read_key(config, section, key, f);
                if (r != 0)
                        return r;
        }
        return 0;
}

static int read_trait(const Config *config, const char *section, const char *name, Trait **traits, size_t *n,
                      Failure *f) {
        Trait *grown, *t;

        grown = reallocarray(*traits, *n + 1, sizeof(Trait));
        if (!grown)
                return -ENOMEM;
        *traits = grown;
        t = &grown[*n];
        *t = (Trait){ .managed = -1,
                      .selinux_mount_supported = -1,
                      .fs_group_policy = -1,
                      .fs_group_readers = -1,
                      .trusted_mark = -1 };
        t->name = strdup(name);
        if (!t->name)
                return -ENOMEM;
        (*n)++;

        const Key keys[] = {
                { "Managed", read_managed, &t->managed },
                { "SELinuxMountSupported", read_tristate, &t->selinux_mount_supported },
                { "FSGroupPolicy", read_fs_group_policy, &t->fs_group_policy },
                { "FSGroupReadsOnly", read_tristate, &t->fs_group_readers },
                { "TrustedMark", read_tristate, &t->trusted_mark },
        };
        return read_section(config, section, keys, ELEMENTSOF(keys), f);
}

static bool fs_type_is_valid(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

        return n > 0 && n <= 32 && name[n] == '\0';
}

static int read_file_system(const Config *config, const char *section, const char *name, Settings *s, Failure *f) {
        FileSystem *grown, *fs;

        if (!fs_type_is_valid(name))
                return setting_mistake(config, section, NULL, f,
                                       "[%s] does not name a file system: write for example [FileSystem ext4].",
                                       section);

        grown = reallocarray(s->file_systems, s->n_file_systems + 1, sizeof(FileSystem));
        if (!grown)
                return -ENOMEM;
        s->file_systems = grown;
        fs = &grown[s->n_file_systems];
        *fs = (FileSystem){ .name = strdup(name), .source = SOURCE_BLOCK };
        if (!fs->name)
                return -ENOMEM;
        s->n_file_systems++;

        const Key keys[] = {
                { "Source", read_source_kind, &fs->source },
                { "Labels", read_bool, &fs->labels },
                { "MountOptions", read_word_list, &fs->options },
                { "ContextOptions", read_word_list, &fs->context_options },
                { "GroupOptions", read_group_options, &fs->group_options },
        };
        return read_section(config, section, keys, ELEMENTSOF(keys), f);
}

static int read_any_section(const Config *config, const char *section, Settings *s, Failure *f) {
        const Key service[] = {
                { "SELinuxRelabelPolicy", read_bool, &s->gate_relabel_policy },
                { "SELinuxMount", read_bool, &s->gate_mount },
                { "SkipFSGroupChange", read_bool, &s->gate_skip_fs_group },
                { "DefaultRelabelPolicy", read_relabel_policy, &s->default_policy },
                { "DefaultFSGroupChangePolicy", read_fs_group_change_policy, &s->default_fs_group_change_policy },
                { "JobTimeoutSec", read_seconds, &s->job_timeout_usec },
                { "MetricsTextfile", read_file_path, &s->metrics_textfile },
        };
        const Key worker[] = {
                { "TargetRoots", read_root_list, &s->target_roots },
                { "SourceRoots", read_root_list, &s->source_roots },
                { "SourceDevices", read_device_list, &s->source_devices },
                { "SourcesOnHostDisk", read_device_list, &s->sources_on_host_disk },
                { "ForeignRoots", read_root_list, &s->foreign_roots },
                { "ImagesOfOthers", read_bool, &s->images_of_others },
                { "LabelTypes", read_type_names, &s->label_types },
                { "IOSchedulingClass", read_io_class, &s->io_class },
                { "MountOptions", read_word_list, &s->common_options },
        };
        const char *name;

        if (streq(section, "Service"))
                return read_section(config, section, service, ELEMENTSOF(service), f);
        if (streq(section, "Worker"))
                return read_section(config, section, worker, ELEMENTSOF(worker), f);

        name = startswith(section, "FileSystem ");
        if (name)
                return read_file_system(config, section, name, s, f);
        name = startswith(section, "VolumeType ");
        if (name)
                return read_trait(config, section, name, &s->volume_types, &s->n_volume_types, f);
        name = startswith(section, "Driver ");
        if (name)
                return read_trait(config, section, name, &s->drivers, &s->n_drivers, f);

        return setting_mistake(
                config, section, NULL, f,
                "there is no section [%s]: use Service, Worker, FileSystem TYPE, VolumeType TYPE or Driver NAME.",
                section);
}

int settings_parse(const Config *config, Settings *ret, Failure *f) {
        _cleanup_(settings_done) Settings s = {
                .gate_relabel_policy = true,
                .gate_mount = true,
                .gate_skip_fs_group = true,
                .default_policy = RELABEL_ALWAYS,
                .job_timeout_usec = JOB_TIMEOUT_SEC_DEFAULT * USEC_PER_SEC,
        };
        _cleanup_strv_ char **sections = NULL, **loose = NULL;
        int r;

        assert(config && ret && f);

        r = config_keys(config, NULL, &loose);
        if (r < 0)
                return r;
        if (loose)
                return setting_mistake(config, NULL, loose[0], f,
                                       "key %s= is in no section: write it below [Service], [Worker] or another one.",
                                       loose[0]);
        r = config_sections(config, &sections);
        if (r < 0)
                return r;

        STRV_FOREACH (section, sections) {
                r = read_any_section(config, *section, &s, f);
                if (r != 0)
                        return r;
        }

        r = config_digest(config, &s.digest);
        if (r < 0)
                return r;

        *ret = TAKE_STRUCT(s);
        return 0;
}

int settings_read(const char *usr_dir, const char *etc_dir, Config **ret, Failure *f) {
        _cleanup_free_ char *text = NULL;
        int r;

        assert(ret && f);

        r = config_load("selvol", usr_dir ? usr_dir : SETTINGS_USR, etc_dir ? etc_dir : SETTINGS_ETC, ret, &text);
        if (r < 0 && r != -ENOMEM && text)
                return failure_set(f, FAILURE_INVALID_OPTION, "Configuration: %s", text);
        return r;
}

int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) {
        _cleanup_(config_freep) Config *config = NULL;
        int r;

        assert(ret && f);

        r = settings_read(usr_dir, etc_dir, &config, f);
        return r != 0 ? r : settings_parse(config, ret, f);
}

static void traits_free(Trait *traits, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(traits[i].name);
        free(traits);
}

void settings_done(Settings *s) {
        free(s->metrics_textfile);
        strv_free(s->target_roots);
        strv_free(s->source_roots);
        strv_free(s->foreign_roots);
        strv_free(s->source_devices);
        strv_free(s->sources_on_host_disk);
        strv_free(s->label_types);
        strv_free(s->common_options);
        for (size_t i = 0; i < s->n_file_systems; i++) {
                free(s->file_systems[i].name);
                strv_free(s->file_systems[i].options);
                strv_free(s->file_systems[i].context_options);
                strv_free(s->file_systems[i].group_options);
        }
        free(s->file_systems);
        traits_free(s->volume_types, s->n_volume_types);
        traits_free(s->drivers, s->n_drivers);
        *s = (Settings){ 0 };
}

/* libblkid finds these, which are no file systems. The last rows are for a USAGE. */
typedef struct Content {
        const char *type, *what, *remedy;
} Content;

static const Content contents[] = {
        { "crypto_LUKS", "encrypted data (LUKS)",
          "Open it with 'cryptsetup open', and pass the device in /dev/mapper." },
        { "BitLocker", "encrypted data (BitLocker)",
          "Open it with 'cryptsetup open --type bitlk', and pass the device in /dev/mapper." },
        { "LVM2_member", "a part of a volume group (LVM)",
          "Activate the group with 'vgchange -ay', and pass the logical volume in /dev/mapper." },
        { "linux_raid_member", "a part of a RAID",
          "Assemble the RAID with 'mdadm --assemble --scan', and pass its device, such as /dev/md0." },
        { "zfs_member", "a part of a ZFS pool",
          "Import the pool with 'zpool import', and pass a volume of it in /dev/zvol." },
        { "bcache", "a part of a bcache",
          "Register it with 'bcache-register', and pass its device, such as /dev/bcache0." },
        { "drbd", "a part of a DRBD resource",
          "Start the resource with 'drbdadm up', and pass its device, such as /dev/drbd0." },
        { "vdo", "a VDO volume", "Activate it with 'vgchange -ay', and pass the device in /dev/mapper." },
        { "stratis", "a part of a Stratis pool",
          "Start the pool with 'stratis pool start', and pass a file system of it in /dev/stratis." },
        { "swap", "swap space", "Pass the device of a file system: 'lsblk -f' lists them." },
        { "swsuspend", "swap space with a suspended system",
          "Pass the device of a file system: 'lsblk -f' lists them." },
        { "jbd", "the journal of a file system",
          "Pass the device of the file system itself: 'lsblk -f' lists them." },
        { "xfs_external_log", "the log of a file system",
          "Pass the device of the file system itself: 'lsblk -f' lists them." },
        { "crypto", "encrypted data", "Open it, and pass the device that it has then: 'lsblk -f' lists them." },
        { "raid", "a part of a RAID or pool",
          "Assemble it, and pass the device that it has then: 'lsblk -f' lists them." },
        { "other", "data of another kind", "Pass the device of a file system: 'lsblk -f' lists them." },
};

static const Content *find_content(const char *type) {
        for (size_t i = 0; i < ELEMENTSOF(contents); i++)
                if (streq(contents[i].type, type))
                        return &contents[i];
        return strstr(type, "_member") ? find_content("raid") : NULL;
}

int fs_type_refuse(const char *type, Failure *f) {
        const Content *c = find_content(type);
        _cleanup_free_ char *escaped = string_escape(type, 80);

        if (!escaped)
                return -ENOMEM;
        if (c)
                return failure_set(f, FAILURE_TYPE_NOT_ALLOWED, "'%s' is no type of file system, but %s. %s", escaped,
                                   c->what, c->remedy);
        if (!fs_type_is_valid(type))
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "File system type '%s' is not supported. Use one of the configuration's sections [FileSystem TYPE] (selvolctl config).",
                        escaped);
        return failure_set(
                f, FAILURE_TYPE_NOT_ALLOWED,
                "File system type '%1$s' is not allowed. To allow it, add a section [FileSystem %1$s] " SETTINGS_REMEDY,
                escaped);
}

int fs_type_check_usage(const char *source, const char *type, const char *usage, Failure *f) {
        const Content *c = find_content(type);
        _cleanup_free_ char *escaped = string_escape(source, 200);

        if (!c && !isempty(usage) && !streq(usage, "filesystem"))
                c = find_content(usage) ?: find_content("other");
        if (!escaped)
                return -ENOMEM;
        if (!c)
                return 0;
        return failure_set(f, FAILURE_INVALID_VOLUME, "Source '%s' holds no file system, but %s: %s. %s", escaped,
                           c->what, type, c->remedy);
}

const FileSystem *settings_file_system(const Settings *s, const char *name) {
        for (size_t i = 0; i < s->n_file_systems; i++)
                if (streq_ptr(s->file_systems[i].name, name))
                        return &s->file_systems[i];
        return NULL;
}

static const Trait *find_trait(const Trait *traits, size_t n, const char *name) {
        for (size_t i = 0; i < n; i++)
                if (streq_ptr(traits[i].name, name))
                        return &traits[i];
        return NULL;
}

const Trait *settings_volume_type(const Settings *s, const char *name) {
        return find_trait(s->volume_types, s->n_volume_types, name);
}

const Trait *settings_driver(const Settings *s, const char *name) {
        return find_trait(s->drivers, s->n_drivers, name);
}

bool settings_may_have_volume(const Settings *s, const char *path) {
        return roots_contain(s->target_roots, path) || roots_contain(s->foreign_roots, path) ||
               strv_contains(s->foreign_roots, path);
}

bool roots_contain(char *const *roots, const char *path) {
        for (size_t i = 0; roots && roots[i]; i++)
                if (path_is_beneath(path, roots[i]))
                        return true;
        return false;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <stdarg.h>
#include <stddef.h>

#include "basic/config.h"
#include "basic/path-util.h"
#include "basic/time-util.h"
#include "model/settings.h"

enum { JOB_TIMEOUT_SEC_DEFAULT = 20 };

/* --- sections and their keys --- */

typedef struct Key {
        const char *name;
        SettingForm form;
        size_t offset; /* in the struct of the section */
} Key;

static const Key service_keys[] = {
        { "SELinuxRelabelPolicy", FORM_BOOL, offsetof(Settings, gate_relabel_policy) },
        { "SELinuxMount", FORM_BOOL, offsetof(Settings, gate_mount) },
        { "SkipFSGroupChange", FORM_BOOL, offsetof(Settings, gate_skip_fs_group) },
        { "DefaultRelabelPolicy", FORM_RELABEL_POLICY, offsetof(Settings, default_policy) },
        { "DefaultFSGroupChangePolicy", FORM_FS_GROUP_CHANGE_POLICY,
          offsetof(Settings, default_fs_group_change_policy) },
        { "JobTimeoutSec", FORM_TIME, offsetof(Settings, job_timeout_usec) },
        { "MetricsTextfile", FORM_FILE, offsetof(Settings, metrics_textfile) },
        { 0 },
};

static const Key worker_keys[] = {
        { "TargetRoots", FORM_ROOTS, offsetof(Settings, target_roots) },
        { "SourceRoots", FORM_ROOTS, offsetof(Settings, source_roots) },
        { "SourceDevices", FORM_DEVICES, offsetof(Settings, source_devices) },
        { "SourcesOnHostDisk", FORM_DEVICES, offsetof(Settings, sources_on_host_disk) },
        { "ForeignRoots", FORM_ROOTS, offsetof(Settings, foreign_roots) },
        { "ImagesOfOthers", FORM_BOOL, offsetof(Settings, images_of_others) },
        { "LabelTypes", FORM_TYPES, offsetof(Settings, label_types) },
        { "IOSchedulingClass", FORM_IO_CLASS, offsetof(Settings, io_class) },
        { "MountOptions", FORM_OPTIONS, offsetof(Settings, common_options) },
        { 0 },
};

static const Key file_system_keys[] = {
        { "Source", FORM_SOURCE_KIND, offsetof(FileSystem, source) },
        { "Labels", FORM_BOOL, offsetof(FileSystem, labels) },
        { "MountOptions", FORM_OPTIONS, offsetof(FileSystem, options) },
        { "ContextOptions", FORM_OPTIONS, offsetof(FileSystem, context_options) },
        { "GroupOptions", FORM_OPTIONS, offsetof(FileSystem, group_options) },
        { 0 },
};

enum { DRIVER_OWN_KEYS = 6 };

static const Key driver_keys[] = {
        { "FSGroupChangePolicy", FORM_FS_GROUP_CHANGE_POLICY, offsetof(Trait, fs_group_change_policy) },
        { "Socket", FORM_FILE, offsetof(Trait, socket) },
        { "Context", FORM_DRIVER_CONTEXT, offsetof(Trait, context) },
        { "Groups", FORM_DRIVER_GROUPS, offsetof(Trait, groups) },
        { "UserNamespaces", FORM_BOOL, offsetof(Trait, user_namespaces) },
        { "WhenAway", FORM_DRIVER_AWAY, offsetof(Trait, when_away) },
        /* A volume type has only these. */
        { "Managed", FORM_MANAGED, offsetof(Trait, managed) },
        { "SELinuxMountSupported", FORM_TRISTATE, offsetof(Trait, selinux_mount_supported) },
        { "FSGroupPolicy", FORM_FS_GROUP_POLICY, offsetof(Trait, fs_group_policy) },
        { "FSGroupReadsOnly", FORM_TRISTATE, offsetof(Trait, fs_group_readers) },
        { "TrustedMark", FORM_TRISTATE, offsetof(Trait, trusted_mark) },
        { 0 },
};

/* The section that is read. */
typedef struct SectionReading {
        Settings *settings;
        const Key *keys; /* of the section */
        void *target;    /* the struct of the section */
} SectionReading;

typedef struct Section {
        const char *name;
        const Key *keys;
        /* Adds what the section [NAME SUFFIX] describes; NULL: it has no suffix and fills the settings. */
        int (*add)(Settings *s, const char *suffix, void **ret);
} Section;

static int add_file_system(Settings *s, const char *name, void **ret) {
        FileSystem *grown = reallocarray(s->file_systems, s->n_file_systems + 1, sizeof(FileSystem)), *fs;

        if (!grown)
                return -ENOMEM;
        s->file_systems = grown;
        fs = &grown[s->n_file_systems];
        *fs = (FileSystem){ .name = strdup(name), .source = SOURCE_BLOCK };
        if (!fs->name)
                return -ENOMEM;
        s->n_file_systems++;
        *ret = fs;
        return 0;
}

static int add_trait(Trait **traits, size_t *n, const char *name, void **ret) {
        Trait *grown = reallocarray(*traits, *n + 1, sizeof(Trait)), *t;

        if (!grown)
                return -ENOMEM;
        *traits = grown;
        t = &grown[*n];
        *t = (Trait){ .name = strdup(name),
                      .managed = -1,
                      .selinux_mount_supported = -1,
                      .fs_group_policy = -1,
                      .fs_group_readers = -1,
                      .trusted_mark = -1,
                      .user_namespaces = true,
                      .fs_group_change_policy = -1 };
        if (!t->name)
                return -ENOMEM;
        (*n)++;
        *ret = t;
        return 0;
}

static int add_volume_type(Settings *s, const char *name, void **ret) {
        return add_trait(&s->volume_types, &s->n_volume_types, name, ret);
}

static int add_driver(Settings *s, const char *name, void **ret) {
        return add_trait(&s->drivers, &s->n_drivers, name, ret);
}

static const Section sections[] = {
        { "Service", service_keys, NULL },
        { "Worker", worker_keys, NULL },
        { "FileSystem", file_system_keys, add_file_system },
        { "VolumeType", driver_keys + DRIVER_OWN_KEYS, add_volume_type },
        { "Driver", driver_keys, add_driver },
};

/* Returns NULL if the section has no such key. */
static const Key *find_key(const Key *keys, const char *name) {
        for (; keys->name; keys++)
                if (streq(keys->name, name))
                        return keys;
        return NULL;
}

/* A key has a list in all sections, or in none. */
static bool key_is_list(const char *name) {
        for (size_t i = 0; i < ELEMENTSOF(sections); i++) {
                const Key *key = find_key(sections[i].keys, name);

                if (key)
                        return setting_form_is_list(key->form);
        }
        return false;
}

const char *settings_key(size_t i, const char **ret_section) {
        for (size_t k = 0; k < ELEMENTSOF(sections); k++)
                for (const Key *key = sections[k].keys; key->name; key++)
                        if (i-- == 0) {
                                if (ret_section)
                                        *ret_section = sections[k].name;
                                return key->name;
                        }
        return NULL;
}

/* --- reading --- */

static bool fs_type_is_valid(const char *name) {
        size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");

        return n > 0 && n <= 32 && name[n] == '\0';
}

/* Reports a mistake at a place of the configuration. */
static _printf_(3, 4) int setting_mistake(const char *place, Failure *f, const char *format, ...) {
        _cleanup_free_ char *text = NULL;
        va_list ap;

        va_start(ap, format);
        text = strdup_vprintf(format, ap);
        va_end(ap);
        if (!text)
                return -ENOMEM;
        return failure_set(f, FAILURE_INVALID_OPTION, "Configuration: %s: %s", place, text);
}

/* Finds what the keys of the section set. */
static int open_section(const ConfigKey *section, SectionReading *reading, Failure *f) {
        const char *name = section->section;

        for (size_t i = 0; i < ELEMENTSOF(sections); i++) {
                const Section *s = &sections[i];
                const char *suffix = startswith(name, s->name);

                if (!suffix || (s->add ? suffix[0] != ' ' : suffix[0] != '\0'))
                        continue;
                if (s->add == add_file_system && !fs_type_is_valid(suffix + 1))
                        return setting_mistake(
                                config_place(section), f,
                                "[%s] does not name a file system: write for example [FileSystem ext4].", name);
                reading->keys = s->keys;
                reading->target = reading->settings;
                return s->add ? s->add(reading->settings, suffix + 1, &reading->target) : 0;
        }
        return setting_mistake(
                config_place(section), f,
                "there is no section [%s]: use Service, Worker, FileSystem TYPE, VolumeType TYPE or Driver NAME.",
                name);
}

static int read_key(const ConfigKey *k, const SectionReading *reading, Failure *f) {
        const Key *key;

        assert(reading->keys); /* the line of the section is before those of its keys */

        key = find_key(reading->keys, k->name);
        if (!key)
                return setting_mistake(config_place(k), f, "[%s] has no key %s=, see selvol.conf(5).", k->section,
                                       k->name);
        for (size_t i = 0; k->values[i]; i++) {
                int r = setting_read(key->form, k->values[i], (char *) reading->target + key->offset);
                _cleanup_free_ char *escaped = NULL;

                if (r == -ENOMEM)
                        return r;
                if (r >= 0)
                        continue;
                escaped = string_escape(k->values[i], 80);
                if (!escaped)
                        return -ENOMEM;
                return setting_mistake(k->places[i], f, "[%s] %s=%s is not valid: %s, see selvol.conf(5).",
                                       k->section, k->name, escaped, setting_form_expected(key->form));
        }
        return 0;
}

/* Options that give files to a group need the group. */
static int check_group_options(const ConfigKey *k, const SectionReading *reading, Failure *f) {
        char *const *options =
                reading->keys == file_system_keys ? ((FileSystem *) reading->target)->group_options : NULL;

        if (!streq(k->name, "GroupOptions") || strv_length(options) == 0 || strv_contains(options, "gid="))
                return 0;
        return setting_mistake(config_place(k), f, "[%s] GroupOptions= lacks gid=: add it, see selvol.conf(5).",
                               k->section);
}

int settings_parse(const Config *config, Settings *ret, Failure *f) {
        _cleanup_(settings_done) Settings s = {
                .gate_relabel_policy = true,
                .gate_mount = true,
                .gate_skip_fs_group = true,
                .default_policy = RELABEL_ALWAYS,
                .job_timeout_usec = JOB_TIMEOUT_SEC_DEFAULT * USEC_PER_SEC,
        };
        SectionReading reading = { .settings = &s };
        int r;

        assert(config && ret && f);

        for (size_t i = 0; i < config->n; i++) {
                const ConfigKey *k = &config->keys[i];

                if (!k->section)
                        return setting_mistake(
                                config_place(k), f,
                                "key %s= is in no section: write it below [Service], [Worker] or another one.",
                                k->name);
                r = k->name ? read_key(k, &reading, f) : open_section(k, &reading, f);
                if (r == 0 && k->name)
                        r = check_group_options(k, &reading, f);
                if (r != 0)
                        return r;
        }
        r = config_digest(config, &s.digest);
        if (r < 0)
                return r;
        *ret = TAKE_STRUCT(s);
        return 0;
}

int settings_read(const char *usr_dir, const char *etc_dir, Config *ret, Failure *f) {
        _cleanup_free_ char *text = NULL;
        int r;

        assert(ret && f);

        r = config_load("selvol", usr_dir ? usr_dir : SETTINGS_USR, etc_dir ? etc_dir : SETTINGS_ETC, key_is_list,
                        ret, &text);
        if (r < 0 && r != -ENOMEM && text)
                return failure_set(f, FAILURE_INVALID_OPTION, "Configuration: %s.", text);
        return r;
}

int settings_load(const char *usr_dir, const char *etc_dir, Settings *ret, Failure *f) {
        _cleanup_(config_done) Config config = { 0 };
        int r;

        assert(ret && f);

        r = settings_read(usr_dir, etc_dir, &config, f);
        return r != 0 ? r : settings_parse(&config, ret, f);
}

static void traits_free(Trait *traits, size_t n) {
        for (size_t i = 0; i < n; i++) {
                free(traits[i].name);
                free(traits[i].socket);
        }
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

/* --- file systems and other contents --- */

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

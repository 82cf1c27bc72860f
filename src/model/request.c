/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <inttypes.h>

#include "basic/path-util.h"
#include "model/context.h"
#include "model/request.h"

static const char *const access_mode_table[ACCESS_MODES] = {
        [ACCESS_INLINE] = "",
        [ACCESS_READ_WRITE_ONCE] = "ReadWriteOnce",
        [ACCESS_READ_WRITE_ONCE_POD] = "ReadWriteOncePod",
        [ACCESS_READ_ONLY_MANY] = "ReadOnlyMany",
        [ACCESS_READ_WRITE_MANY] = "ReadWriteMany",
};
DEFINE_STRING_TABLE(access_mode, AccessMode);

static const char *const relabel_by_table[RELABEL_BYS] = {
        [RELABEL_BY_RUNTIME] = "runtime",
        [RELABEL_BY_SERVICE] = "service",
        [RELABEL_BY_NONE] = "none",
};
DEFINE_STRING_TABLE(relabel_by, RelabelBy);

static const char *const verify_depth_table[VERIFY_DEPTHS] = {
        [VERIFY_ROOT] = "root",
        [VERIFY_FULL] = "full",
};
DEFINE_STRING_TABLE(verify_depth, VerifyDepth);

/* All strings that a request owns. */
static const size_t strings[] = {
        offsetof(Request, volume),      offsetof(Request, source),  offsetof(Request, target),
        offsetof(Request, fs_type),     offsetof(Request, holder),  offsetof(Request, driver),
        offsetof(Request, volume_type), offsetof(Request, context), offsetof(Request, user),
        offsetof(Request, role),        offsetof(Request, type),    offsetof(Request, level),
};

static char **string_of(const Request *q, size_t i) {
        return (char **) ((char *) q + strings[i]);
}

void request_done(Request *q) {
        for (size_t i = 0; i < ELEMENTSOF(strings); i++)
                free(*string_of(q, i));
        strv_free(q->mount_options);
        *q = REQUEST_INIT;
}

size_t request_count_bytes(const Request *q) {
        size_t bytes = 0;

        for (size_t i = 0; i < ELEMENTSOF(strings); i++)
                bytes += strlen(strempty(*string_of(q, i)));
        STRV_FOREACH (option, q->mount_options)
                bytes += strlen(*option);
        return bytes;
}

/* Fails with a message that shows s, escaped and cut, where format has %s or %1$s. */
#define refuse(f, kind, s, format)                                             \
        ({                                                                     \
                _cleanup_free_ char *_escaped_ = string_escape(s, 80);         \
                _escaped_ ? failure_set(f, kind, format, _escaped_) : -ENOMEM; \
        })

int volume_id_validate(const char *id, Failure *f) {
        assert(f);

        if (isempty(id))
                return failure_set(f, FAILURE_INVALID_VOLUME, "The volume id is empty.");
        if (strnlen(id, VOLUME_ID_MAX + 1) > VOLUME_ID_MAX)
                return failure_set(f, FAILURE_INVALID_VOLUME, "The volume id is longer than %i bytes.",
                                   VOLUME_ID_MAX);
        return utf8_is_valid(id) ? 0 : refuse(f, FAILURE_INVALID_VOLUME, id, "Volume id '%s' is not UTF-8.");
}

/* what: "Source" or "Target", as in the name of the setting. */
static int refuse_path(Failure *f, const char *what, const char *path, char *const *roots) {
        _cleanup_free_ char *allowed = strv_join(roots, ", "), *escaped = string_escape(path, 200);
        /* An administrator whose kubelet has a link as its directory would add the link to TargetRoots=. */
        const char *hint =
                streq(what, "Target")
                        ? " If a symbolic link leads to one of them, pass the path without it (kubelet: --root-dir)."
                        : "";

        if (!allowed || !escaped)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "%s '%s' is not beneath an allowed directory (%s).%s To allow it, add its directory: %sRoots=DIRECTORY under [Worker] " SETTINGS_REMEDY,
                what, escaped, isempty(allowed) ? "none is configured" : allowed, hint, what);
}

int target_validate(const char *target, const Settings *settings, Failure *f) {
        assert(target && settings && f);

        if (!path_is_normalized(target))
                return refuse(f, FAILURE_INVALID_TARGET, target,
                              "Target '%s' is not an absolute path without '.', '..' and extra slashes.");
        if (roots_contain(settings->target_roots, target))
                return 0;

        return refuse_path(f, "Target", target, settings->target_roots);
}

int request_validate_name(const char *name, const char *option, Failure *f) {
        if (!name)
                return 0;
        if (strnlen(name, NAME_MAX_BYTES + 1) > NAME_MAX_BYTES)
                return failure_set(f, FAILURE_INVALID_OPTION, "Option \"%s\" is longer than %i bytes.", option,
                                   NAME_MAX_BYTES);
        if (isempty(name) || name[strcspn(name, "\"\\,")] != '\0' || !utf8_is_valid(name))
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "Option \"%s\" is empty, not UTF-8, or contains quotes, commas or backslashes.",
                                   option);
        if (!text_is_clean(name))
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "Option \"%s\" contains control characters, or characters that nobody sees.",
                                   option);
        return 0;
}

/* server:/export; the server may be an IPv6 address in brackets. */
static bool network_source_is_valid(const char *source) {
        const char *export = strstr(source, ":/");

        return export && export != source && source[0] != '-' && !strstr(export, "/../") &&
               !streq(strrchr(export, '/'), "/..");
}

const char *source_tag(const char *source, const char **ret_directory) {
        static const struct {
                const char *prefix, *directory;
        } tags[] = {
                { "UUID=", "/dev/disk/by-uuid" },
                { "LABEL=", "/dev/disk/by-label" },
                { "PARTUUID=", "/dev/disk/by-partuuid" },
                { "PARTLABEL=", "/dev/disk/by-partlabel" },
        };

        for (size_t i = 0; i < ELEMENTSOF(tags); i++)
                if (startswith(source, tags[i].prefix)) {
                        *ret_directory = tags[i].directory;
                        return source + strlen(tags[i].prefix);
                }
        return NULL;
}

/* udev writes characters such as blanks in the names of its links as \xNN. */
static bool source_is_clean(const char *source) {
        const char *hex = "0123456789abcdefABCDEF";

        if (!text_is_clean(source) || source[strcspn(source, " \",")] != '\0')
                return false;
        for (const char *p = source; (p = strchr(p, '\\')); p++)
                if (!path_is_beneath(source, "/dev") || p[1] != 'x' || strspn(p + 2, hex) < 2)
                        return false;
        return true;
}

static int source_validate(const Request *q, const Settings *settings, Failure *f) {
        const FileSystem *fs = q->fs_type ? settings_file_system(settings, q->fs_type) : NULL;
        const char *source = q->source, *directory, *tag;
        size_t n;

        if (!source)
                return 0;
        n = strnlen(source, 4096);
        if (n == 0 || n >= 4096 || !utf8_is_valid(source))
                return failure_set(f, FAILURE_INVALID_VOLUME, "The source is empty, too long or not UTF-8.");
        tag = fs && fs->source != SOURCE_BLOCK ? NULL : source_tag(source, &directory);
        if (tag && !isempty(tag) && text_is_clean(tag))
                return 0;
        if (!source_is_clean(source))
                return refuse(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' contains spaces, control or invisible characters, quotes, commas or backslashes. Pass another name: 'ls /dev/disk/by-*' lists those of devices.");
        if (fs && fs->source == SOURCE_NETWORK)
                return network_source_is_valid(source) ? 0
                                                       : refuse(f, FAILURE_INVALID_VOLUME, source,
                                                                "Source '%s' is not of the form server:/export.");
        if (fs && fs->source == SOURCE_NONE)
                return 0;
        if (!path_is_normalized(source))
                return refuse(
                        f, FAILURE_INVALID_VOLUME, source,
                        "Source '%s' is not an absolute path of a block device or image without '.', '..' and extra slashes, nor UUID=, LABEL=, PARTUUID= or PARTLABEL= of a device.");
        if (!roots_contain(settings->source_roots, source))
                return refuse_path(f, "Source", source, settings->source_roots);
        return 0;
}

/* Whether the options limit a tmpfs: with size=0 it has no limit, and a percentage may be of all memory. */
static bool size_is_limited(char **options) {
        bool limited = false;

        STRV_FOREACH (option, options) {
                const char *value = startswith(*option, "size=") ?: startswith(*option, "nr_blocks=");

                if (!value)
                        continue;
                if (strchr(value, '%') || strspn(value, "0") == strspn(value, "0123456789"))
                        return false;
                limited = true;
        }
        return limited;
}

/* Checks the source of a user other than root, as far as that is possible before polkit is asked. The worker
 * checks the rest: SourceDevices= may have another name of the device, and a loop device is judged by its
 * image. */
static int source_check_user(const Request *q, const Settings *settings, Failure *f) {
        const FileSystem *fs = q->fs_type ? settings_file_system(settings, q->fs_type) : NULL;
        const char *source = q->source, *directory = "";

        if (!source || q->by_root)
                return 0;
        if (fs && fs->source == SOURCE_NONE && !size_is_limited(q->mount_options))
                return refuse(
                        f, FAILURE_INVALID_OPTION, fs->name,
                        "A %s without a size can take half of the memory, so only root may mount one. Pass a mount option such as size=64m.");
        if ((fs && fs->source != SOURCE_BLOCK) || strv_length(settings->source_devices) > 0 ||
            startswith(source, "/dev/loop") || (!source_tag(source, &directory) && !startswith(source, "/dev/")))
                return 0;
        if (source_tag(source, &directory) || startswith(source, "/dev/disk/by-label/") ||
            startswith(source, "/dev/disk/by-uuid/"))
                source = "/dev/disk/by-id/NAME";
        return refuse(
                f, FAILURE_PATH_NOT_ALLOWED, source,
                "No device is set for users other than root. To allow the source, add SourceDevices=%s under [Worker] " SETTINGS_REMEDY);
}

/* Replaces *s by its canonical form; NULL stays NULL. */
static int canonicalize_text(char **s, int (*to_canonical)(const char *, char **, Failure *), Failure *f) {
        char *canonical;
        int r;

        if (!*s)
                return 0;
        r = to_canonical(*s, &canonical, f);
        if (r != 0)
                return r;
        free(*s);
        *s = canonical;
        return 0;
}

static int context_validate(Request *q, Failure *f) {
        const struct {
                const char *value, *option;
        } names[] = { { q->user, "SELinuxUser" }, { q->role, "SELinuxRole" }, { q->type, "SELinuxType" } };
        int r;

        for (size_t i = 0; i < ELEMENTSOF(names); i++)
                if (names[i].value && !context_name_is_valid(names[i].value))
                        return failure_set(
                                f, FAILURE_INVALID_CONTEXT,
                                "Option \"%s\" is malformed: it may contain letters, digits, '_', '.' and '-'.",
                                names[i].option);
        r = canonicalize_text(&q->level, level_canonicalize, f);
        if (r != 0)
                return r;
        if (q->context && (q->user || q->role || q->type || q->level))
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "\"SELinuxContext\" can't be combined with \"SELinuxUser\", \"SELinuxRole\", \"SELinuxType\" or \"SELinuxLevel\": pass one or the others.");
        return canonicalize_text(&q->context, context_canonicalize, f);
}

/* Refuses a context of which a part differs from the part that the request has; wanted NULL: the request has
 * none. */
static int check_context_part(const char *context, ContextPart part, const char *wanted, const char *name,
                              Failure *f) {
        _cleanup_free_ char *actual = context_part(context, part);

        if (!actual)
                return -ENOMEM;
        if (!wanted || streq(actual, wanted))
                return 0;
        return failure_set(f, FAILURE_INCOMPATIBLE, "The mount options specify %s %s, the request %s: pass one.",
                           name, isempty(actual) ? "(none)" : actual, wanted);
}

static int options_validate(Request *q, const Settings *settings, Failure *f) {
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        int r;

        r = mount_options_parse(q->mount_options, &o, f);
        if (r != 0)
                return r;
        /* A context among kubelet's mount options counts as SELinuxContext. */
        if (o.context) {
                if (q->context && !streq(q->context, o.context))
                        return failure_set(f, FAILURE_INCOMPATIBLE,
                                           "The mount options specify context %s, the request %s: pass one.",
                                           o.context, q->context);
                r = check_context_part(o.context, CONTEXT_USER, q->user, "user", f);
                if (r != 0)
                        return r;
                r = check_context_part(o.context, CONTEXT_LEVEL, q->level, "level", f);
                if (r != 0)
                        return r;
                free(q->context);
                q->context = TAKE_PTR(o.context);
                q->user = (free(q->user), NULL);
                q->role = (free(q->role), NULL);
                q->type = (free(q->type), NULL);
                q->level = (free(q->level), NULL);
                /* kubelet passes a context only if it decided on a context mount. Explicit options of the
                 * request count more. */
                if (q->policy < 0)
                        q->policy = RELABEL_ON_VOLUME_MOUNT;
                if (q->selinux_mount_supported < 0)
                        q->selinux_mount_supported = 1;
        }
        if (q->fs_type) {
                r = mount_options_check(o.options, settings, settings_file_system(settings, q->fs_type), f);
                if (r != 0)
                        return r;
        }

        q->read_only = q->read_only || o.read_only;
        strv_free(q->mount_options);
        q->mount_options = TAKE_PTR(o.options);
        return 0;
}

int walk_options_validate(const WalkOptions *w, Failure *f) {
        if (w->entries_per_sec > WALK_ENTRIES_PER_SEC_MAX)
                return failure_set(f, FAILURE_INVALID_OPTION,
                                   "Option \"MaxEntriesPerSecond\" is %" PRIu64 ", more than %i; 0 sets no limit.",
                                   w->entries_per_sec, WALK_ENTRIES_PER_SEC_MAX);
        return 0;
}

int request_validate(Request *q, const Settings *settings, Failure *f) {
        int r;

        assert(q && q->volume && q->target && settings && f);

        r = volume_id_validate(q->volume, f);
        if (r != 0)
                return r;
        r = target_validate(q->target, settings, f);
        if (r != 0)
                return r;
        /* A holder without a name gets its target as name. The target may break the rules for names. */
        if (!q->holder || !streq(q->holder, q->target)) {
                r = request_validate_name(q->holder, "Holder", f);
                if (r != 0)
                        return r;
        }
        r = request_validate_name(q->driver, "Driver", f);
        if (r != 0)
                return r;
        if (q->fs_type && !settings_file_system(settings, q->fs_type))
                return fs_type_refuse(q->fs_type, f);
        if (q->replace && !q->by_root)
                return failure_set(
                        f, FAILURE_INVALID_OPTION,
                        "Option \"Replace\" is for root alone, as it unmounts the mount of another program.");
        r = context_validate(q, f);
        if (r != 0)
                return r;
        r = options_validate(q, settings, f);
        if (r != 0)
                return r;
        r = source_validate(q, settings, f);
        if (r != 0)
                return r;
        r = source_check_user(q, settings, f);
        if (r != 0)
                return r;
        r = walk_options_validate(&q->walk, f);
        if (r != 0)
                return r;

        if (!q->volume_type) {
                r = free_and_strdup(&q->volume_type, "csi");
                if (r < 0)
                        return r;
        }
        if (!q->holder) {
                r = free_and_strdup(&q->holder, q->target);
                if (r < 0)
                        return r;
        }
        if (!settings_volume_type(settings, q->volume_type))
                return refuse(
                        f, FAILURE_INVALID_OPTION, q->volume_type,
                        "Volume type '%1$s' is unknown. To add it, write a section [VolumeType %1$s] " SETTINGS_REMEDY);
        return 0;
}

bool request_equal(const Request *a, const Request *b) {
        for (size_t i = 0; i < ELEMENTSOF(strings); i++)
                if (!streq_ptr(*string_of(a, i), *string_of(b, i)))
                        return false;
        /* Without a group, the options about groups have no effect. */
        if (a->fs_group != GID_NONE &&
            (a->fs_group_policy != b->fs_group_policy || a->fs_group_change_policy != b->fs_group_change_policy ||
             a->user_namespace != b->user_namespace))
                return false;
        return strv_equal(a->mount_options, b->mount_options) && a->access_mode == b->access_mode &&
               a->policy == b->policy && a->selinux_mount_supported == b->selinux_mount_supported &&
               a->read_only == b->read_only && a->fs_group == b->fs_group && a->relabel_by == b->relabel_by &&
               a->walk.force == b->walk.force && a->ephemeral == b->ephemeral && a->replace == b->replace &&
               a->by_root == b->by_root;
}

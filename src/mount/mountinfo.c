/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "mount/mountinfo.h"

#define MOUNTINFO "/proc/self/mountinfo"

enum { READ_SIZE = 64 * 1024 };

static int read_whole(const char *path, char **ret) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t n = 0, size = READ_SIZE;

        if (fd < 0)
                return -errno;
        for (;; size *= 2) {
                char *grown = realloc(text, size + 1);
                ssize_t k;

                if (!grown)
                        return -ENOMEM;
                text = grown;
                while ((k = read(fd, text + n, size - n)) > 0)
                        n += (size_t) k;
                if (k < 0)
                        return -errno;
                if (n < size)
                        break;
        }
        text[n] = '\0';
        if (strlen(text) != n)
                return -EBADMSG;
        *ret = TAKE_PTR(text);
        return 0;
}

static bool is_octal(char c) {
        return c >= '0' && c <= '7';
}

void mountinfo_unescape(char *s) {
        char *to = s;

        for (; *s; s++)
                if (s[0] == '\\' && is_octal(s[1]) && is_octal(s[2]) && is_octal(s[3])) {
                        *to++ = (char) ((s[1] - '0') * 64 + (s[2] - '0') * 8 + (s[3] - '0'));
                        s += 3;
                } else
                        *to++ = *s;
        *to = '\0';
}

char *mountinfo_escape(const char *s) {
        char *escaped = malloc(4 * strlen(s) + 1), *p = escaped;

        for (; escaped && *s; s++)
                if (strchr(" \t\n\\", *s)) {
                        *p++ = '\\';
                        *p++ = (char) ('0' + (*s >> 6));
                        *p++ = (char) ('0' + ((*s >> 3) & 7));
                        *p++ = (char) ('0' + (*s & 7));
                } else
                        *p++ = *s;
        if (escaped)
                *p = '\0';
        return escaped;
}

/* Returns the next field; NULL at the end of the line. */
static const char *take_field(char **line) {
        char *field = strsep(line, " ");

        if (field)
                mountinfo_unescape(field);
        return field;
}

static int take_id(char **line, uint64_t *ret) {
        const char *field = take_field(line);
        unsigned long long n;

        if (!field || parse_u64(field, &n) < 0)
                return -EBADMSG;
        *ret = n;
        return 0;
}

static int parse_mount(char *line, Mount *m) {
        const char *field, *group;
        unsigned long long n;
        int r;

        r = take_id(&line, &m->id);
        if (r < 0)
                return r;
        r = take_id(&line, &m->parent);
        if (r < 0)
                return r;
        field = take_field(&line);
        r = field ? device_parse(field, &m->device) : -EBADMSG;
        if (r < 0)
                return r == -EINVAL ? -EBADMSG : r;
        m->root = take_field(&line);
        m->target = take_field(&line);
        m->options = take_field(&line);
        /* Optional fields about propagation, up to a dash. */
        while ((field = take_field(&line)) && !streq(field, "-"))
                if (startswith(field, "master:"))
                        m->slave = true;
                else if ((group = startswith(field, "shared:"))) {
                        if (parse_u64(group, &n) < 0)
                                return -EBADMSG;
                        m->peer_group = n;
                }
        if (!field)
                return -EBADMSG;
        m->fs_type = take_field(&line);
        m->source = take_field(&line);
        m->fs_options = line;
        return m->fs_options ? 0 : -EBADMSG;
}

static int compare_mounts(const void *a, const void *b) {
        const Mount *x = *(const Mount *const *) a, *y = *(const Mount *const *) b;

        return x->id < y->id ? -1 : x->id > y->id;
}

/* Takes text over. An empty text is an error: every table has mounts. */
static int parse_text(char *text, MountTable **ret) {
        _cleanup_(mount_table_freep) MountTable *t = calloc(1, sizeof(*t));
        char *rest = text;
        int r;

        if (!t) {
                free(text);
                return -ENOMEM;
        }
        t->text = text;
        for (const char *end = text; (end = strchr(end, '\n')); end++)
                t->n++;
        if (t->n == 0)
                return -EBADMSG;
        t->mounts = calloc(t->n, sizeof(*t->mounts));
        t->by_id = calloc(t->n, sizeof(const Mount *));
        if (!t->mounts || !t->by_id)
                return -ENOMEM;
        for (size_t i = 0; i < t->n; i++) {
                r = parse_mount(strsep(&rest, "\n"), &t->mounts[i]);
                if (r < 0)
                        return r;
                t->by_id[i] = &t->mounts[i];
        }
        if (!isempty(rest))
                return -EBADMSG;
        qsort(t->by_id, t->n, sizeof(const Mount *), compare_mounts);
        *ret = TAKE_PTR(t);
        return 0;
}

int mount_table_read(const char *path, MountTable **ret) {
        char *text = NULL;
        int r;

        r = read_whole(path ?: MOUNTINFO, &text);
        return r < 0 ? r : parse_text(text, ret);
}

int mount_table_read_mount(const char *path, uint64_t id, MountTable **ret) {
        _cleanup_fclose_ FILE *file = NULL;
        _cleanup_free_ char *line = NULL;
        size_t allocated = 0;

        file = fopen(path ?: MOUNTINFO, "re");
        if (!file)
                return -errno;

        while (getline(&line, &allocated, file) > 0) {
                char *end;

                if (strtoull(line, &end, 10) == id && end != line && *end == ' ')
                        return parse_text(TAKE_PTR(line), ret);
        }
        return feof(file) ? -ENOENT : -errno;
}

enum {
        STATX_FLAGS = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC,
        MASK_ID_UNIQUE = 0x4000, /* STATX_MNT_ID_UNIQUE; missing in the headers of Linux 6.1 */
};

/* From linux/mount.h of Linux 6.13; missing in 6.1. The number is the same on all architectures. */
#ifndef SYS_statmount
#define SYS_statmount 457
#endif

enum {
        SB_BASIC = 0x1,
        MNT_BASIC = 0x2,
        MNT_ROOT = 0x8,
        MNT_POINT = 0x10,
        FS_TYPE = 0x20,
        MNT_OPTS = 0x80,
        SB_SOURCE = 0x200,
        FLAG_READ_ONLY = 0x1, /* SB_RDONLY, MOUNT_ATTR_RDONLY */
};

typedef struct StatmountRequest {
        uint32_t size, spare;
        uint64_t id, mask;
} StatmountRequest;

typedef struct Reply {
        uint32_t size, options;
        uint64_t mask;
        uint32_t device_major, device_minor;
        uint64_t magic;
        uint32_t sb_flags, fs_type;
        uint64_t id, parent_id;
        uint32_t old_id, old_parent_id;
        uint64_t attributes, propagation, peer_group, master, propagate_from;
        uint32_t root, point;
        uint64_t namespace_id;
        uint32_t fs_subtype, source;
        uint64_t spare[48];
        char text[4 * PATH_MAX]; /* string members are offsets into text */
} Reply;

_Static_assert(offsetof(Reply, text) == 512, "statmount(2) has its strings after 512 bytes");

int mount_identify(int fd, uint64_t *ret_mount_id, bool *ret_is_mount) {
        struct statx sx = { 0 };

        assert(fd >= 0);
        assert(ret_mount_id);

        if (statx(fd, "", STATX_FLAGS, STATX_MNT_ID, &sx) < 0)
                return -errno;
        if (!(sx.stx_mask & STATX_MNT_ID))
                return -EOPNOTSUPP;
        *ret_mount_id = sx.stx_mnt_id;
        if (ret_is_mount)
                *ret_is_mount = sx.stx_attributes & STATX_ATTR_MOUNT_ROOT;
        return 0;
}

int mount_identify_unique(int fd, uint64_t *ret_mount_id, uint64_t *ret_unique_id) {
        struct statx sx = { 0 };
        int r;

        assert(ret_mount_id && ret_unique_id);

        r = mount_identify(fd, ret_mount_id, NULL);
        if (r < 0)
                return r;
        if (statx(fd, "", STATX_FLAGS, MASK_ID_UNIQUE, &sx) < 0)
                return -errno;
        *ret_unique_id = sx.stx_mask & MASK_ID_UNIQUE ? sx.stx_mnt_id : 0;
        return 0;
}

static bool disabled;

void statmount_disable(void) {
        disabled = true;
}

/* Calls statmount(2). The reply must have the fields of mask; those of optional may be missing. */
static int call_statmount(uint64_t id, uint64_t mask, uint64_t optional, Reply *ret) {
        const StatmountRequest request = { .size = sizeof(request), .id = id, .mask = mask | optional };

        if (disabled || id == 0)
                return -EOPNOTSUPP;
        if (syscall(SYS_statmount, &request, ret, sizeof(*ret), 0) >= 0)
                return (ret->mask & mask) == mask ? 0 : -EOPNOTSUPP;
        /* EPERM comes from a seccomp filter that does not know statmount(2). */
        return errno == ENOSYS || errno == EPERM || errno == EOVERFLOW ? -EOPNOTSUPP : -errno;
}

/* Kernels before 6.12 omit the options of security modules; a kernel that shows one shows all. */
static bool shows_labels(const char *options) {
        static int selinux = -1; /* read once: /sys/fs/selinux is not in every namespace */

        if (selinux < 0)
                selinux = access("/sys/fs/selinux/enforce", F_OK) >= 0;
        return selinux == 0 || strstr(options, "seclabel") || strstr(options, "context=");
}

/* Reads the mount with the unique id as a line of proc_pid_mountinfo(5). The source is "none" unless
 * with_source is set (STATMOUNT_SB_SOURCE, Linux 6.13). The mount options are only ro and idmapped. *ret is
 * the caller's. Returns 0; -EOPNOTSUPP if this kernel does not report everything in a line, or if SELinux is
 * on and the kernel may omit options of security modules; or another negative errno: -ENOENT if the caller's
 * namespace has no such mount. */
static int read_mount_line(uint64_t unique_id, bool with_source, char **ret) {
        const uint64_t mask = SB_BASIC | MNT_BASIC | MNT_ROOT | MNT_POINT | FS_TYPE | (with_source ? SB_SOURCE : 0);
        _cleanup_free_ char *root = NULL, *point = NULL, *source = NULL;
        _cleanup_free_ Reply *m = NULL;
        const char *options;
        char shared[32] = "";
        int r;

        m = calloc(1, sizeof(*m));
        if (!m)
                return -ENOMEM;
        r = call_statmount(unique_id, mask, MNT_OPTS, m);
        if (r < 0)
                return r;
        options = m->mask & MNT_OPTS ? m->text + m->options : "";
        if (!shows_labels(options))
                return -EOPNOTSUPP;

        root = mountinfo_escape(m->text + m->root);
        point = mountinfo_escape(m->text + m->point);
        source = mountinfo_escape(with_source ? m->text + m->source : "none");
        if (!root || !point || !source)
                return -ENOMEM;
        if (m->propagation & MS_SHARED)
                (void) snprintf(shared, sizeof(shared), " shared:%" PRIu64, m->peer_group);
        *ret = strdup_printf(
                "%u %u %u:%u %s %s %s%s%s%s - %s %s %s%s%s\n", m->old_id, m->old_parent_id, m->device_major,
                m->device_minor, root, point, m->attributes & FLAG_READ_ONLY ? "ro" : "rw",
                m->attributes & MOUNT_ATTR_IDMAP ? ",idmapped" : "", shared,
                m->propagation & MS_SLAVE ? " master:1" : "", m->text + m->fs_type, isempty(source) ? "none" : source,
                m->sb_flags & FLAG_READ_ONLY ? "ro" : "rw", isempty(options) ? "" : ",", options);
        return *ret ? 0 : -ENOMEM;
}

int mount_table_read_own(int fd, bool with_source, MountTable **ret) {
        uint64_t id = 0, unique_id = 0;
        char *line = NULL;
        int r;

        r = mount_identify_unique(fd, &id, &unique_id);
        if (r < 0)
                return r;
        r = read_mount_line(unique_id, with_source, &line);
        if (r == -EOPNOTSUPP)
                return mount_table_read_mount(NULL, id, ret);
        return r < 0 ? r : parse_text(line, ret);
}

int statmount_is_there(uint64_t unique_id, uint64_t id) {
        Reply m = { 0 };
        int r;

        r = call_statmount(unique_id, MNT_BASIC, 0, &m);
        if (r == -ENOENT)
                return 0;
        return r < 0 ? r : m.old_id == id;
}

MountTable *mount_table_free(MountTable *table) {
        if (!table)
                return NULL;
        free(table->text);
        free(table->mounts);
        free(table->by_id);
        free(table);
        return NULL;
}

const Mount *mountinfo_find(const MountTable *table, uint64_t id) {
        const Mount key = { .id = id }, *wanted = &key;
        const Mount *const *found = bsearch(&wanted, table->by_id, table->n, sizeof(const Mount *), compare_mounts);

        return found ? *found : NULL;
}

int device_parse(const char *s, dev_t *ret) {
        unsigned long long maj, min;
        const char *colon = strchr(s, ':');
        _cleanup_free_ char *first = NULL;

        assert(ret);

        if (!colon)
                return -EINVAL;
        first = strndup(s, (size_t) (colon - s));
        if (!first)
                return -ENOMEM;
        if (parse_u64(first, &maj) < 0 || parse_u64(colon + 1, &min) < 0 || maj > UINT32_MAX || min > UINT32_MAX)
                return -EINVAL;
        *ret = makedev((unsigned) maj, (unsigned) min);
        return 0;
}

bool device_is_among(dev_t device, const dev_t *devices, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (devices[i] == device)
                        return true;
        return false;
}

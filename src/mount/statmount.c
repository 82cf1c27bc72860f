/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mount/statmount.h"

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

/* Escapes like the kernel in the mount table. */
static char *escape_field(const char *s) {
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

/* Kernels before 6.12 omit the options of security modules; a kernel that shows one shows all. */
static bool shows_labels(const char *options) {
        static int selinux = -1; /* read once: /sys/fs/selinux is not in every namespace */

        if (selinux < 0)
                selinux = access("/sys/fs/selinux/enforce", F_OK) >= 0;
        return selinux == 0 || strstr(options, "seclabel") || strstr(options, "context=");
}

int statmount_is_there(uint64_t unique_id, uint64_t id) {
        Reply m = { 0 };
        int r;

        r = call_statmount(unique_id, MNT_BASIC, 0, &m);
        if (r == -ENOENT)
                return 0;
        return r < 0 ? r : m.old_id == id;
}

int statmount_read_line(uint64_t unique_id, bool with_source, char **ret) {
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

        root = escape_field(m->text + m->root);
        point = escape_field(m->text + m->point);
        source = escape_field(with_source ? m->text + m->source : "none");
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

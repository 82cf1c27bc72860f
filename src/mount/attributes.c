/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <stdint.h>
#include <sys/mount.h>

#include "basic/string-util.h"
#include "mount/attributes.h"

typedef struct Attribute {
        const char *option;
        uint64_t flag;
} Attribute;

/* The others of mount_option_is_attribute() are what a mount is without these. */
static const Attribute attributes[] = {
        { "noexec", MOUNT_ATTR_NOEXEC },           { "noatime", MOUNT_ATTR_NOATIME },
        { "strictatime", MOUNT_ATTR_STRICTATIME }, { "nodiratime", MOUNT_ATTR_NODIRATIME },
        { "nosymfollow", MOUNT_ATTR_NOSYMFOLLOW },
};

static int set(int tree, uint64_t flags, uint64_t cleared) {
        struct mount_attr attr = { .attr_set = flags, .attr_clr = cleared };

        return mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int attributes_set(int tree, char *const *options, bool read_only) {
        uint64_t flags = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0);

        for (size_t i = 0; i < ELEMENTSOF(attributes); i++)
                if (strv_contains(options, attributes[i].option))
                        flags |= attributes[i].flag;
        if ((flags & MOUNT_ATTR__ATIME) == MOUNT_ATTR__ATIME)
                flags &= ~(uint64_t) MOUNT_ATTR_NOATIME;
        return set(tree, flags,
                   MOUNT_ATTR_NOEXEC | MOUNT_ATTR__ATIME | MOUNT_ATTR_NODIRATIME | MOUNT_ATTR_NOSYMFOLLOW |
                           MOUNT_ATTR_RDONLY);
}

int attributes_set_read_only(int tree, bool read_only) {
        assert(tree >= 0);
        return set(tree, read_only ? MOUNT_ATTR_RDONLY : 0, read_only ? 0 : MOUNT_ATTR_RDONLY);
}

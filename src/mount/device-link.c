/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "basic/string-util.h"
#include "mount/device-link.h"

DEFINE_CLEANUP_FUNC(DIR *, closedir);

/* These links have a name that an administrator chose and may give to another device, or are about the
 * contents. */
static bool is_of_contents(const char *name) {
        return startswith(name, "dm-name-") || startswith(name, "md-name-") || startswith(name, "lvm-pv-uuid-");
}

static bool leads_to(int dir, const char *name, dev_t device) {
        struct stat st;

        return fstatat(dir, name, &st, 0) >= 0 && S_ISBLK(st.st_mode) && st.st_rdev == device;
}

/* A device mapper's UUID is better than what its device inherits; of equals the first by name is taken. */
static bool is_better(const char *name, const char *than) {
        bool uuid = startswith(name, "dm-uuid-"), than_uuid = than && startswith(than, "dm-uuid-");

        return !than || (uuid == than_uuid ? strcmp(name, than) < 0 : uuid);
}

/* *ret stays NULL if the directory has no link to the device, or does not exist. */
static int find_link_in(const char *path, dev_t device, char **ret) {
        _cleanup_(closedirp) DIR *dir = opendir(path);
        _cleanup_free_ char *best = NULL;
        const struct dirent *entry;

        while (dir && (entry = readdir(dir))) {
                const char *name = entry->d_name;

                if (entry->d_type != DT_LNK || is_of_contents(name) || !text_is_clean(name) ||
                    !is_better(name, best) || !leads_to(dirfd(dir), name, device))
                        continue;
                if (free_and_strdup(&best, name) < 0)
                        return -ENOMEM;
        }
        if (!best)
                return 0;
        *ret = strdup_printf("%s/%s", path, best);
        return *ret ? 0 : -ENOMEM;
}

int device_find_link(dev_t device, char **ret) {
        _cleanup_free_ char *link = NULL;
        int r = 0;

        if (major(device) != 0)
                r = find_link_in("/dev/disk/by-id", device, &link);
        if (r >= 0 && !link && major(device) != 0)
                r = find_link_in("/dev/disk/by-partuuid", device, &link);
        if (r >= 0)
                *ret = TAKE_PTR(link);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <mntent.h>

#include "basic/string-util.h"
#include "mount-helper/automount.h"

bool automount_is_at(const char *path) {
        FILE *table = setmntent("/proc/self/mounts", "re");
        const struct mntent *m;
        bool found = false;

        if (!table)
                return false;
        while ((m = getmntent(table)))
                if (streq(m->mnt_dir, path))
                        found = streq(m->mnt_type, "autofs"); /* the last one is on top */
        (void) endmntent(table);
        return found;
}

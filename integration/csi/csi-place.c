/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/sysmacros.h>

#include "basic/path-util.h"
#include "basic/string-util.h"
#include "csi/csi-place.h"
#include "mount/mountinfo.h"

void csi_place_done(CsiPlace *p) {
        free(p->target);
        free(p->source);
        free(p->named);
        *p = (CsiPlace){ 0 };
}

/* Whether another mount at the same path hides the mount. */
static bool is_hidden(const MountTable *table, const Mount *m) {
        for (size_t i = 0; i < table->n; i++)
                if (table->mounts[i].parent == m->id && &table->mounts[i] != m &&
                    streq(table->mounts[i].target, m->target))
                        return true;
        return false;
}

static const Mount *find_at(const MountTable *table, const char *path) {
        for (size_t i = 0; i < table->n; i++)
                if (streq(table->mounts[i].target, path) && !is_hidden(table, &table->mounts[i]))
                        return &table->mounts[i];
        return NULL;
}

/* NULL: there is none, or more than one. */
static const Mount *find_only_beneath(const MountTable *table, const char *path) {
        const Mount *found = NULL;

        for (size_t i = 0; i < table->n; i++) {
                const Mount *m = &table->mounts[i];

                if (!path_is_beneath(m->target, path) || is_hidden(table, m))
                        continue;
                if (found)
                        return NULL;
                found = m;
        }
        return found;
}

/* The driver's name for the device may lead elsewhere on the host, so that the number goes first. The number
 * of btrfs is that of no device. */
static int find_source(const Mount *m, CsiPlace *p) {
        const bool is_device = major(m->device) != 0;

        if (!is_device && !streq(m->fs_type, "btrfs"))
                return 0;
        p->named = strdup(m->source);
        p->source =
                is_device ? strdup_printf("/dev/block/%u:%u", major(m->device), minor(m->device)) : strdup(m->source);
        return p->named && p->source ? 0 : -ENOMEM;
}

int csi_place_find(const char *mountinfo, const char *path, bool beneath, CsiPlace *ret) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        _cleanup_csi_place_ CsiPlace p = { 0 };
        const Mount *m;
        int r;

        r = mount_table_read(mountinfo, &table);
        if (r < 0)
                return r;
        m = find_at(table, path);
        if (!m && beneath)
                m = find_only_beneath(table, path);
        if (!m)
                return 0;
        r = find_source(m, &p);
        if (r < 0)
                return r;
        p.target = strdup(m->target);
        if (!p.target)
                return -ENOMEM;
        *ret = TAKE_STRUCT(p);
        return 1;
}

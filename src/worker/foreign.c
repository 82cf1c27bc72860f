/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "worker/foreign.h"

static int fail(const MountFact *m, Failure *f) {
        _cleanup_free_ char *target = string_escape(m->target, 200);

        if (!target)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_PATH_NOT_ALLOWED,
                "The file system is mounted at '%s', outside of TargetRoots=, so it may be the host's own: unmount it there, or let an administrator add the directory to ForeignRoots= of [Worker].",
                target);
}

int foreign_check_mounts(const Child *c, const MountFact *mounts, size_t n_mounts, Failure *f) {
        for (size_t i = 0; i < n_mounts; i++) {
                const MountFact *m = &mounts[i];
                int r;

                if (settings_may_have_volume(c->settings, m->target))
                        continue;
                /* Its directory may have been in TargetRoots= before. */
                r = mount_note_exists(c->notes, m->mount_id, m->device, m->target);
                if (r < 0)
                        return r;
                if (r == 0)
                        return fail(m, f);
        }
        return 0;
}

int foreign_check(const Child *c, const MountFact *fact, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        MountFact *mounts = NULL;
        size_t n = 0;
        dev_t device;
        int r;

        r = device_parse(fact->device, &device);
        if (r < 0)
                return r;
        r = mount_table_read(NULL, &table);
        if (r < 0)
                return r;
        r = mount_table_find_devices(table, &device, 1, &mounts, &n);
        if (r < 0)
                return r;
        r = foreign_check_mounts(c, mounts, n, f);
        mount_facts_free(mounts, n);
        return r;
}

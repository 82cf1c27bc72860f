/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount/mount-note.h"
#include "mount/mount-table.h"
#include "worker/foreign.h"
#include "worker/observe.h"

static int check_mounts(const Child *c, const MountFact *mounts, size_t n_mounts, Failure *f) {
        for (size_t i = 0; i < n_mounts; i++) {
                const MountFact *m = &mounts[i];
                int r;

                if (settings_may_have_volume(c->settings, m->target))
                        continue;
                /* Its directory may have been in TargetRoots= before. */
                r = mount_note_find(m->mount_id, m->device, m->target, NULL);
                if (r < 0)
                        return r;
                if (r == 0)
                        return failure_set_about(
                                f, FAILURE_PATH_NOT_ALLOWED, m->target,
                                "The file system is mounted at '%s', outside of TargetRoots=, so it may be the host's own. Unmount it there, or, to allow it, repeat the current value of ForeignRoots= (selvolctl config) and add the directory, under [Worker] " SETTINGS_REMEDY);
        }
        return 0;
}

int foreign_check_source(const Child *c, const Source *s, Observed *o, Failure *f) {
        int r;

        r = observe_source_mounts(s, o);
        return r < 0 ? r : check_mounts(c, o->mounts, o->n_mounts, f);
}

int foreign_check_unobserved(const Child *c, const Source *s, Failure *f) {
        _cleanup_(observed_done) Observed o = { 0 };

        return foreign_check_source(c, s, &o, f);
}

int foreign_check_table(const Child *c, const MountTable *table, const MountFact *fact, size_t *ret_n, Failure *f) {
        MountFact *mounts = NULL;
        size_t n = 0;
        dev_t device;
        int r;

        r = device_parse(fact->device, &device);
        if (r < 0)
                return r;
        r = mount_table_find_devices(table, &device, 1, &mounts, &n);
        if (r < 0)
                return r;
        r = check_mounts(c, mounts, n, f);
        mount_facts_free(mounts, n);
        if (ret_n)
                *ret_n = n;
        return r;
}

int foreign_check(const Child *c, const MountFact *fact, Failure *f) {
        _cleanup_(mount_table_freep) MountTable *table = NULL;
        int r;

        r = mount_table_read(NULL, &table);
        return r < 0 ? r : foreign_check_table(c, table, fact, NULL, f);
}

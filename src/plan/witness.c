/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/path-util.h"
#include "plan/witness.h"

/* What is recorded counts if one of the mounts that it is of is among those that were seen. */
static bool is_seen(const Observed *observed, const Holder *h) {
        for (size_t i = 0; i < observed->n_mounts; i++)
                if (observed->mounts[i].mount_id == h->mount_id && streq(observed->mounts[i].device, h->device))
                        return true;
        return false;
}

static bool is_alive(const WitnessInput *in) {
        const Volume *v = in->others->own;
        const Holder *h;

        if (!v || !streq(v->fingerprint.text, FINGERPRINT_MOUNTED))
                return false;
        if (in->shared)
                return true;
        LL_FOREACH (v->holders, h)
                if (h->state == HOLDER_MOUNTED && h->mount_id != 0 && is_seen(in->others->observed, h))
                        return true;
        return false;
}

static bool is_part_of_held(const Others *others, const MountFact *m) {
        const Observed *observed = others->observed;

        for (size_t i = 0; i < observed->n_mounts; i++)
                if (volumes_find_target(others->volumes, observed->mounts[i].target, NULL) &&
                    path_is_beneath(m->root, observed->mounts[i].root))
                        return true;
        return false;
}

static bool is_adopted(const WitnessInput *in) {
        const Holder *h;

        if (in->adopted)
                return true;
        if (in->others->own)
                LL_FOREACH (in->others->own->holders, h)
                        if (h->adopted)
                                return true;
        return false;
}

static bool is_stranger(const WitnessInput *in, const MountFact *m) {
        const Others *others = in->others;
        bool outside = !roots_contain(in->settings->target_roots, m->target);

        if (m->read_only || streq(m->target, others->target) || volumes_find_target(others->volumes, m->target, NULL))
                return false;
        return outside || (!is_adopted(in) && !is_part_of_held(others, m));
}

static bool has_stranger(const WitnessInput *in) {
        const Observed *observed = in->others->observed;

        for (size_t i = 0; i < observed->n_mounts; i++)
                if (is_stranger(in, &observed->mounts[i]))
                        return true;
        return false;
}

static bool is_trusted(const WitnessInput *in) {
        const Trait *driver = in->driver ? settings_driver(in->settings, in->driver) : NULL,
                    *type = settings_volume_type(in->settings, in->volume_type);

        if (driver && driver->trusted_mark >= 0)
                return driver->trusted_mark;
        return type && type->trusted_mark > 0;
}

Witness plan_witness(const WitnessInput *in) {
        const Volume *v = in->others->own;
        Witness w = { .alive = is_alive(in), .beside = has_stranger(in), .trusted = is_trusted(in) };

        if (v)
                w.kept = v->fingerprint;
        return w;
}

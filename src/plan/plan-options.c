/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "plan/plan-conflict.h"
#include "plan/plan-options.h"

/* Who has the file system mounted. */
typedef struct Sharer {
        const Volume *volume; /* NULL: a stranger */
        const char *target;   /* NULL: where it can't be seen */
} Sharer;

/* What the caller says who had it adopted counts. */
static bool options_are_known(const Volume *v) {
        const Holder *h;

        if (v->mounted_here)
                return true;
        LL_FOREACH (v->holders, h)
                if (h->adopted)
                        return true;
        return false;
}

static char *describe_options(const Volume *v) {
        if (!v || !options_are_known(v))
                return strdup("options that selvol does not know");
        return strv_length(v->mount_options) == 0 ? strdup("none") : strv_join(v->mount_options, ",");
}

static char *describe_sharer(const Sharer *s, const char *volume) {
        const Holder *h = s->volume && s->target ? volume_find_holder(s->volume, s->target) : NULL;
        const Conflict c = {
                .volume = (char *) (h ? s->volume->id : ""),
                .holder = (char *) (h ? h->name : ""),
                .target = (char *) strempty(s->target),
                .since_usec = h ? h->since_usec : 0,
        };

        return s->target ? plan_describe_conflict(&c, volume) : strdup("kept mounted where it can't be seen");
}

static int refuse(const Sharer *s, const Request *q, const char *option, Failure *f) {
        _cleanup_free_ char *options = describe_options(s->volume), *who = describe_sharer(s, q->volume);

        if (!options || !who)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INCOMPATIBLE,
                "Volume %s can't be mounted with option '%s': its file system is mounted with %s (%s), and has the same options for all its mounts. Ask for those, or unmount it there first.",
                q->volume, option, options, who);
}

/* Another volume is another subvolume of the same btrfs. */
static bool is_of_superblock(const char *option, bool own) {
        if (mount_option_is_attribute(option, strlen(option)))
                return false;
        return own || !(startswith(option, "subvol=") || startswith(option, "subvolid="));
}

static int check(const Others *others, const Sharer *s, const Request *q, Failure *f) {
        const Volume *v = s->volume;

        STRV_FOREACH (option, q->mount_options)
                if (is_of_superblock(*option, v && v == others->own) &&
                    !(v && options_are_known(v) && strv_contains(v->mount_options, *option)))
                        return refuse(s, q, *option, f);
        return 0;
}

int plan_check_shared_options(const Others *others, const Request *q, const Holder *share, Failure *f) {
        const Observed *observed = others->observed;

        assert(q && f);

        if (share)
                return check(others, &(Sharer){ others->own, share->target }, q, f);
        if (observed->hidden)
                return check(others, &(Sharer){ others->own, NULL }, q, f);
        for (size_t i = 0; i < observed->n_mounts; i++) {
                const char *target = observed->mounts[i].target;
                Volume *v = NULL;
                int r;

                if (streq(target, others->target))
                        continue;
                (void) volumes_find_target(others->volumes, target, &v);
                r = check(others, &(Sharer){ v, target }, q, f);
                if (r != 0)
                        return r;
        }
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "plan/plan-source.h"

/* A superblock without a device of its own may have several sources, such as exports of an NFS server. */
static bool is_mount_of(const Holder *h, const MountFact *m, const char *source) {
        return h->mount_id == m->mount_id && streq(h->device, m->device) &&
               (!startswith(m->device, "0:") || streq(m->source, source));
}

bool plan_is_held_source(const Volume *own, const Observed *observed, const char *source) {
        const Holder *h;

        LL_FOREACH (own->holders, h)
                for (size_t i = 0; i < observed->n_mounts; i++)
                        if (is_mount_of(h, &observed->mounts[i], source))
                                return true;
        return false;
}

static bool names_device(const char *device) {
        return !isempty(device) && !startswith(device, "0:");
}

static bool has_other_device(const Holder *h, const Observed *o) {
        return names_device(h->device) && names_device(o->device) && !streq(h->device, o->device);
}

/* Compares superblocks: an image has no device of its own, and the device of a btrfs does not tell its
 * disk. */
static bool has_other_superblock(const Holder *h, const Observed *o) {
        return !isempty(h->superblock) && !isempty(o->superblock) && !streq(h->superblock, o->superblock);
}

/* Finds a holder at another target whose disk or image is not the one that the same path leads to now. */
static const Holder *find_elsewhere(const Volume *own, const Observed *o, const char *target) {
        const Holder *h;

        LL_FOREACH (own->holders, h)
                if (!streq(h->target, target) && (has_other_device(h, o) || has_other_superblock(h, o)))
                        return h;
        return NULL;
}

/* Describes Observed.superblock; "image:8:1:12" is inode 12 on device 8:1. */
static char *describe_superblock(const char *superblock) {
        const char *name = strchr(superblock, ':'), *inode = strrchr(superblock, ':');

        if (!name)
                return strdup(superblock);
        if (startswith(superblock, "image:") && inode > name)
                return strdup_printf("the image with inode %s on device %.*s", inode + 1, (int) (inode - name - 1),
                                     name + 1);
        return strdup_printf("%.*s %s", (int) (name - superblock), superblock, name + 1);
}

/* elsewhere: a holder that has another disk or image by the same path; NULL: the path differs. */
static int refuse_source(const Volume *own, const Holder *elsewhere, const Observed *o, Failure *f) {
        _cleanup_free_ char *source = string_escape(own->source, 200), *was = NULL, *is = NULL,
                            *word = shell_quote(own->id);

        if (!source)
                return -ENOMEM;
        if (!elsewhere)
                return failure_set(f, FAILURE_INCOMPATIBLE,
                                   "Volume %s is mounted from %s: use that source, or another volume id.", own->id,
                                   source);
        if (has_other_device(elsewhere, o)) {
                was = strdup_printf("device %s", elsewhere->device);
                is = strdup_printf("device %s", o->device);
        } else {
                was = describe_superblock(elsewhere->superblock);
                is = describe_superblock(o->superblock);
        }
        if (!was || !is || !word)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INCOMPATIBLE,
                "Volume %s is mounted from %s, which was %s and is %s now. Unmount the volume everywhere first ('selvolctl show %s' has the targets), and find out what changed it.",
                own->id, source, was, is, word);
}

/* Another volume that is recorded with the file system. */
static const Volume *find_recorded(const Others *others, const Identity *identity) {
        Volume *v, *next;

        HASH_ITER (hh, others->volumes->table, v, next)
                if (v != others->own && identity_is_known(&v->identity) && !identity_differs(&v->identity, identity))
                        return v;
        return NULL;
}

/* elsewhere: the place of the volume's own file system; or owner: the volume that has the one that was found.
 * */
static int refuse_moved(const Volume *own, const Observed *o, const char *source, const Volume *owner, Failure *f) {
        _cleanup_free_ char *name = string_escape(source, 200), *link = string_escape(strempty(o->elsewhere), 200),
                            *was = identity_describe(&own->identity), *is = identity_describe(&o->identity),
                            *word = shell_quote(own->id), *why = NULL;

        why = owner ? strdup_printf("which is volume %s's", owner->id)
                    : strdup_printf("while the volume's own is at %s", strempty(link));
        if (!name || !link || !was || !is || !word || !why)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_SOURCE_CHANGED,
                "Volume %s is %s, but '%s' has %s now, %s: pass the source where the volume is now. If the id is to stand for the other file system from now on, 'selvolctl forget %s' first.",
                own->id, was, name, is, why, word);
}

/* A mounted file system whose UUID was changed is still the volume's. */
static bool is_adopted_again(const Others *others) {
        const Holder *h = others->adopting ? volume_find_holder(others->own, others->target) : NULL;

        return h && !isempty(h->superblock) && streq_ptr(h->superblock, others->observed->superblock);
}

/* Nobody holds the volume. A file system that was made anew on the volume's device passes, and begins a new
 * record; names of disks that have moved don't. */
static int check_identity(const Others *others, const char *source, bool *ret_renewed, Failure *f) {
        const Observed *o = others->observed;
        const Volume *own = others->own, *owner;

        if (!own || !identity_differs(&own->identity, &o->identity) || is_adopted_again(others))
                return 0;
        owner = find_recorded(others, &o->identity);
        if (owner || (o->elsewhere && !find_recorded(others, &own->identity)))
                return refuse_moved(own, o, source, owner, f);
        *ret_renewed = true;
        return 0;
}

int plan_check_source(const Others *others, const Request *q, const Settings *settings, bool *ret_renewed,
                      Failure *f) {
        const Observed *o = others->observed;
        const Volume *own = others->own;
        const char *type = o->fs_type;
        int r = 0;

        *ret_renewed = false;
        /* Nobody holds the volume at another target. */
        if (!own || !own->holders || (!own->holders->next && streq(own->holders->target, q->target)))
                r = check_identity(others, strempty(q->source), ret_renewed, f);
        else if (q->source && !isempty(own->source)) {
                bool same_path = streq(own->source, q->source);
                const Holder *elsewhere = same_path ? find_elsewhere(own, o, q->target) : NULL;

                if (elsewhere || (!same_path && !plan_is_held_source(own, o, q->source)))
                        return refuse_source(own, elsewhere, o, f);
        }
        if (r != 0)
                return r;
        /* A mount that is adopted is there already: plan_make() refuses a change of its files. */
        if (type && !settings_file_system(settings, type) && !others->adopting)
                return fs_type_refuse(type, f);
        if (type && q->fs_type && !streq(type, q->fs_type))
                return failure_set(
                        f, FAILURE_INCOMPATIBLE,
                        "The source has a file system of type %s, not %s: leave \"FSType\" out, or pass another source.",
                        type, q->fs_type);
        return 0;
}

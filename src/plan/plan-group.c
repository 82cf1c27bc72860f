/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <inttypes.h>

#include <utlist.h>

#include "plan/plan-conflict.h"
#include "plan/plan-group.h"
#include "plan/plan-refusal.h"

/* The request counts first, then the driver's section, then the volume type's, then kubelet's default. */
static FSGroupPolicy find_policy(const Settings *settings, const Request *q) {
        const Trait *driver = q->driver ? settings_driver(settings, q->driver) : NULL,
                    *type = settings_volume_type(settings, q->volume_type);

        if (q->fs_group_policy >= 0)
                return (FSGroupPolicy) q->fs_group_policy;
        if (driver && driver->fs_group_policy >= 0)
                return (FSGroupPolicy) driver->fs_group_policy;
        if (type && type->fs_group_policy >= 0)
                return (FSGroupPolicy) type->fs_group_policy;
        return FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE;
}

/* Returns why selvol does not change the group of the files itself; UNKNOWN if it does. */
static OwnershipReason find_reason(const Settings *settings, const Request *q, const FileSystem *fs) {
        FSGroupPolicy policy;

        if (q->fs_group == GID_NONE)
                return OWNERSHIP_NOT_ASKED;
        if (streq(q->volume_type, "hostPath"))
                return OWNERSHIP_TYPE_NOT_MANAGED;
        policy = find_policy(settings, q);
        if (policy == FS_GROUP_NONE)
                return OWNERSHIP_POLICY_NONE;
        if (policy == FS_GROUP_MOUNT)
                return OWNERSHIP_POLICY_MOUNT;
        if (policy == FS_GROUP_FILE)
                return OWNERSHIP_UNKNOWN;
        /* kubelet takes a file system type in the request as a sign that the volume has its own disk. selvol
         * knows the file system. */
        if (!fs || fs->source == SOURCE_NETWORK)
                return OWNERSHIP_NO_FS_TYPE;
        if (q->access_mode == ACCESS_READ_ONLY_MANY || q->access_mode == ACCESS_READ_WRITE_MANY)
                return OWNERSHIP_ACCESS_MODE;
        return OWNERSHIP_UNKNOWN;
}

void plan_decide_group(const Settings *settings, const Request *q, const FileSystem *fs, Plan *p) {
        const Trait *type;

        assert(settings && q && q->volume_type);

        /* kubelet itself writes the files of some volume types, and the pod's group only needs to read
         * them. */
        type = settings_volume_type(settings, q->volume_type);
        p->readers = p->read_only || (type && type->fs_group_readers > 0);
        p->ownership_reason = find_reason(settings, q, fs);
        if (p->ownership_reason == OWNERSHIP_POLICY_MOUNT)
                p->ownership = OWNERSHIP_OPTION;
        else if (p->ownership_reason != OWNERSHIP_UNKNOWN) {
                p->ownership = OWNERSHIP_NONE;
                return;
        } else if (p->read_only) {
                p->ownership = OWNERSHIP_MAP;
                p->ownership_reason = OWNERSHIP_READ_ONLY;
        } else
                p->ownership = OWNERSHIP_WALK;
        p->fs_group = q->fs_group;
}

static char *describe_group(gid_t gid) {
        return gid == GID_NONE ? strdup("no group") : strdup_printf("group %" PRIu32, gid);
}

int plan_group_conflict(const Volume *v, const Holder *h, const Request *q, Plan *p, Failure *f) {
        _cleanup_free_ char *held = describe_group(h->fs_group), *wish = describe_group(p->fs_group), *use = NULL,
                            *end = NULL;
        int r;

        r = plan_add_conflict(p, v, h);
        if (r < 0 || !held)
                return -ENOMEM;
        use = plan_describe_use(&p->conflicts[0], v->id, held);
        end = plan_describe_end(&p->conflicts[0]);
        return plan_refuse(&(Refusal){ .volume = v->id,
                                       .use = use,
                                       .wish = wish,
                                       .end = end,
                                       .same = "use its group",
                                       .may_wait = q && q->wait_usec == 0 },
                           FAILURE_GROUP_CONFLICT, f);
}

/* Whether the option that gives the group conflicts with a holder: the option belongs to the superblock,
 * which has one group or none. */
static bool option_conflicts(const Plan *p, const Holder *h) {
        return p->ownership == OWNERSHIP_OPTION && (h->fs_group != p->fs_group || holder_is_mapped(h));
}

/* Whether a clone of the holder's mount, which swaps groups, serves the plan. */
static bool swap_serves(const Plan *p, const Holder *h, bool user_namespace) {
        return (p->ownership == OWNERSHIP_WALK || p->ownership == OWNERSHIP_MAP) && !user_namespace &&
               h->fs_group == p->fs_group;
}

/* Prefers a mount that no other mount covers. */
static const Holder *choose_share(const Holder *a, const Holder *b) {
        return a && !a->covered_by ? a : b;
}

int plan_find_share(const Others *others, const FileSystem *fs, const Request *q, Plan *p, Failure *f) {
        const Holder *h, *plain = NULL, *mapped = NULL, *other = NULL, *unsettled = NULL;
        const Volume *own = others->own;

        if (!own)
                return 0;
        LL_FOREACH (own->holders, h) {
                if (streq(h->target, others->target))
                        continue;
                if (option_conflicts(p, h))
                        return plan_group_conflict(own, h, others->adopting ? NULL : q, p, f);
                if (h->state != HOLDER_MOUNTED)
                        unsettled = h;
                else if (!holder_is_mapped(h))
                        plain = choose_share(plain, h);
                else if (swap_serves(p, h, q->user_namespace))
                        mapped = choose_share(mapped, h);
                else
                        other = h;
        }
        p->share = plain ? plain : mapped;
        /* The worker can mount a disk once more, without a swap of groups. */
        if (p->share || !fs || fs->source == SOURCE_BLOCK || others->adopting)
                return 0;
        /* A job that still has a claim on the volume goes first. Without such a job, a lost one may have left
         * a mount. */
        if (unsettled && others->claimed)
                return failure_set(f, FAILURE_BUSY, "Volume %s is being mounted or unmounted at %s: try again.",
                                   own->id, unsettled->target);
        return other ? plan_group_conflict(own, other, q, p, f) : 0;
}

/* A holder with a group relies on the group of the files on disk. */
static bool relies_on_group(const Holder *h, const char *target) {
        return !streq(h->target, target) && h->fs_group != GID_NONE;
}

typedef struct Relying {
        Volume *volume;
        const Holder *holder;
        const char *root; /* NULL: the same volume */
} Relying;

static int add_relying(Relying **list, size_t *n, Volume *v, const Holder *h, const char *root) {
        Relying *grown = reallocarray(*list, *n + 1, sizeof(Relying));

        if (!grown)
                return -ENOMEM;
        *list = grown;
        grown[(*n)++] = (Relying){ v, h, root };
        return 0;
}

/* Finds other holders of the volume, and holders of other volumes on the same superblock. *ret is the
 * caller's, also on failure. */
static int find_relying(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                        Relying **ret, size_t *ret_n) {
        Volume *own = volumes_find(volumes, volume), *v = NULL;
        const Holder *h;
        int r;

        *ret = NULL;
        *ret_n = 0;
        if (own)
                LL_FOREACH (own->holders, h) {
                        if (!relies_on_group(h, target))
                                continue;
                        r = add_relying(ret, ret_n, own, h, NULL);
                        if (r < 0)
                                return r;
                }
        for (size_t i = 0; i < observed->n_mounts; i++) {
                h = volumes_find_target(volumes, observed->mounts[i].target, &v);
                if (!h || v == own || !relies_on_group(h, target))
                        continue;
                r = add_relying(ret, ret_n, v, h, observed->mounts[i].root);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int add_reliance(const Relying *relying, const char *volume, Reliance **list, size_t *n) {
        const Holder *h = relying->holder;
        const Conflict c = {
                .volume = relying->volume->id,
                .holder = h->name,
                .target = h->target,
                .since_usec = h->since_usec,
                .stays = h->release_on_umount,
        };
        _cleanup_free_ char *group = describe_group(h->disk_gid);
        Reliance one = { .gid = h->disk_gid };
        Reliance *grown;

        if (!group)
                return -ENOMEM;

        grown = reallocarray(*list, *n + 1, sizeof(Reliance));
        if (!grown)
                return -ENOMEM;
        *list = grown;
        one.use = plan_describe_use(&c, volume, group);
        one.end = plan_describe_end(&c);
        one.volume = strdup(c.volume);
        one.root = isempty(relying->root) ? NULL : strdup(relying->root);
        grown[(*n)++] = one;
        return one.use && one.end && one.volume && (isempty(relying->root) || one.root) ? 0 : -ENOMEM;
}

int plan_find_reliances(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                        Reliance **ret, size_t *ret_n) {
        _cleanup_free_ Relying *relying = NULL;
        Reliance *list = NULL;
        size_t n_relying, n = 0;
        int r;

        assert(volumes && volume && target && observed);

        r = find_relying(volumes, volume, target, observed, &relying, &n_relying);
        for (size_t i = 0; r >= 0 && i < n_relying; i++)
                r = add_reliance(&relying[i], volume, &list, &n);
        if (r < 0) {
                reliances_free(list, n);
                return r;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}

int plan_find_group_conflicts(const Volumes *volumes, const char *volume, const char *target,
                              const Observed *observed, gid_t gid, Plan *p) {
        _cleanup_free_ Relying *relying = NULL;
        size_t n;
        int r;

        assert(volumes && volume && target && observed);

        r = find_relying(volumes, volume, target, observed, &relying, &n);
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (relying[i].holder->disk_gid != gid)
                        r = plan_add_conflict(p, relying[i].volume, relying[i].holder);
        return r;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <utlist.h>

#include "basic/path-util.h"
#include "model/mount-options.h"
#include "plan/plan-internal.h"

/* The request knows best, then the driver's section, then the volume type's; kubelet's default is the last word. */
static FSGroupPolicy find_policy(const PlanInput *in) {
        const Request *q = in->request;
        const Trait *driver = q->driver ? settings_driver(in->settings, q->driver) : NULL,
                    *type = settings_volume_type(in->settings, q->volume_type);

        if (q->fs_group_policy >= 0)
                return (FSGroupPolicy) q->fs_group_policy;
        if (driver && driver->fs_group_policy >= 0)
                return (FSGroupPolicy) driver->fs_group_policy;
        if (type && type->fs_group_policy >= 0)
                return (FSGroupPolicy) type->fs_group_policy;
        return FS_GROUP_READ_WRITE_ONCE_WITH_FS_TYPE;
}

/* kubelet takes a type of file system that is named for a sign of a disk of the volume's own. Here it is known. */
static bool has_own_file_system(const PlanInput *in, const char *fs_type) {
        const FileSystem *fs = fs_type ? settings_file_system(in->settings, fs_type) : NULL;

        return fs && fs->source != SOURCE_NETWORK;
}

/* kubelet writes the files of some volume types, and gives the pod's group what it needs to read them. */
static bool has_readers_only(const PlanInput *in) {
        const Trait *type = settings_volume_type(in->settings, in->request->volume_type);

        return type && type->fs_group_readers > 0;
}

static OwnershipReason find_reason(const PlanInput *in, const char *fs_type) {
        const Request *q = in->request;
        FSGroupPolicy policy;

        if (q->fs_group == GID_NONE)
                return OWNERSHIP_NOT_ASKED;
        if (streq(q->volume_type, "hostPath"))
                return OWNERSHIP_TYPE_NOT_MANAGED;
        policy = find_policy(in);
        if (policy == FS_GROUP_NONE)
                return OWNERSHIP_POLICY_NONE;
        if (policy == FS_GROUP_MOUNT)
                return OWNERSHIP_POLICY_MOUNT;
        if (policy == FS_GROUP_FILE)
                return OWNERSHIP_UNKNOWN;
        if (!has_own_file_system(in, fs_type))
                return OWNERSHIP_NO_FS_TYPE;
        return q->access_mode == ACCESS_READ_ONLY_MANY || q->access_mode == ACCESS_READ_WRITE_MANY
                       ? OWNERSHIP_ACCESS_MODE
                       : OWNERSHIP_UNKNOWN;
}

int plan_decide_ownership(const PlanInput *in, const char *fs_type, Plan *p, Failure *f) {
        const FileSystem *fs = fs_type ? settings_file_system(in->settings, fs_type) : NULL;

        p->ownership_reason = find_reason(in, fs_type);
        p->readers = p->read_only || has_readers_only(in);
        p->ownership = p->ownership_reason == OWNERSHIP_POLICY_MOUNT ? OWNERSHIP_OPTION
                       : p->ownership_reason != OWNERSHIP_UNKNOWN    ? OWNERSHIP_NONE
                       : p->read_only                                ? OWNERSHIP_MAP
                                                                     : OWNERSHIP_WALK;
        if (p->ownership == OWNERSHIP_MAP)
                p->ownership_reason = OWNERSHIP_READ_ONLY;
        p->fs_group = p->ownership == OWNERSHIP_NONE ? GID_NONE : in->request->fs_group;
        /* Whoever has mounted it has passed the option, or not. */
        if (p->ownership != OWNERSHIP_OPTION || in->mounted || !fs)
                return 0;
        return mount_options_add_group(&p->mount_options, fs, p->fs_group, f);
}

static int group_failure(const char *volume, const Plan *p, Failure *f) {
        _cleanup_free_ char *who = plan_describe_conflict(&p->conflicts[0], volume), *more = NULL, *wanted = NULL;

        more = p->n_conflicts > 1 ? strdup_printf(", and %zu more", p->n_conflicts - 1) : strdup("");
        wanted = p->fs_group == GID_NONE
                         ? strdup("without a group, but is for one")
                         : strdup_printf("for group %" PRIu32 ", but is for another one", p->fs_group);
        if (!who || !more || !wanted)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_GROUP_CONFLICT,
                "Volume %s is wanted %s, %s%s: its files can't be both. Unmount it there first, or ask for the same group.",
                volume, wanted, who, more);
}

static int add_holder(Plan *p, const Volume *v, const Holder *h) {
        return plan_add_conflict(p, v->id, h->name, h->target, v->context, h->since_usec);
}

/* Its options are the superblock's, which has one group, or none. */
static bool option_conflicts(const Plan *p, const Holder *h) {
        return p->ownership == OWNERSHIP_OPTION && (h->fs_group != p->fs_group || holder_is_mapped(h));
}

int plan_find_share(const PlanInput *in, const char *fs_type, const Volume *own, Plan *p, Failure *f) {
        const FileSystem *fs = fs_type ? settings_file_system(in->settings, fs_type) : NULL;
        bool gives_group = p->ownership == OWNERSHIP_WALK || p->ownership == OWNERSHIP_MAP,
             may_be_mapped = gives_group && !in->request->user_namespace;
        const Holder *h, *mapped = NULL, *other = NULL;

        if (!own)
                return 0;
        LL_FOREACH (own->holders, h) {
                if (streq(h->target, in->request->target))
                        continue;
                if (option_conflicts(p, h)) {
                        int r = add_holder(p, own, h);

                        return r < 0 ? r : group_failure(own->id, p, f);
                }
                if (h->state != HOLDER_MOUNTED)
                        continue;
                if (!holder_is_mapped(h)) {
                        p->share = h;
                        return 0;
                }
                if (may_be_mapped && h->fs_group == p->fs_group)
                        mapped = h;
                other = h;
        }
        p->share = mapped;
        /* A disk can be mounted once more, as it is. */
        if (mapped || !other || !fs || fs->source == SOURCE_BLOCK || in->mounted)
                return 0;
        int r = add_holder(p, own, other);
        return r < 0 ? r : group_failure(own->id, p, f);
}

/* Nobody's files are taken away: neither a holder's of the volume, nor of another one on the same file system. */
static bool relies_on_group(const Holder *h, const char *target, gid_t gid) {
        return !streq(h->target, target) && h->fs_group != GID_NONE && h->disk_gid != gid;
}

/* Whether a holder's directory of a file system has files in common with the wanted one, of which NULL says that it
 * isn't known yet. */
static bool roots_overlap(const char *a, const char *b) {
        if (!a || !b)
                return !a || streq(a, "/");
        return streq(a, b) || streq(a, "/") || streq(b, "/") || path_is_beneath(a, b) || path_is_beneath(b, a);
}

int plan_check_group(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                     const char *root, gid_t gid, Plan *p, Failure *f) {
        const Volume *own = volumes_find(volumes, volume);
        const Holder *h;
        int r = 0;

        if (own)
                LL_FOREACH (own->holders, h)
                        if (r >= 0 && relies_on_group(h, target, gid))
                                r = add_holder(p, own, h);
        for (size_t i = 0; r >= 0 && i < observed->n_mounts; i++) {
                Volume *v = NULL;

                h = volumes_find_target(volumes, observed->mounts[i].target, &v);
                if (h && v != own && relies_on_group(h, target, gid) && roots_overlap(observed->mounts[i].root, root))
                        r = add_holder(p, v, h);
        }
        return r < 0 || p->n_conflicts == 0 ? r : group_failure(volume, p, f);
}

static int add_reliance(const Volume *v, const Holder *h, const char *volume, const char *root, Reliance **list,
                        size_t *n) {
        const Conflict c = { v->id, h->name, h->target, v->context, h->since_usec };
        Reliance one = { .gid = h->disk_gid };
        Reliance *grown;

        grown = reallocarray(*list, *n + 1, sizeof(Reliance));
        if (!grown)
                return -ENOMEM;
        *list = grown;
        one.who = plan_describe_conflict(&c, volume);
        one.root = root ? strdup(root) : NULL;
        grown[(*n)++] = one;
        return one.who && (!root || one.root) ? 0 : -ENOMEM;
}

static int find_reliances(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                          Reliance **list, size_t *n) {
        const Volume *own = volumes_find(volumes, volume);
        const Holder *h;
        int r;

        if (own)
                LL_FOREACH (own->holders, h) {
                        if (!relies_on_group(h, target, GID_NONE))
                                continue;
                        r = add_reliance(own, h, volume, NULL, list, n);
                        if (r < 0)
                                return r;
                }
        for (size_t i = 0; i < observed->n_mounts; i++) {
                Volume *v = NULL;

                h = volumes_find_target(volumes, observed->mounts[i].target, &v);
                if (!h || v == own || !relies_on_group(h, target, GID_NONE))
                        continue;
                r = add_reliance(v, h, volume, observed->mounts[i].root, list, n);
                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_find_reliances(const Volumes *volumes, const char *volume, const char *target, const Observed *observed,
                        Reliance **ret, size_t *ret_n) {
        Reliance *list = NULL;
        size_t n = 0;
        int r;

        r = find_reliances(volumes, volume, target, observed, &list, &n);
        if (r < 0) {
                reliances_free(list, n);
                return r;
        }
        *ret = list;
        *ret_n = n;
        return 0;
}

/* Through which mount the files can be reached: one that shows groups as they are, or shows the wanted one. */
static int find_mount(const Volume *v, gid_t gid, Plan *p, Failure *f) {
        const Holder *h, *reader = NULL, *mapped = NULL, *other = NULL;

        LL_FOREACH (v->holders, h)
                if (h->state != HOLDER_MOUNTED)
                        continue;
                else if (h->read_only)
                        reader = h;
                else if (!holder_is_mapped(h))
                        p->share = h;
                else if (h->fs_group == gid)
                        mapped = h;
                else
                        other = h;
        if (p->share || mapped) {
                p->share = p->share ? p->share : mapped;
                return 0;
        }
        if (other) {
                int r = add_holder(p, v, other);

                return r < 0 ? r : group_failure(v->id, p, f);
        }
        if (reader)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "Volume %s can't be given to a group: it is mounted read-only only. Unmount it first, or mount it read-write, too.",
                        v->id);
        return v->holders ? failure_set(f, FAILURE_BUSY, "Volume %s is being mounted or unmounted: try again.", v->id)
                          : 0;
}

int plan_ownership(const ChangeInput *in, gid_t gid, bool readers, Plan *ret, Failure *f) {
        const Volume *v = in->volume;
        _cleanup_(plan_done) Plan p = { .strategy = STRATEGY_NONE,
                                        .runtime_flag = "",
                                        .reason = REASON_REQUESTED,
                                        .fs_group = gid,
                                        .readers = readers,
                                        .ownership = OWNERSHIP_WALK,
                                        .ownership_reason = OWNERSHIP_REQUESTED };
        int r;

        if (streq(v->volume_type, "hostPath"))
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "Volume %s can't be given to a group: a hostPath is the host's own.", v->id);
        r = find_mount(v, gid, &p, f);
        if (r == 0 && !p.share) {
                r = plan_check_mountable(in->settings, v, f);
                if (r == 0)
                        r = plan_mount_options(in->settings, v->fs_type, STRATEGY_NONE, v->mount_options,
                                               &p.mount_options, f);
        }
        if (r < 0 || (r > 0 && r != FAILURE_GROUP_CONFLICT))
                return r;

        p.context = strdup("");
        p.text = strdup(ownership_reason_text(OWNERSHIP_REQUESTED));
        if (!p.context || !p.text)
                return -ENOMEM;
        plan_estimate(v, &p);
        *ret = p;
        p = (Plan){ 0 };
        return r;
}

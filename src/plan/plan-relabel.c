/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "model/context.h"
#include "plan/plan-internal.h"

static const Node node_unseen = { .selinux = true };
static const Observed nothing_observed = { 0 };

static int check_managed(const PlanInput *in, Failure *f) {
        Plan p = { 0 };
        const char *why;

        if (!plan_decide_unmanaged(in, &p))
                return 0;
        why = p.reason == REASON_SELINUX_DISABLED ? "SELinux is off on this node, and files can't be labeled."
              : streq(in->request->volume_type, "hostPath") ? "A hostPath is the host's own, and is never relabeled."
              : p.reason == REASON_TYPE_NOT_MANAGED
                      ? "Labels of its volume type are never managed; an administrator can set Managed=always for the type or the driver."
                      : "Several pods may use it, also on other nodes, and they would lose its files; an administrator can set Managed=always for the type or the driver.";
        return failure_set(f, FAILURE_NOT_SUPPORTED, "Volume %s can't be relabeled: %s", in->request->volume, why);
}

static int find_context(const ChangeInput *in, char **ret, Failure *f) {
        const char *wanted = isempty(in->context) ? in->volume->context : in->context;
        _cleanup_free_ char *context = NULL, *level = NULL;
        int r;

        if (isempty(wanted))
                return failure_set(f, FAILURE_INVALID_CONTEXT,
                                   "It is not known which context volume %s was used with: name the one wanted.",
                                   in->volume->id);
        r = context_canonicalize(wanted, &context, f);
        if (r == 0)
                r = plan_check_label_type(in->settings, context, f);
        if (r != 0)
                return r;
        level = context_part(context, CONTEXT_LEVEL);
        if (!level)
                return -ENOMEM;
        if (isempty(level) && in->node && in->node->mls)
                return failure_set(
                        f, FAILURE_LEVEL_REQUIRED,
                        "Context %s has no level: add one, for example s0:c10,c20. Categories are never invented.",
                        context);
        *ret = TAKE_PTR(context);
        return 0;
}

static bool is_context_mounted(const PlanInput *in, const Volume *v) {
        if (v->holders && v->strategy == STRATEGY_CONTEXT_MOUNT)
                return true;
        for (size_t i = 0; i < in->observed->n_mounts; i++)
                if (!isempty(in->observed->mounts[i].context))
                        return true;
        return false;
}

static int context_mounted_failure(const Volume *v, const Plan *p, Failure *f) {
        const Conflict *c = &p->conflicts[0];
        _cleanup_free_ char *who = plan_describe_conflict(c, v->id);

        if (!who)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_NOT_SUPPORTED,
                "Volume %s can't be relabeled: it is mounted with context %s, which all files show instead of their labels, and is %s. Unmount it first; to use it with another context MountVolume with policy OnVolumeMount needs no relabel.",
                v->id, c->context, who);
}

/* If what it was of can't be said in full, other volumes on the same disk could be meant. */
int plan_check_mountable(const Settings *settings, const Volume *v, Failure *f) {
        const FileSystem *fs = settings_file_system(settings, v->fs_type);
        const char *why = NULL;

        if (isempty(v->source))
                why = "its source is not known";
        else if (!v->mounted_here)
                why = "somebody else mounted it the last time, so that it is not known which part of its source it is";
        else if (!fs || fs->source == SOURCE_NONE)
                why = "its file system is there only while it is mounted";
        return why ? failure_set(
                             f, FAILURE_NOT_SUPPORTED,
                             "The files of volume %s can't be reached: it is not mounted, and %s. Mount it first.",
                             v->id, why)
                   : 0;
}

/* Through which mount the files can be reached. */
static int find_mount(const PlanInput *in, const Volume *v, const Holder **ret, Failure *f) {
        const Holder *h, *reader = NULL, *mount = NULL;

        LL_FOREACH (v->holders, h)
                if (h->state == HOLDER_MOUNTED && !h->read_only) {
                        mount = h;
                        break;
                } else if (h->state == HOLDER_MOUNTED)
                        reader = h;
        if (reader && !mount)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "Volume %s can't be relabeled: it is mounted read-only only. Unmount it first, or mount it read-write, too.",
                        v->id);
        if (v->holders && !mount)
                return failure_set(f, FAILURE_BUSY, "Volume %s is being mounted or unmounted: try again.", v->id);
        *ret = mount;
        return mount ? 0 : plan_check_mountable(in->settings, v, f);
}

static int check_conflicts(const PlanInput *in, const Volume *v, Plan *p, Failure *f) {
        int r;

        r = plan_find_conflicts(in, v, p);
        if (r < 0 || p->n_conflicts == 0)
                return r;
        return is_context_mounted(in, v) ? context_mounted_failure(v, p, f) : plan_conflict_failure(in, p, f);
}

int plan_relabel(const ChangeInput *in, Plan *ret, Failure *f) {
        const Volume *v = in->volume;
        _cleanup_(plan_done) Plan p = { .strategy = STRATEGY_RELABEL,
                                        .runtime_flag = "",
                                        .reason = REASON_REQUESTED,
                                        .relabel_here = true,
                                        .fs_group = GID_NONE };
        /* No target: whoever has the volume is somebody else. */
        const Request q = { .volume = v->id,
                            .target = (char *) "",
                            .driver = v->driver,
                            .volume_type = v->volume_type,
                            .access_mode = v->access_mode,
                            .selinux_mount_supported = -1,
                            .fs_group = GID_NONE };
        const PlanInput plan_input = { .node = in->node ? in->node : &node_unseen,
                                       .settings = in->settings,
                                       .request = &q,
                                       .volumes = in->volumes,
                                       .observed = in->observed ? in->observed : &nothing_observed };
        int r;

        r = check_managed(&plan_input, f);
        if (r == 0)
                r = find_context(in, &p.context, f);
        if (r == 0)
                r = check_conflicts(&plan_input, v, &p, f);
        if (r == 0)
                r = find_mount(&plan_input, v, &p.share, f);
        if (r == 0 && !p.share)
                r = plan_mount_options(in->settings, v->fs_type, STRATEGY_RELABEL, v->mount_options, &p.mount_options,
                                       f);
        if (r < 0 || (r > 0 && r != FAILURE_CONTEXT_CONFLICT))
                return r;

        p.change = plan_change_of_others(&plan_input, v);
        plan_estimate(v, &p);
        p.text = strdup(plan_reason_text(p.reason));
        if (!p.text)
                return -ENOMEM;
        *ret = p;
        p = (Plan){ 0 };
        return r;
}

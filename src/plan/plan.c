/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "model/context.h"
#include "plan/plan-conflict.h"
#include "plan/plan-group.h"
#include "plan/plan-refusal.h"
#include "plan/plan-source.h"
#include "plan/plan.h"

/* Sets p->context to the request's context, complete and canonical; "" if it has no level and the policy has
 * levels. */
static int decide_context(const PlanInput *in, Plan *p, Failure *f) {
        const Request *q = in->request;
        _cleanup_free_ char *context = NULL, *level = NULL;
        int r;

        assert(in->node->selinux); /* without SELinux no policy has a context */

        if (q->context)
                r = free_and_strdup(&context, q->context);
        else if (!q->level && in->node->mls)
                return free_and_strdup(&p->context, "");
        else
                r = plan_complete_context(in->node, q->user, q->level, &context, f);
        if (r != 0)
                return r;
        r = plan_check_label_type(in->settings, context, f);
        if (r != 0)
                return r;
        level = context_part(context, CONTEXT_LEVEL);
        if (!level)
                return -ENOMEM;
        return free_and_strdup(&p->context, isempty(level) && in->node->mls ? "" : context);
}

static Traits find_traits(const PlanInput *in) {
        const Request *q = in->request;

        return plan_find_traits(in->settings, q->driver, q->volume_type, q->access_mode, q->selinux_mount_supported);
}

/* Returns the file system that the worker found, or else the requested one; NULL if neither is known. */
static const FileSystem *find_file_system(const PlanInput *in) {
        const char *type = in->observed->fs_type ? in->observed->fs_type : in->request->fs_type;

        return type ? settings_file_system(in->settings, type) : NULL;
}

static int set_strategy(Plan *p, Strategy strategy, Reason reason) {
        p->strategy = strategy;
        p->reason = reason;
        return 0;
}

/* Decides for a mount without a context: relabel if possible, for the given reason; KEP-1710, notes 1, 2, 4
 * and 5. */
static int decide_plain(const PlanInput *in, Plan *p, Reason reason) {
        const FileSystem *fs = find_file_system(in);
        bool seclabel = in->seclabel >= 0 ? in->seclabel : fs && fs->labels;

        if (!seclabel)
                return set_strategy(p, STRATEGY_NONE, REASON_NO_SECLABEL);
        if (p->read_only)
                return set_strategy(p, STRATEGY_NONE, REASON_READ_ONLY);
        if (in->request->relabel_by == RELABEL_BY_NONE)
                return set_strategy(p, STRATEGY_NONE, REASON_NOT_RELABELED);
        return set_strategy(p, STRATEGY_RELABEL, reason);
}

/* Rules 1 to 7 of docs/plan.md; the first match wins. */
static int decide_strategy(const PlanInput *in, Plan *p, Failure *f) {
        const Request *q = in->request;
        int policy = q->policy >= 0 ? q->policy : (int) in->settings->default_policy, r;
        Traits t = find_traits(in);

        if (!in->node->selinux)
                return set_strategy(p, STRATEGY_NONE, REASON_SELINUX_DISABLED);
        if (!t.managed)
                return set_strategy(p, STRATEGY_NONE, t.why_not);
        r = decide_context(in, p, f);
        if (r != 0)
                return r;
        if (!in->settings->gate_relabel_policy)
                return decide_plain(in, p, REASON_GATE_DISABLED);
        if (policy == RELABEL_ALWAYS)
                return decide_plain(in, p, REASON_POLICY_ALWAYS);
        if (isempty(p->context)) {
                /* A privileged pod has no level and relies on no label. */
                if (q->relabel_by == RELABEL_BY_NONE)
                        return decide_plain(in, p, REASON_NOT_RELABELED);
                return failure_set(
                        f, FAILURE_LEVEL_REQUIRED,
                        "Policy OnVolumeMount needs the level: pass \"SELinuxLevel\", for example s0:c10,c20, or \"RelabelBy\"=none if no labels matter. Levels are not generated.");
        }
        if (!t.supports_mount)
                return decide_plain(in, p, REASON_DRIVER_UNSUPPORTED);
        if (!in->settings->gate_mount && q->access_mode != ACCESS_READ_WRITE_ONCE_POD)
                return decide_plain(in, p, REASON_ACCESS_MODE_UNSUPPORTED);
        return set_strategy(p, STRATEGY_CONTEXT_MOUNT, REASON_CONTEXT_MOUNT);
}

/* Decides for a mount that another program made, with or without a context. */
static int decide_adoption(const PlanInput *in, Plan *p, Failure *f) {
        const char *mounted = in->mounted->context;
        int r;

        /* With SELinux off, the kernel shows the option, but it has no effect. */
        if (isempty(mounted) || !in->node->selinux) {
                r = decide_strategy(in, p, f);
                if (r != 0 || p->strategy != STRATEGY_CONTEXT_MOUNT)
                        return r;
                return failure_set(
                        f, FAILURE_CONTEXT_DROPPED,
                        "Volume %s should be mounted with context %s, but what is mounted at the target has none: the driver, or a libmount that can't see SELinux, dropped the option.",
                        in->request->volume, p->context);
        }
        /* The context of the mount counts, and has to equal the requested one. */
        r = decide_context(in, p, f);
        if (r != 0)
                return r;
        if (!isempty(p->context) && !streq(p->context, mounted))
                return failure_set(
                        f, FAILURE_LABEL_MISMATCH,
                        "Volume %s is mounted at the target with context %s, not with %s: unmount it and mount it again.",
                        in->request->volume, mounted, p->context);
        r = free_and_strdup(&p->context, mounted);
        if (r < 0)
                return r;
        return set_strategy(p, STRATEGY_CONTEXT_MOUNT, REASON_CONTEXT_MOUNT);
}

static MarkChange find_change(const PlanInput *in, const Others *others, const Plan *p) {
        MarkChange change;

        if (p->read_only || p->relabel_here)
                change = MARK_KEEP;
        else if (p->strategy == STRATEGY_CONTEXT_MOUNT)
                change = MARK_TAINT;
        else if (!in->node->selinux && find_traits(in).managed)
                change = MARK_TAINT; /* without SELinux a new file has no label */
        else
                change = MARK_RESET_LABELS;
        /* Users of a hidden mount can change labels like a runtime. */
        if (in->observed->hidden && p->strategy != STRATEGY_CONTEXT_MOUNT)
                change = mark_change_max(change, MARK_RESET_LABELS);
        return mark_change_max(change, plan_change_of_others(others));
}

/* Refuses a superblock with a mount that the worker can't see, unless selvol mounted the volume for the same
 * use before: then a container with its own copy of the host's mounts may keep it mounted. */
static int check_hidden(const PlanInput *in, const Others *others, const Plan *p, Failure *f) {
        _cleanup_free_ char *search = NULL;
        const Volume *own = others->own;
        bool needs_group = p->ownership == OWNERSHIP_WALK || p->ownership == OWNERSHIP_MAP;

        if (!in->observed->hidden)
                return 0;
        if (!own || !own->mounted_this_boot ||
            (needs_group && (own->mark.ownership_state == FILES_UNKNOWN || own->mark.gid != p->fs_group)))
                return plan_hidden_failure(in->request->volume, own, in->request->source, in->observed, f);
        if (own->strategy == p->strategy && streq(own->context, p->context))
                return 0;
        search = plan_describe_search(own, in->request->source, in->observed);
        if (!search)
                return -ENOMEM;
        return plan_hidden_conflict(own, p, search, f);
}

/* Decides everything that depends on other users of the volume. */
static int decide_among_others(const PlanInput *in, const Others *others, const FileSystem *fs, Plan *p, Failure *f) {
        int r;

        r = plan_find_conflicts(others, p);
        if (r < 0)
                return r;
        if (p->n_conflicts > 0)
                return plan_conflict_failure(in->request->volume, p, in->mounted ? NULL : in->request, f);
        r = check_hidden(in, others, p, f);
        if (r != 0)
                return r;

        r = plan_find_share(others, fs, in->request, p, f);
        if (r != 0)
                return r;
        /* An adopted mount has its options already. */
        if (!in->mounted) {
                r = plan_check_shared_options(others, in->request, p->share, f);
                if (r != 0)
                        return r;
        }
        if (p->share && p->strategy == STRATEGY_CONTEXT_MOUNT)
                p->reason = REASON_CONTEXT_SHARED;
        p->change = find_change(in, others, p);
        plan_estimate(others->own, p);
        return 0;
}

static bool others_hold_device(const Volumes *volumes, const char *own, const char *device) {
        Volume *v, *next;
        Holder *h;

        HASH_ITER (hh, volumes->table, v, next)
                LL_FOREACH (v->holders, h)
                        if (streq(h->device, device) && !streq(v->id, own))
                                return true;
        return false;
}

bool plan_needs_mounts(const Plan *p, const Volumes *volumes, const char *volume) {
        return !p->share || isempty(p->share->device) || p->strategy == STRATEGY_RELABEL || p->change == MARK_KEEP ||
               (p->ownership != OWNERSHIP_NONE && p->ownership != OWNERSHIP_OPTION) ||
               others_hold_device(volumes, volume, p->share->device);
}

/* Takes over the options of the mount that is replaced: it gets none that it did not have, and loses none. An
 * option that is not allowed is refused here, before anything is unmounted. */
static int keep_options(const PlanInput *in, const FileSystem *fs, Plan *p, Failure *f) {
        _cleanup_(mount_options_done) MountOptions o = { 0 };
        _cleanup_failure_ Failure why = { 0 };
        int r;

        r = mount_options_parse(in->observed->replaced, &o, &why);
        if (r == 0 && fs)
                r = mount_options_check(o.options, in->settings, fs, &why);
        if (r > 0)
                return failure_set(f, why.kind,
                                   "The mount at the target would lose an option, so it is not replaced. %s",
                                   why.message);
        if (r < 0)
                return r;
        p->read_only = p->read_only || o.read_only;
        p->kept_options = TAKE_PTR(o.options);
        return 0;
}

/* Whether selvol itself may change files. */
static bool changes_files(const Plan *p) {
        return p->relabel_here || p->ownership == OWNERSHIP_WALK || p->ownership == OWNERSHIP_MAP;
}

int plan_make(const PlanInput *in, Plan *ret, Failure *f) {
        assert(in && in->node && in->settings && in->request && in->volumes && in->observed);

        const Request *q = in->request;
        const FileSystem *fs = find_file_system(in);
        Others others = { .volumes = in->volumes,
                          .own = volumes_find(in->volumes, q->volume),
                          .observed = in->observed,
                          .target = q->target,
                          .adopting = in->mounted,
                          .claimed = in->claimed };
        _cleanup_(plan_done) Plan p = { .runtime_flag = "", .fs_group = GID_NONE };
        int r;

        p.read_only = in->mounted ? in->mounted->read_only : q->read_only || in->observed->device_read_only;
        p.context = strdup("");
        if (!p.context)
                return -ENOMEM;
        r = plan_check_source(&others, q, in->settings, &p.renewed, f);
        if (r != 0)
                return r;
        r = keep_options(in, fs, &p, f);
        if (r != 0)
                return r;
        /* The record of another file system says nothing. */
        if (p.renewed)
                others.own = NULL;
        r = in->mounted ? decide_adoption(in, &p, f) : decide_strategy(in, &p, f);
        if (r != 0)
                return r;
        plan_decide_group(in->settings, q, fs, &p);
        r = plan_mount_options(in->settings, fs ? fs->name : NULL, p.strategy, q->mount_options, &p.mount_options, f);
        if (r != 0)
                return r;
        r = mount_options_keep(&p.mount_options, p.kept_options);
        if (r != 0)
                return r;
        /* The program that made an adopted mount has chosen its options already. */
        if (p.ownership == OWNERSHIP_OPTION && !in->mounted && fs) {
                r = mount_options_add_group(&p.mount_options, fs, p.fs_group, f);
                if (r != 0)
                        return r;
        }
        if (p.strategy == STRATEGY_NONE)
                p.context[0] = '\0';
        p.relabel_here = p.strategy == STRATEGY_RELABEL && q->relabel_by == RELABEL_BY_SERVICE && !isempty(p.context);
        p.runtime_flag = runtime_flag(p.strategy, p.relabel_here);
        if (in->mounted && !fs && changes_files(&p))
                return fs_type_refuse(strempty(in->observed->fs_type), f);

        r = decide_among_others(in, &others, fs, &p, f);
        if (r < 0)
                return r;
        p.text = plan_describe(&p, q->relabel_by);
        if (!p.text)
                return -ENOMEM;

        *ret = TAKE_STRUCT(p);
        return r;
}

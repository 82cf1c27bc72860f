/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/time-util.h"
#include "model/context.h"
#include "plan/plan-internal.h"

/* What a runtime's relabel was measured to do at least on two CPUs, all files to be written, warm cache. */
enum { RELABEL_ENTRIES_PER_SEC = 150000 };

static const char *const reason_text[REASONS] = {
        [REASON_SELINUX_DISABLED] = "SELinux is off on this node: the volume is mounted without a context.",
        [REASON_TYPE_NOT_MANAGED] = "Labels of this volume type are never managed.",
        [REASON_ACCESS_MODE_NOT_MANAGED] =
                "Labels of this volume type are not managed when several pods may use the volume.",
        [REASON_CONTEXT_MOUNT] = "The volume is mounted with the context: no file is touched.",
        [REASON_CONTEXT_SHARED] = "The volume is mounted with this context already and is shared.",
        [REASON_POLICY_ALWAYS] = "Policy Always: the files are relabeled.",
        [REASON_GATE_DISABLED] = "The gate SELinuxRelabelPolicy is off: the files are relabeled.",
        [REASON_ACCESS_MODE_UNSUPPORTED] =
                "The gate SELinuxMount is off and the volume is not ReadWriteOncePod: the files are relabeled.",
        [REASON_DRIVER_UNSUPPORTED] = "The driver does not declare SELinuxMountSupported: the files are relabeled.",
        [REASON_NO_SECLABEL] = "The file system keeps no labels: there is nothing to relabel.",
        [REASON_READ_ONLY] = "The volume is read-only: it can't be relabeled.",
        [REASON_NOT_RELABELED] = "RelabelBy is none: the files keep their labels.",
        [REASON_REQUESTED] = "The files are relabeled, as asked for.",
};

const char *plan_reason_text(Reason reason) {
        return reason_text[reason];
}

static void conflict_done(Conflict *c) {
        free(c->volume);
        free(c->holder);
        free(c->target);
        free(c->context);
}

void plan_drop_conflict(Plan *p, size_t i) {
        conflict_done(&p->conflicts[i]);
        p->conflicts[i] = p->conflicts[--p->n_conflicts];
}

void plan_done(Plan *p) {
        free(p->context);
        free(p->text);
        strv_free(p->mount_options);
        for (size_t i = 0; i < p->n_conflicts; i++)
                conflict_done(&p->conflicts[i]);
        free(p->conflicts);
        *p = (Plan){ 0 };
}

int plan_check_label_type(const Settings *settings, const char *context, Failure *f) {
        _cleanup_free_ char *type = context_part(context, CONTEXT_TYPE);

        if (!type)
                return -ENOMEM;
        if (strv_contains(settings->label_types, type))
                return 0;
        return failure_set(
                f, FAILURE_TYPE_NOT_ALLOWED,
                "Type %s is not one that volumes may be labeled with; an administrator can add it to LabelTypes= of [Worker].",
                type);
}

int plan_wanted_context(const Node *node, const Settings *settings, const Request *q, char **ret, Failure *f) {
        _cleanup_free_ char *context = NULL, *level = NULL;
        int r;

        if (!node->selinux)
                context = strdup(""); /* there is no policy that could name one */
        else if (q->context)
                context = strdup(q->context);
        else if (!q->level && node->mls)
                context = strdup("");
        else if (!node->file_context)
                return failure_set(
                        f, FAILURE_INVALID_CONTEXT,
                        "The loaded policy names no context for container files (contexts/lxc_contexts): load a policy with container types, or pass a full SELinuxContext.");
        else {
                r = context_complete(node->file_context, q->user, q->level, &context, f);
                if (r != 0)
                        return r;
        }
        if (!context)
                return -ENOMEM;

        if (!isempty(context)) {
                r = plan_check_label_type(settings, context, f);
                if (r != 0)
                        return r;
                level = context_part(context, CONTEXT_LEVEL);
                if (!level)
                        return -ENOMEM;
                if (isempty(level) && node->mls) {
                        free(context);
                        context = strdup("");
                        if (!context)
                                return -ENOMEM;
                }
        }

        *ret = TAKE_PTR(context);
        return 0;
}

typedef struct Traits {
        Managed managed;
        bool supports_mount;
        bool declared; /* the driver itself, not the volume type, declares support */
} Traits;

/* The request knows best, then the driver's section, then the volume type's. */
static Traits find_traits(const PlanInput *in) {
        const Trait *type = settings_volume_type(in->settings, in->request->volume_type);
        const Trait *driver = in->request->driver ? settings_driver(in->settings, in->request->driver) : NULL;
        Traits t = { .managed = MANAGED_ALWAYS };
        int supported = in->request->selinux_mount_supported;

        if (supported < 0 && driver)
                supported = driver->selinux_mount_supported;
        t.declared = supported > 0;
        if (supported < 0 && type)
                supported = type->selinux_mount_supported;
        t.supports_mount = supported > 0;

        if (driver && driver->managed >= 0)
                t.managed = (Managed) driver->managed;
        else if (type && type->managed >= 0)
                t.managed = (Managed) type->managed;
        return t;
}

static bool access_mode_is_shared(AccessMode mode) {
        return mode == ACCESS_READ_ONLY_MANY || mode == ACCESS_READ_WRITE_MANY;
}

/* The file system as found, or else as asked for; NULL if neither. */
static const char *fs_type(const PlanInput *in) {
        return in->observed->fs_type ? in->observed->fs_type : in->request->fs_type;
}

static bool seclabel_expected(const PlanInput *in) {
        const char *type = fs_type(in);
        const FileSystem *fs = type ? settings_file_system(in->settings, type) : NULL;

        if (in->seclabel >= 0)
                return in->seclabel;
        return fs && fs->labels;
}

static void decide(Plan *p, Strategy strategy, Reason reason) {
        p->strategy = strategy;
        p->reason = reason;
}

/* Mounted without a context: relabeled if that is possible, for the reason given; KEP-1710, notes 1, 2, 4 and 5. */
static void decide_plain(const PlanInput *in, Plan *p, Reason reason) {
        if (!seclabel_expected(in))
                decide(p, STRATEGY_NONE, REASON_NO_SECLABEL);
        else if (p->read_only)
                decide(p, STRATEGY_NONE, REASON_READ_ONLY);
        else if (in->request->relabel_by == RELABEL_BY_NONE)
                decide(p, STRATEGY_NONE, REASON_NOT_RELABELED);
        else
                decide(p, STRATEGY_RELABEL, reason);
}

static int take_wanted_context(const PlanInput *in, Plan *p, Failure *f) {
        char *context = NULL;
        int r;

        r = plan_wanted_context(in->node, in->settings, in->request, &context, f);
        if (r != 0)
                return r;
        free(p->context);
        p->context = context;
        return 0;
}

static bool type_is_managed(const PlanInput *in, Reason *ret_why_not) {
        const Request *q = in->request;
        Traits t = find_traits(in);

        if (streq(q->volume_type, "hostPath") || (t.managed == MANAGED_NEVER && !t.declared))
                *ret_why_not = REASON_TYPE_NOT_MANAGED;
        else if (t.managed == MANAGED_BY_ACCESS_MODE && !t.declared && access_mode_is_shared(q->access_mode))
                *ret_why_not = REASON_ACCESS_MODE_NOT_MANAGED;
        else
                return true;
        return false;
}

bool plan_decide_unmanaged(const PlanInput *in, Plan *p) {
        Reason reason = REASON_SELINUX_DISABLED;

        if (in->node->selinux && type_is_managed(in, &reason))
                return false;
        decide(p, STRATEGY_NONE, reason);
        return true;
}

/* Rules 1 to 6; first match wins. */
static int decide_strategy(const PlanInput *in, Plan *p, Failure *f) {
        const Request *q = in->request;
        int policy = q->policy >= 0 ? q->policy : (int) in->settings->default_policy, r;

        if (plan_decide_unmanaged(in, p))
                return 0;
        r = take_wanted_context(in, p, f);
        if (r != 0)
                return r;

        if (!in->settings->gate_relabel_policy)
                decide_plain(in, p, REASON_GATE_DISABLED);
        else if (policy == RELABEL_ALWAYS)
                decide_plain(in, p, REASON_POLICY_ALWAYS);
        else if (isempty(p->context))
                return failure_set(
                        f, FAILURE_LEVEL_REQUIRED,
                        "Policy OnVolumeMount needs the pod's level: pass SELinuxLevel, for example s0:c10,c20, or a full SELinuxContext. Categories are never invented.");
        else if (!find_traits(in).supports_mount)
                decide_plain(in, p, REASON_DRIVER_UNSUPPORTED);
        else if (!in->settings->gate_mount && q->access_mode != ACCESS_READ_WRITE_ONCE_POD)
                decide_plain(in, p, REASON_ACCESS_MODE_UNSUPPORTED);
        else
                decide(p, STRATEGY_CONTEXT_MOUNT, REASON_CONTEXT_MOUNT);
        return 0;
}

/* Somebody else has mounted the volume: what is there decides, and has to be what was asked for. */
static int decide_adoption(const PlanInput *in, Plan *p, Failure *f) {
        const char *mounted = in->mounted->context;
        int r;

        if (isempty(mounted) || !in->node->selinux) {
                r = decide_strategy(in, p, f);
                if (r == 0 && p->strategy == STRATEGY_CONTEXT_MOUNT)
                        return failure_set(
                                f, FAILURE_CONTEXT_DROPPED,
                                "Volume %s should be mounted with context %s, but what is mounted at the target has none: the driver, or a libmount that can't see SELinux, dropped the option.",
                                in->request->volume, p->context);
                return r;
        }

        r = take_wanted_context(in, p, f);
        if (r != 0)
                return r;
        if (!isempty(p->context) && !streq(p->context, mounted))
                return failure_set(
                        f, FAILURE_LABEL_MISMATCH,
                        "Volume %s is mounted at the target with context %s, not with %s: unmount it and let it be mounted anew.",
                        in->request->volume, mounted, p->context);
        r = free_and_strdup(&p->context, mounted);
        if (r < 0)
                return r;
        decide(p, STRATEGY_CONTEXT_MOUNT, REASON_CONTEXT_MOUNT);
        return 0;
}

static int check_source(const PlanInput *in, const Volume *own, Failure *f) {
        const Request *q = in->request;
        const char *type = in->observed->fs_type;

        if (own && own->holders && q->source && !isempty(own->source) && !streq(own->source, q->source) &&
            (own->holders->next || !streq(own->holders->target, q->target))) {
                _cleanup_free_ char *escaped = string_escape(own->source, 200);

                if (!escaped)
                        return -ENOMEM;
                return failure_set(f, FAILURE_INCOMPATIBLE,
                                   "Volume %s is held with source %s: use that one, or another volume id.", own->id,
                                   escaped);
        }
        if (type && !settings_file_system(in->settings, type))
                return failure_set(
                        f, FAILURE_TYPE_NOT_ALLOWED,
                        "File system type %s is not allowed; an administrator can add a section [FileSystem %s].",
                        type, type);
        if (type && q->fs_type && !streq(type, q->fs_type))
                return failure_set(f, FAILURE_INCOMPATIBLE, "The source holds %s, but the request says %s.", type,
                                   q->fs_type);
        return 0;
}

int plan_mount_options(const Settings *settings, const char *fs_type, Strategy strategy, char *const *options,
                       char ***ret, Failure *f) {
        const FileSystem *fs = fs_type ? settings_file_system(settings, fs_type) : NULL;
        _cleanup_strv_ char **all = NULL;
        int r;

        r = strv_copy(options, &all);
        if (r == 0 && fs)
                r = mount_options_check(all, settings, fs, f);
        if (r != 0)
                return r;

        if (fs && strategy == STRATEGY_CONTEXT_MOUNT)
                STRV_FOREACH (option, fs->context_options) {
                        if (strv_contains(all, *option))
                                continue;
                        r = strv_extend(&all, *option);
                        if (r < 0)
                                return r;
                }
        *ret = TAKE_PTR(all);
        return 0;
}

void plan_estimate(const Volume *own, Plan *p) {
        if ((p->strategy != STRATEGY_RELABEL && p->ownership != OWNERSHIP_WALK) || !own)
                return;
        p->entries = own->inodes_used;
        p->usec = own->inodes_used * USEC_PER_SEC / RELABEL_ENTRIES_PER_SEC;
}

/* What somebody who has the volume already may do to labels that all files have got. A runtime may be relabeling
 * still, and to categories of its own. */
static MarkChange holder_change(const Holder *h) {
        if (h->read_only || h->relabeled_here)
                return MARK_KEEP; /* with the same context, or it would be a conflict */
        return h->strategy == STRATEGY_CONTEXT_MOUNT ? MARK_TAINT : MARK_RESET_LABELS;
}

static MarkChange stronger_change(MarkChange a, MarkChange b) {
        return a > b ? a : b;
}

MarkChange plan_change_of_others(const PlanInput *in, const Volume *own) {
        MarkChange change = MARK_KEEP;
        const Holder *h;

        if (own)
                LL_FOREACH (own->holders, h)
                        if (!streq(h->target, in->request->target))
                                change = stronger_change(change, holder_change(h));
        for (size_t i = 0; i < in->observed->n_mounts; i++) {
                const MountFact *m = &in->observed->mounts[i];

                if (streq(m->target, in->request->target))
                        continue;
                h = volumes_find_target(in->volumes, m->target, NULL);
                if (h)
                        change = stronger_change(change, holder_change(h));
                else if (!isempty(m->context) && !m->read_only)
                        change = stronger_change(change, MARK_TAINT);
        }
        return change;
}

static MarkChange find_change(const PlanInput *in, const Volume *own, const Plan *p) {
        MarkChange change;
        Reason ignored;

        if (p->read_only || p->relabel_here)
                change = MARK_KEEP;
        else if (p->strategy == STRATEGY_CONTEXT_MOUNT)
                change = MARK_TAINT;
        else /* without SELinux a new file has no label; but nothing is noted on disks that are none of ours */
                change = !in->node->selinux && type_is_managed(in, &ignored) ? MARK_TAINT : MARK_RESET_LABELS;
        return stronger_change(change, plan_change_of_others(in, own));
}

/* The reason, and who relabels where the caller had a wish. */
static int set_text(const PlanInput *in, Plan *p) {
        const char *who = "";

        if (p->strategy == STRATEGY_RELABEL && in->request->relabel_by == RELABEL_BY_SERVICE)
                who = p->relabel_here
                              ? " The service does so before it answers."
                              : " The runtime does so, with a context that it chooses: RelabelBy=service needs the level, too.";
        free(p->text);
        p->text = strdup_printf("%s%s", plan_reason_text(p->reason), who);
        return p->text ? 0 : -ENOMEM;
}

/* All but what depends on who else has the volume. */
static int decide_all(const PlanInput *in, const Volume *own, Plan *p, Failure *f) {
        int r;

        r = check_source(in, own, f);
        if (r == 0)
                r = in->mounted ? decide_adoption(in, p, f) : decide_strategy(in, p, f);
        if (r == 0)
                r = plan_mount_options(in->settings, fs_type(in), p->strategy, in->request->mount_options,
                                       &p->mount_options, f);
        if (r == 0)
                r = plan_decide_ownership(in, fs_type(in), p, f);
        if (r != 0)
                return r;
        if (p->strategy == STRATEGY_NONE) {
                r = free_and_strdup(&p->context, "");
                if (r < 0)
                        return r;
        }

        p->relabel_here = p->strategy == STRATEGY_RELABEL && in->request->relabel_by == RELABEL_BY_SERVICE &&
                          !isempty(p->context);
        p->runtime_flag = runtime_flag(p->strategy, p->relabel_here);
        return 0;
}

int plan_make(const PlanInput *in, Plan *ret, Failure *f) {
        _cleanup_(plan_done) Plan p = { .runtime_flag = "", .fs_group = GID_NONE };
        const Volume *own = volumes_find(in->volumes, in->request->volume);
        int r, k;

        p.read_only = in->mounted ? in->mounted->read_only : in->request->read_only || in->observed->device_read_only;
        p.context = strdup("");
        if (!p.context)
                return -ENOMEM;
        r = decide_all(in, own, &p, f);
        if (r == 0)
                r = plan_find_conflicts(in, own, &p);
        if (r == 0 && p.n_conflicts == 0)
                r = plan_find_share(in, fs_type(in), own, &p, f);
        if (r != 0 && r != FAILURE_GROUP_CONFLICT)
                return r;
        if (p.n_conflicts == 0) {
                if (p.share && p.strategy == STRATEGY_CONTEXT_MOUNT)
                        p.reason = REASON_CONTEXT_SHARED;
                p.change = find_change(in, own, &p);
                plan_estimate(own, &p);
        }
        k = set_text(in, &p);
        if (k == 0 && r == 0 && p.n_conflicts > 0)
                k = plan_conflict_failure(in, &p, f);
        if (k < 0)
                return k;

        *ret = p;
        p = (Plan){ 0 };
        return r != 0 ? r : k;
}

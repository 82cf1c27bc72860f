/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "basic/time-util.h"
#include "model/context.h"
#include "plan/plan-common.h"

/* The lowest rate that was measured for a runtime's relabel on two CPUs, with all files written and a warm
 * cache. */
enum { RELABEL_ENTRIES_PER_SEC = 150000 };

static const char *const reason_text[REASONS] = {
        [REASON_SELINUX_DISABLED] = "SELinux is off on this node: labels play no part.",
        [REASON_TYPE_NOT_MANAGED] = "Labels of this volume type are never managed.",
        [REASON_ACCESS_MODE_NOT_MANAGED] =
                "Labels of this volume type are not managed when several pods may use the volume.",
        [REASON_CONTEXT_MOUNT] = "A mount with the context is enough: no file has to be changed.",
        [REASON_CONTEXT_SHARED] = "The volume is mounted with this context already: that mount can be shared.",
        [REASON_POLICY_ALWAYS] = "The policy is Always: the labels have to be on disk.",
        [REASON_GATE_DISABLED] = "SELinuxRelabelPolicy=no is configured: the labels have to be on disk.",
        [REASON_ACCESS_MODE_UNSUPPORTED] =
                "SELinuxMount=no is configured, and the volume is not ReadWriteOncePod: the labels have to be on disk.",
        [REASON_DRIVER_UNSUPPORTED] =
                "The driver does not declare that it supports mounts with a context (SELinuxMountSupported=): the labels have to be on disk.",
        [REASON_NO_SECLABEL] = "The file system does not support labels: there is nothing to relabel.",
        [REASON_READ_ONLY] = "The volume is read-only: it can't be relabeled.",
        [REASON_NOT_RELABELED] = "\"RelabelBy\" is none: the files keep their labels.",
        [REASON_REQUESTED] = "The files are relabeled, as requested.",
};

const char *plan_reason_text(Reason reason) {
        assert(reason < REASONS);
        return reason_text[reason];
}

char *plan_describe(const Plan *p, RelabelBy wanted) {
        const char *who = "";

        if (p->relabel_here)
                who = " The service makes sure that they are before it answers.";
        else if (p->strategy == STRATEGY_RELABEL && wanted == RELABEL_BY_SERVICE)
                who = " Nothing is relabeled here: \"RelabelBy\"=service needs the level, too. The container runtime has to relabel all files: pass it the flag Z.";
        else if (p->strategy == STRATEGY_RELABEL)
                who = " Nothing is relabeled here. The container runtime has to relabel all files: pass it the flag Z.";
        return strdup_printf("%s%s", plan_reason_text(p->reason), who);
}

const char *plan_describe_avoidance(const Plan *p) {
        if (isempty(p->context) && (p->reason == REASON_POLICY_ALWAYS || p->reason == REASON_DRIVER_UNSUPPORTED))
                return " To avoid that, pass \"SELinuxLevel\".";
        if (p->reason == REASON_POLICY_ALWAYS)
                return " To avoid that, pass \"SELinuxRelabelPolicy\"=OnVolumeMount, and \"SELinuxMountSupported\"=yes if the volume is a file system of its own.";
        if (p->reason == REASON_DRIVER_UNSUPPORTED)
                return " To avoid that, pass \"SELinuxMountSupported\"=yes if the volume is a file system of its own.";
        return "";
}

static void conflict_done(Conflict *c) {
        free(c->volume);
        free(c->holder);
        free(c->target);
        free(c->context);
}

size_t conflict_count_bytes(const Conflict *c) {
        return strlen(c->volume) + strlen(c->holder) + strlen(c->target) + strlen(c->context);
}

void plan_drop_conflict(Plan *p, size_t i) {
        assert(i < p->n_conflicts);
        conflict_done(&p->conflicts[i]);
        p->conflicts[i] = p->conflicts[--p->n_conflicts];
}

void plan_done(Plan *p) {
        assert(p);

        free(p->context);
        free(p->text);
        strv_free(p->mount_options);
        strv_free(p->kept_options);
        for (size_t i = 0; i < p->n_conflicts; i++)
                conflict_done(&p->conflicts[i]);
        free(p->conflicts);
        *p = (Plan){ 0 };
}

Traits plan_find_traits(const Settings *settings, const char *driver, const char *volume_type, AccessMode mode,
                        int supported) {
        const Trait *d = driver ? settings_driver(settings, driver) : NULL,
                    *type = settings_volume_type(settings, volume_type);
        bool shared = mode == ACCESS_READ_ONLY_MANY || mode == ACCESS_READ_WRITE_MANY, declared;
        Managed managed = MANAGED_ALWAYS;

        if (supported < 0 && d)
                supported = d->selinux_mount_supported;
        declared = supported > 0; /* by the request or the driver, not by the volume type */
        if (supported < 0 && type)
                supported = type->selinux_mount_supported;

        if (d && d->managed >= 0)
                managed = (Managed) d->managed;
        else if (type && type->managed >= 0)
                managed = (Managed) type->managed;

        Traits t = { .managed = true, .supports_mount = supported > 0 };
        if (streq(volume_type, "hostPath") || (managed == MANAGED_NEVER && !declared)) {
                t.managed = false;
                t.why_not = REASON_TYPE_NOT_MANAGED;
        } else if (managed == MANAGED_BY_ACCESS_MODE && !declared && shared) {
                t.managed = false;
                t.why_not = REASON_ACCESS_MODE_NOT_MANAGED;
        }
        return t;
}

int plan_complete_context(const Node *node, const char *user, const char *level, char **ret, Failure *f) {
        if (!node->selinux)
                return failure_set(f, FAILURE_NOT_SUPPORTED, "SELinux is off on this node: there are no labels.");
        if (!node->file_context)
                return failure_set(
                        f, FAILURE_INVALID_CONTEXT,
                        "The loaded SELinux policy has no context for container files (contexts/lxc_contexts): load a policy with container types, or pass a full context.");
        return context_complete(node->file_context, user, level, ret, f);
}

int plan_check_label_type(const Settings *settings, const char *context, Failure *f) {
        _cleanup_free_ char *type = context_part(context, CONTEXT_TYPE), *allowed = NULL;

        if (!type)
                return -ENOMEM;
        if (strv_contains(settings->label_types, type))
                return 0;
        allowed = strv_join(settings->label_types, ", ");
        if (!allowed)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_TYPE_NOT_ALLOWED,
                "SELinux type %s is not allowed for volumes (%s). To allow it, add LabelTypes=%s under [Worker] " SETTINGS_REMEDY,
                type, isempty(allowed) ? "none is configured" : allowed, type);
}

int plan_mount_options(const Settings *settings, const char *fs_type, Strategy strategy, char *const *options,
                       char ***ret, Failure *f) {
        const FileSystem *fs = fs_type ? settings_file_system(settings, fs_type) : NULL;
        _cleanup_strv_ char **all = NULL;
        int r;

        r = strv_copy(options, &all);
        if (r < 0)
                return r;
        if (fs) {
                r = mount_options_check(all, settings, fs, f);
                if (r != 0)
                        return r;
        }
        if (fs && strategy == STRATEGY_CONTEXT_MOUNT) {
                r = mount_options_add(&all, fs->context_options);
                if (r < 0)
                        return r;
        }
        *ret = TAKE_PTR(all);
        return 0;
}

MarkChange mark_change_max(MarkChange a, MarkChange b) {
        return a > b ? a : b;
}

/* How a holder can weaken a mark after all files got labels. A runtime may still be relabeling, to categories
 * of its own choice. */
static MarkChange holder_change(const Holder *h) {
        if (h->read_only || h->relabeled_here)
                return MARK_KEEP; /* the context is the same, or there would be a conflict */
        return h->strategy == STRATEGY_CONTEXT_MOUNT ? MARK_TAINT : MARK_RESET_LABELS;
}

/* How processes can weaken a mark through a mount without a holder. */
static MarkChange strangers_change(const MountFact *m, bool staged) {
        if (m->read_only)
                return MARK_KEEP;
        if (!isempty(m->context))
                return MARK_TAINT;
        return staged ? MARK_KEEP : MARK_RESET_LABELS;
}

MarkChange plan_change_of_others(const Others *others) {
        const Observed *observed = others->observed;
        bool staged = others->adopting || (others->own && volume_has_adopted(others->own));
        MarkChange change = MARK_KEEP;
        const Holder *h;

        /* A driver has a staging mount of the volume besides the mount that it made for a holder. */
        for (size_t i = 0; i < observed->n_mounts; i++) {
                h = volumes_find_target(others->volumes, observed->mounts[i].target, NULL);
                staged = staged || (h && h->adopted);
        }
        if (others->own)
                LL_FOREACH (others->own->holders, h)
                        if (!streq(h->target, others->target))
                                change = mark_change_max(change, holder_change(h));
        for (size_t i = 0; i < observed->n_mounts; i++) {
                const MountFact *m = &observed->mounts[i];

                if (streq(m->target, others->target))
                        continue;
                h = volumes_find_target(others->volumes, m->target, NULL);
                change = mark_change_max(change, h ? holder_change(h) : strangers_change(m, staged));
        }
        return change;
}

char *plan_describe_search(const Volume *own, const char *source, const Observed *observed) {
        _cleanup_free_ char *word = NULL;

        if (own)
                return strdup("'selvolctl doctor', run by root, names the process");
        if (observed->device)
                return strdup_printf("grep -l '%s' /proc/[0-9]*/mountinfo", observed->device);
        word = shell_quote(source);
        return word ? strdup_printf("grep -l LOOP-DEVICE /proc/[0-9]*/mountinfo, with that of losetup -j %s", word)
                    : NULL;
}

int plan_hidden_failure(const char *volume, const Volume *own, const char *source, const Observed *observed,
                        Failure *f) {
        _cleanup_free_ char *search = plan_describe_search(own, source, observed), *what = NULL, *remedy = NULL;

        if (!search)
                return -ENOMEM;
        what = strdup_printf("Volume %s has a device that is in use where selvol can't see it.", volume);
        remedy = strdup_printf(
                "End its use by mkfs or fsck (fuser -v DEVICE), RAID, device mapper or swap (lsblk), or in another mount namespace (%s).",
                search);
        return failure_set_lines(f, FAILURE_BUSY, what, remedy);
}

void plan_estimate(const Volume *own, Plan *p) {
        if (!own || (p->strategy != STRATEGY_RELABEL && p->ownership != OWNERSHIP_WALK))
                return;
        p->entries = own->inodes_used;
        p->usec = own->inodes_used * USEC_PER_SEC / RELABEL_ENTRIES_PER_SEC;
}

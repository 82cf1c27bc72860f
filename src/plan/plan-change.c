/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "model/context.h"
#include "plan/plan-change.h"
#include "plan/plan-conflict.h"
#include "plan/plan-group.h"
#include "plan/plan-refusal.h"

/* Plans to mount a volume without holders as it was mounted the last time. Fails if that mount is not known
 * in full, because the same disk may have other volumes. */
static int plan_last_mount(const ChangeInput *in, Strategy strategy, Plan *p, Failure *f) {
        const Volume *v = in->volume;
        const FileSystem *fs = settings_file_system(in->settings, v->mount_type);
        const char *why = NULL;

        if (in->observed && in->observed->hidden)
                return plan_hidden_failure(v->id, v, v->source, in->observed, f);
        if (isempty(v->source))
                why = "its source is not known";
        else if (!v->mounted_here)
                why = "somebody else mounted it the last time, so that it is not known which part of its source it is";
        else if (!fs || fs->source == SOURCE_NONE)
                why = "its file system exists only while it is mounted";
        else if (!identity_is_known(&v->identity))
                why = "its file system has no UUID by which it could be known again";
        if (why)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "Volume %s is not mounted, and %s, so its files can't be reached. Mount it first.",
                                   v->id, why);
        return plan_mount_options(in->settings, v->mount_type, strategy, v->mount_options, &p->mount_options, f);
}

static int busy_failure(const Volume *v, Failure *f) {
        return failure_set(f, FAILURE_BUSY, "Volume %s is being mounted or unmounted: try again.", v->id);
}

/* --- labels --- */

static int check_managed(const ChangeInput *in, Failure *f) {
        const Volume *v = in->volume;
        Traits t = plan_find_traits(in->settings, v->driver, v->volume_type, v->access_mode, -1);
        const char *why;

        if (in->node && !in->node->selinux)
                why = "SELinux is off on this node, and files can't be labeled.";
        else if (t.managed)
                return 0;
        else if (streq(v->volume_type, "hostPath"))
                why = "A hostPath volume belongs to the host and is never relabeled.";
        else
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "Volume %s can't be relabeled: %s. To allow it, set Managed=always under [VolumeType %s] or [Driver NAME] " SETTINGS_REMEDY,
                        v->id,
                        t.why_not == REASON_TYPE_NOT_MANAGED
                                ? "labels of its volume type are never managed"
                                : "several pods may use it, also on other nodes, and would lose access to its files",
                        v->volume_type);
        return failure_set(f, FAILURE_NOT_SUPPORTED, "Volume %s can't be relabeled: %s", v->id, why);
}

const char *plan_relabel_context(const Volume *v) {
        const char *used = strempty(v->context),
                   *on_disk = v->mark.label_state == FILES_UNKNOWN ? "" : strempty(v->mark.context);

        if (isempty(used))
                return v->mark.label_state == FILES_PARTIAL ? on_disk : "";
        return isempty(on_disk) || streq(used, on_disk) ? used : "";
}

/* Nobody said which one counts: that of the last mount may be what a relabel has replaced. */
static int refuse_two_contexts(const Volume *v, const char *word, Failure *f) {
        _cleanup_free_ char *what = NULL, *remedy = NULL;

        what = strdup_printf(v->mark.label_state == FILES_PARTIAL
                                     ? "Volume %s was last used with %s, but a relabel to %s was not completed."
                                     : "Volume %s was last used with %s, but its files were labeled %s since.",
                             v->id, v->context, v->mark.context);
        remedy = strdup_printf(
                "Pass the label that its files are to have, a level (selvolctl relabel %s --level LEVEL) or a context.",
                word);
        return failure_set_lines(f, FAILURE_INVALID_CONTEXT, what, remedy);
}

static int decide_relabel_context(const ChangeInput *in, char **ret, Failure *f) {
        const Volume *v = in->volume;
        _cleanup_free_ char *context = NULL, *level = NULL, *word = shell_quote(v->id);
        const char *wanted = isempty(in->context) ? plan_relabel_context(v) : in->context;
        int r;

        if (!word)
                return -ENOMEM;
        if (isempty(wanted) && isempty(v->context))
                return failure_set(
                        f, FAILURE_INVALID_CONTEXT,
                        "Volume %s has no recorded context: pass a level (selvolctl relabel %s --level LEVEL), or a context.",
                        v->id, word);
        if (isempty(wanted))
                return refuse_two_contexts(v, word, f);
        r = context_canonicalize(wanted, &context, f);
        if (r != 0)
                return r;
        r = plan_check_label_type(in->settings, context, f);
        if (r != 0)
                return r;
        level = context_part(context, CONTEXT_LEVEL);
        if (!level)
                return -ENOMEM;
        if (isempty(level) && in->node && in->node->mls)
                return failure_set(
                        f, FAILURE_LEVEL_REQUIRED,
                        "Context %s has no level: add one, for example s0:c10,c20. Categories are not generated.",
                        context);
        *ret = TAKE_PTR(context);
        return 0;
}

static bool is_context_mounted(const Others *others) {
        if (others->own->holders && others->own->strategy == STRATEGY_CONTEXT_MOUNT)
                return true;
        for (size_t i = 0; i < others->observed->n_mounts; i++)
                if (!isempty(others->observed->mounts[i].context))
                        return true;
        return false;
}

static int context_mounted_failure(const char *volume, const Plan *p, Failure *f) {
        const Conflict *c = &p->conflicts[0];
        _cleanup_free_ char *level = context_part(c->context, CONTEXT_LEVEL), *end = plan_describe_end(c),
                            *held = NULL, *use = NULL, *what = NULL, *remedy = NULL;

        if (!level || !end)
                return -ENOMEM;
        held = strdup_printf("%s %s", isempty(level) ? "context" : "level", isempty(level) ? c->context : level);
        use = held ? plan_describe_use(c, volume, held) : NULL;
        if (!use)
                return -ENOMEM;
        what = strdup_printf("Volume %s can't be relabeled: it is in use by %s, which all files show.", volume, use);
        remedy = strdup_printf("%s, and mount it with the other level: that needs no relabel.", end);
        return failure_set_lines(f, FAILURE_NOT_SUPPORTED, what, remedy);
}

/* Finds a holder through whose mount the worker can write the files; NULL if the volume has no holders. */
static int find_writer(const Volume *v, const Holder **ret, Failure *f) {
        const Holder *h, *reader = NULL;

        LL_FOREACH (v->holders, h) {
                if (h->state != HOLDER_MOUNTED)
                        continue;
                if (!h->read_only) {
                        *ret = h;
                        return 0;
                }
                reader = h;
        }
        if (reader)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "Volume %s can't be relabeled: it is mounted read-only only. Unmount it first, or mount it read-write, too.",
                        v->id);
        if (v->holders)
                return busy_failure(v, f);
        *ret = NULL;
        return 0;
}

int plan_relabel(const ChangeInput *in, Plan *ret, Failure *f) {
        static const Observed nothing = { 0 };

        assert(in && in->settings && in->volumes && in->volume);

        /* There is no target: all holders count as others. */
        const Others others = { .volumes = in->volumes,
                                .own = in->volume,
                                .observed = in->observed ? in->observed : &nothing,
                                .target = "" };
        _cleanup_(plan_done) Plan p = { .strategy = STRATEGY_RELABEL,
                                        .runtime_flag = "",
                                        .reason = REASON_REQUESTED,
                                        .relabel_here = true,
                                        .fs_group = GID_NONE };
        int r;

        r = check_managed(in, f);
        if (r != 0)
                return r;
        r = decide_relabel_context(in, &p.context, f);
        if (r != 0)
                return r;
        r = plan_find_conflicts(&others, &p);
        if (r < 0)
                return r;
        if (p.n_conflicts > 0 && is_context_mounted(&others))
                return context_mounted_failure(in->volume->id, &p, f);
        if (p.n_conflicts > 0) {
                r = plan_conflict_failure(in->volume->id, &p, NULL, f);
                if (r < 0)
                        return r;
        } else {
                r = find_writer(in->volume, &p.share, f);
                if (r == 0 && !p.share)
                        r = plan_last_mount(in, STRATEGY_RELABEL, &p, f);
                if (r != 0)
                        return r;
        }
        p.change = plan_change_of_others(&others);
        plan_estimate(in->volume, &p);
        p.text = strdup(plan_reason_text(p.reason));
        if (!p.text)
                return -ENOMEM;
        *ret = TAKE_STRUCT(p);
        return r;
}

/* --- groups --- */

/* Sets p->share to a holder through whose mount the worker can change groups: the mount shows groups as they
 * are on disk, or shows the wanted one. */
static int find_group_mount(const Volume *v, gid_t gid, Plan *p, Failure *f) {
        const Holder *h, *plain = NULL, *reader = NULL, *mapped = NULL, *other = NULL;

        LL_FOREACH (v->holders, h) {
                if (h->state != HOLDER_MOUNTED)
                        continue;
                if (h->read_only)
                        reader = h;
                else if (!holder_is_mapped(h))
                        plain = h;
                else if (h->fs_group == gid)
                        mapped = h;
                else
                        other = h;
        }
        p->share = plain ? plain : mapped;
        if (p->share)
                return 0;
        if (other)
                return plan_group_conflict(v, other, NULL, p, f);
        if (reader)
                return failure_set(
                        f, FAILURE_NOT_SUPPORTED,
                        "Volume %s can't be given to a group: it is mounted read-only only. Unmount it first, or mount it read-write, too.",
                        v->id);
        return v->holders ? busy_failure(v, f) : 0;
}

int plan_ownership(const ChangeInput *in, gid_t gid, bool readers, Plan *ret, Failure *f) {
        assert(in && in->settings && in->volume);
        assert(gid != GID_NONE);

        _cleanup_(plan_done) Plan p = { .strategy = STRATEGY_NONE,
                                        .runtime_flag = "",
                                        .reason = REASON_REQUESTED,
                                        .fs_group = gid,
                                        .readers = readers,
                                        .ownership = OWNERSHIP_WALK,
                                        .ownership_reason = OWNERSHIP_REQUESTED };
        const Volume *v = in->volume;
        int r;

        if (streq(v->volume_type, "hostPath"))
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "Volume %s can't be given to a group: a hostPath volume belongs to the host.",
                                   v->id);
        r = find_group_mount(v, gid, &p, f);
        if (r == 0 && !p.share)
                r = plan_last_mount(in, STRATEGY_NONE, &p, f);
        if (r != 0 && r != FAILURE_GROUP_CONFLICT)
                return r;

        p.context = strdup("");
        p.text = strdup(ownership_reason_text(OWNERSHIP_REQUESTED));
        if (!p.context || !p.text)
                return -ENOMEM;
        plan_estimate(v, &p);
        *ret = TAKE_STRUCT(p);
        return r;
}

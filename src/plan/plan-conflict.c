/* SPDX-License-Identifier: LGPL-2.1-or-later */

#include <utlist.h>

#include "basic/time-util.h"
#include "model/context.h"
#include "plan/plan-internal.h"

int plan_add_conflict(Plan *p, const char *volume, const char *holder, const char *target, const char *context,
                      uint64_t since_usec) {
        Conflict *grown, *c;

        grown = reallocarray(p->conflicts, p->n_conflicts + 1, sizeof(Conflict));
        if (!grown)
                return -ENOMEM;
        p->conflicts = grown;
        c = &grown[p->n_conflicts++];
        *c = (Conflict){
                .volume = strdup(volume),
                .holder = strdup(holder),
                .target = strdup(target),
                .context = strdup(context),
                .since_usec = since_usec,
        };
        return c->volume && c->holder && c->target && c->context ? 0 : -ENOMEM;
}

/* Whether a mount of the same superblock, or a holder of the same volume, with that strategy and context leaves no
 * room for the plan. A superblock has one context or none; labels are not taken from a holder who relies on them. */
static bool use_conflicts(const Plan *p, Strategy held_strategy, const char *held_context) {
        if (p->strategy == STRATEGY_CONTEXT_MOUNT)
                return held_strategy != STRATEGY_CONTEXT_MOUNT || !streq(held_context, p->context);
        if (held_strategy == STRATEGY_CONTEXT_MOUNT)
                return true;
        return p->strategy == STRATEGY_RELABEL && held_strategy == STRATEGY_RELABEL &&
               contexts_conflict(held_context, p->context);
}

static int find_holder_conflicts(const PlanInput *in, const Volume *v, Plan *p) {
        const Holder *h;

        LL_FOREACH (v->holders, h) {
                int r;

                if (streq(h->target, in->request->target) || !use_conflicts(p, v->strategy, v->context))
                        continue;
                r = plan_add_conflict(p, v->id, h->name, h->target, v->context, h->since_usec);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Mounts of the superblock that aren't our volume's: another volume id on the same device, or somebody else's. */
static int find_mount_conflicts(const PlanInput *in, const Volume *own, Plan *p) {
        for (size_t i = 0; i < in->observed->n_mounts; i++) {
                const MountFact *m = &in->observed->mounts[i];
                const Volume *other = NULL;
                const Holder *h;
                const char *context;
                Volume *found;
                Strategy held;
                int r;

                h = volumes_find_target(in->volumes, m->target, &found);
                if (h)
                        other = found;
                if ((other && other == own) || streq(m->target, in->request->target))
                        continue;

                held = !isempty(m->context) ? STRATEGY_CONTEXT_MOUNT : other ? other->strategy : STRATEGY_NONE;
                context = isempty(m->context) && other ? other->context : m->context;
                if (!use_conflicts(p, held, context))
                        continue;
                r = plan_add_conflict(p, other ? other->id : "", h ? h->name : "", m->target, context,
                                      h ? h->since_usec : 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

int plan_find_conflicts(const PlanInput *in, const Volume *own, Plan *p) {
        int r = 0;

        if (own)
                r = find_holder_conflicts(in, own, p);
        return r < 0 ? r : find_mount_conflicts(in, own, p);
}

static void format_since(uint64_t usec, char buffer[static 64]) {
        time_t t = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (usec == 0 || !gmtime_r(&t, &tm) || strftime(buffer, 64, " since %Y-%m-%d %H:%M:%S UTC", &tm) == 0)
                buffer[0] = '\0';
}

char *plan_describe_conflict(const Conflict *c, const char *volume) {
        _cleanup_free_ char *holder = string_escape(c->holder, 120), *target = string_escape(c->target, 200);
        const char *who;
        char since[64];

        if (!holder || !target)
                return NULL;
        if (isempty(c->volume))
                return strdup_printf("mounted at %s, not by selvol", target);
        who = streq(holder, target) ? "a mount" : holder;
        format_since(c->since_usec, since);
        if (streq(c->volume, volume))
                return strdup_printf("held by %s at %s%s", who, target, since);
        return strdup_printf("held as volume %s by %s at %s%s", c->volume, who, target, since);
}

int plan_conflict_failure(const PlanInput *in, const Plan *p, Failure *f) {
        const Conflict *c = &p->conflicts[0];
        _cleanup_free_ char *who = plan_describe_conflict(c, in->request->volume), *more = NULL;

        more = p->n_conflicts > 1 ? strdup_printf(", and %zu more", p->n_conflicts - 1) : strdup("");
        if (!who || !more)
                return -ENOMEM;

        return failure_set(
                f, FAILURE_CONTEXT_CONFLICT,
                "Volume %s is wanted %s%s, but is %s %s%s%s%s. Unmount it there first, or ask for the same context and policy; the signal ContextReleased tells when it is free.",
                in->request->volume,
                p->strategy == STRATEGY_CONTEXT_MOUNT ? "with context "
                : p->strategy == STRATEGY_RELABEL     ? "for relabeling to "
                                                      : "without a context",
                p->strategy == STRATEGY_NONE ? ""
                : isempty(p->context)        ? "a context that the runtime chooses"
                                             : p->context,
                isempty(c->context) ? "without a context" : "with context", c->context,
                isempty(c->context) ? "" : ", ", who, more);
}

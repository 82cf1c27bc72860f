/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include "basic/time-util.h"
#include "model/context.h"
#include "plan/plan-refusal.h"

static void format_since(uint64_t usec, char buffer[static 64]) {
        time_t t = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (usec == 0 || !gmtime_r(&t, &tm) || strftime(buffer, 64, " since %Y-%m-%d %H:%M:%S UTC", &tm) == 0)
                buffer[0] = '\0';
}

/* A holder without a name has that of its target. */
static bool has_name(const Conflict *c) {
        return !isempty(c->volume) && !streq(c->holder, c->target);
}

char *plan_describe_holder(const Conflict *c, const char *volume) {
        _cleanup_free_ char *holder = string_escape(c->holder, 120), *target = string_escape(c->target, 200),
                            *id = text_make_clean(c->volume), *who = NULL;

        if (!holder || !target || !id)
                return NULL;
        if (isempty(c->volume))
                return strdup_printf("a mount at %s (not selvol's)", target);
        who = has_name(c) ? strdup(holder) : strdup_printf("a mount at %s", target);
        if (!who || streq(c->volume, volume))
                return TAKE_PTR(who);
        return strdup_printf("%s (as volume %s)", who, id);
}

char *plan_describe_use(const Conflict *c, const char *volume, const char *use) {
        _cleanup_free_ char *who = plan_describe_holder(c, volume);
        char since[64];

        format_since(c->since_usec, since);
        return who ? strdup_printf("%s%s%s%s", who, use ? " with " : "", strempty(use), since) : NULL;
}

char *plan_describe_end(const Conflict *c) {
        const char *holder_of = startswith(c->holder, "podman:"),
                   *of_podman = strempty(startswith(c->volume, PODMAN_IDS));
        const bool podman = !isempty(of_podman) && streq_ptr(holder_of, of_podman);
        _cleanup_free_ char *holder = string_escape(c->holder, 120), *target = shell_quote(c->target),
                            *name = shell_quote(of_podman);

        if (!holder || !target || !name)
                return NULL;
        if (podman)
                return strdup_printf("Stop its containers (podman stop $(podman ps -q --filter volume=%s))", name);
        if (!has_name(c))
                return strdup_printf("Stop what uses it there and unmount it (%s %s)",
                                     isempty(c->volume) ? "umount" : "selvolctl unmount", target);
        if (c->stays)
                return strdup_printf("Stop %s (if its mount stays then: selvolctl unmount %s)", holder, target);
        return strdup_printf("Stop %s", holder);
}

int plan_refuse(const Refusal *r, FailureKind kind, Failure *f) {
        _cleanup_free_ char *word = shell_quote(r->shown ?: r->volume), *more = NULL, *what = NULL, *remedy = NULL;
        const char *wait = !r->may_wait    ? ""
                           : r->n_more > 0 ? ", wait for them with \"WaitUSec\""
                                           : ", wait for it with \"WaitUSec\"";

        more = r->n_more == 0 ? strdup("")
               : word         ? strdup_printf(", and by %zu more (selvolctl show %s)", r->n_more, word)
                              : NULL;
        if (!r->use || !r->wish || !r->end || !more)
                return -ENOMEM;
        what = strdup_printf("Volume %s is in use by %s%s; you asked for %s.", r->volume, r->use, more, r->wish);
        /* Two ways are separated by the comma before "or", too. */
        remedy = r->same || !r->may_wait
                         ? strdup_printf("%s%s%s%s%s.", r->end, r->n_more > 0 ? " and the others" : "", wait,
                                         r->same ? ", or " : "", strempty(r->same))
                         : strdup_printf("%s%s, or%s.", r->end, r->n_more > 0 ? " and the others" : "",
                                         wait + strlen(","));
        return failure_set_lines(f, kind, what, remedy);
}

/* The difference between a use of the volume and the plan. */
typedef struct Difference {
        char *use, *wish; /* "level s0:c1", "s0:c2" */
        const char *same; /* how to ask for the same as the other one; NULL: no request helps */
} Difference;

static void difference_done(Difference *d) {
        free(d->use);
        free(d->wish);
}

/* Names the first part of two contexts that differs. */
static int compare_contexts(const char *held, const char *wanted, Difference *ret) {
        static const struct {
                ContextPart part;
                const char *name, *same;
        } parts[] = { { CONTEXT_TYPE, "type", "use its type" },
                      { CONTEXT_USER, "user", "use its user" },
                      { CONTEXT_ROLE, "role", "use its role" },
                      { CONTEXT_LEVEL, "level", "use its level" } };

        for (size_t i = 0; i < ELEMENTSOF(parts); i++) {
                _cleanup_free_ char *theirs = context_part(held, parts[i].part),
                                    *ours = context_part(wanted, parts[i].part);

                if (!theirs || !ours)
                        return -ENOMEM;
                if (streq(theirs, ours))
                        continue;
                if (ret->use) {
                        ret->same = "use its context";
                        return 0;
                }
                ret->same = parts[i].same;
                ret->use = strdup_printf("%s %s", parts[i].name, isempty(theirs) ? "(none)" : theirs);
                ret->wish = isempty(ours) ? strdup_printf("no %s", parts[i].name) : TAKE_PTR(ours);
                if (!ret->use || !ret->wish)
                        return -ENOMEM;
        }
        return 0;
}

/* NULL on lack of memory. */
static char *describe_kind(Strategy strategy, const char *context, const char *unknown) {
        _cleanup_free_ char *level = context_part(context, CONTEXT_LEVEL);

        if (!level)
                return NULL;
        switch (strategy) {
        case STRATEGY_CONTEXT_MOUNT:
                return isempty(level) ? strdup_printf("a context mount of %s", context)
                                      : strdup_printf("a context mount of level %s", level);
        case STRATEGY_RELABEL:
                if (isempty(context))
                        return strdup(unknown);
                return isempty(level) ? strdup("labels on disk") : strdup_printf("labels on disk of level %s", level);
        default:
                return strdup("no context");
        }
}

static const char *same_kind(const Plan *p, const Conflict *c) {
        if (p->strategy == STRATEGY_RELABEL && c->strategy == STRATEGY_RELABEL)
                return isempty(p->context)
                               ? "pass its level with \"SELinuxLevel\" (\"RelabelBy\"=none if no labels matter)"
                               : "start it again with \"SELinuxLevel\" (\"RelabelBy\"=none if no labels matter)";
        if (c->strategy == STRATEGY_CONTEXT_MOUNT)
                return "use its level with \"SELinuxRelabelPolicy\"=OnVolumeMount";
        return "use \"SELinuxRelabelPolicy\"=Always";
}

static int find_difference(const Plan *p, const Conflict *c, Difference *ret) {
        if (p->strategy == c->strategy && !isempty(p->context) && !isempty(c->context) &&
            !streq(p->context, c->context))
                return compare_contexts(c->context, p->context, ret);
        ret->use = describe_kind(c->strategy, c->context, "labels that its runtime chose");
        ret->wish = describe_kind(p->strategy, p->context, "labels that the runtime chooses");
        ret->same = same_kind(p, c);
        return ret->use && ret->wish ? 0 : -ENOMEM;
}

/* Whether one request would suit all. */
static bool conflicts_agree(const Plan *p) {
        for (size_t i = 1; i < p->n_conflicts; i++)
                if (p->conflicts[i].strategy != p->conflicts[0].strategy ||
                    !streq(p->conflicts[i].context, p->conflicts[0].context))
                        return false;
        return true;
}

int plan_conflict_failure(const char *volume, const Plan *p, const Request *q, Failure *f) {
        assert(p->n_conflicts > 0);

        const Conflict *c = &p->conflicts[0];
        _cleanup_(difference_done) Difference d = { 0 };
        _cleanup_free_ char *use = NULL, *end = plan_describe_end(c);
        int r;

        r = find_difference(p, c, &d);
        if (r < 0)
                return r;
        use = plan_describe_use(c, volume, d.use);
        return plan_refuse(&(Refusal){ .volume = volume,
                                       .shown = isempty(c->volume) ? volume : c->volume,
                                       .use = use,
                                       .n_more = p->n_conflicts - 1,
                                       .wish = d.wish,
                                       .end = end,
                                       .same = q && conflicts_agree(p) ? d.same : NULL,
                                       .may_wait = q && q->wait_usec == 0 },
                           FAILURE_CONTEXT_CONFLICT, f);
}

int plan_hidden_conflict(const Volume *own, const Plan *p, const char *search, Failure *f) {
        const Conflict c = { .strategy = own->strategy, .context = (char *) strempty(own->context) };
        _cleanup_(difference_done) Difference d = { 0 };
        _cleanup_free_ char *what = NULL, *remedy = NULL;
        int r;

        r = find_difference(p, &c, &d);
        if (r < 0)
                return r;
        what = strdup_printf("Volume %s was unmounted, but a process keeps it mounted with %s; you asked for %s.",
                             own->id, d.use, d.wish);
        remedy = strdup_printf("End the containers that have it (%s), or %s.", search, d.same);
        return failure_set_lines(f, FAILURE_CONTEXT_CONFLICT, what, remedy);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "basic/time-util.h"
#include "model/context.h"
#include "plan/plan-conflict.h"

/* A holder's own strategy and context count: the volume's are those of its strongest holder. */
static Strategy holder_strategy(const Volume *v, const Holder *h) {
        return h->context ? h->strategy : v->strategy;
}

static const char *holder_context(const Volume *v, const Holder *h) {
        return h->context ? h->context : v->context;
}

static int add_conflict(Plan *p, const char *volume, const char *holder, const char *target, Strategy strategy,
                        const char *context, uint64_t since_usec) {
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
                .strategy = strategy,
                .context = strdup(context),
                .since_usec = since_usec,
        };
        return c->volume && c->holder && c->target && c->context ? 0 : -ENOMEM;
}

int plan_add_conflict(Plan *p, const Volume *v, const Holder *h) {
        return add_conflict(p, v->id, h->name, h->target, holder_strategy(v, h), holder_context(v, h), h->since_usec);
}

/* Whether the plan conflicts with a mount of the same superblock, or a holder of the same volume, that has
 * the held strategy and context. A superblock has one context or none, and a relabel must not take labels
 * from a holder that relies on them. */
static bool use_conflicts(const Plan *p, Strategy held_strategy, const char *held_context) {
        if (p->strategy == STRATEGY_CONTEXT_MOUNT)
                return held_strategy != STRATEGY_CONTEXT_MOUNT || !streq(held_context, p->context);
        if (held_strategy == STRATEGY_CONTEXT_MOUNT)
                return true;
        return p->strategy == STRATEGY_RELABEL && held_strategy == STRATEGY_RELABEL &&
               contexts_conflict(held_context, p->context);
}

int plan_find_conflicts(const Others *others, Plan *p) {
        const Volume *own = others->own;
        const Holder *h;
        int r;

        assert(others->volumes && others->observed && others->target);

        if (own)
                LL_FOREACH (own->holders, h) {
                        if (streq(h->target, others->target) ||
                            !use_conflicts(p, holder_strategy(own, h), holder_context(own, h)))
                                continue;
                        r = plan_add_conflict(p, own, h);
                        if (r < 0)
                                return r;
                }
        /* Mounts of the same superblock: foreign ones, and those of other volumes' holders. The context that
         * a mount shows counts before the recorded one. */
        for (size_t i = 0; i < others->observed->n_mounts; i++) {
                const MountFact *m = &others->observed->mounts[i];
                Volume *v = NULL;
                Strategy strategy;
                const char *context;

                h = volumes_find_target(others->volumes, m->target, &v);
                if ((v && v == own) || streq(m->target, others->target))
                        continue;
                strategy = v ? holder_strategy(v, h) : STRATEGY_NONE;
                context = v ? holder_context(v, h) : "";
                if (!isempty(m->context)) {
                        strategy = STRATEGY_CONTEXT_MOUNT;
                        context = m->context;
                }
                if (!use_conflicts(p, strategy, context))
                        continue;
                r = v ? add_conflict(p, v->id, h->name, m->target, strategy, context, h->since_usec)
                      : add_conflict(p, "", "", m->target, strategy, context, 0);
                if (r < 0)
                        return r;
        }
        return 0;
}

static void format_since(uint64_t usec, char buffer[static 64]) {
        time_t t = (time_t) (usec / USEC_PER_SEC);
        struct tm tm;

        if (usec == 0 || !gmtime_r(&t, &tm) || strftime(buffer, 64, " since %Y-%m-%d %H:%M:%S UTC", &tm) == 0)
                buffer[0] = '\0';
}

char *plan_describe_conflict(const Conflict *c, const char *volume) {
        _cleanup_free_ char *holder = string_escape(c->holder, 120), *target = string_escape(c->target, 200),
                            *id = text_make_clean(strempty(c->volume));
        const char *who;
        char since[64];

        if (!holder || !target || !id)
                return NULL;
        if (isempty(c->volume))
                return strdup_printf("mounted at %s, not by selvol", target);
        who = streq(holder, target) ? "a mount" : holder;
        format_since(c->since_usec, since);
        if (streq(c->volume, volume))
                return strdup_printf("held by %s at %s%s", who, target, since);
        return strdup_printf("held as volume %s by %s at %s%s", id, who, target, since);
}

char *plan_describe_end(const Conflict *c) {
        const char *holder_of = startswith(c->holder, "podman:"),
                   *of_podman = strempty(startswith(strempty(c->volume), PODMAN_IDS));
        const bool podman = !isempty(of_podman) && streq_ptr(holder_of, of_podman);
        _cleanup_free_ char *holder = string_escape(c->holder, 120), *target = shell_quote(c->target),
                            *name = shell_quote(of_podman);

        if (!holder || !target || !name)
                return NULL;
        if (podman)
                return strdup_printf("Stop its containers (podman stop $(podman ps -q --filter volume=%s))", name);
        if (isempty(c->volume) || streq(c->holder, c->target))
                return strdup_printf("Stop what uses it there, then unmount it (%s %s)",
                                     isempty(c->volume) ? "umount" : "selvolctl unmount", target);
        return strdup_printf("Stop %s (if its mount stays then: selvolctl unmount %s)", holder, target);
}

/* Describes how the plan uses the volume. NULL on lack of memory. */
static char *describe_wish(const Plan *p) {
        switch (p->strategy) {
        case STRATEGY_CONTEXT_MOUNT:
                return strdup_printf("mounted with context %s", p->context);
        case STRATEGY_RELABEL:
                return strdup_printf("relabeled %s%s", isempty(p->context) ? "by the container runtime" : "to ",
                                     p->context);
        default:
                return strdup("mounted without a context");
        }
}

/* NULL on lack of memory. */
static char *describe_use(const Conflict *c) {
        if (!isempty(c->context))
                return strdup_printf("with context %s, ", c->context);
        return strdup(c->strategy == STRATEGY_RELABEL ? "with labels that a runtime chose, " : "without a context ");
}

/* NULL on lack of memory. */
static char *describe_remedy(const Plan *p, const Request *q) {
        const Conflict *c = &p->conflicts[0];
        bool both_relabel = p->strategy == STRATEGY_RELABEL && c->strategy == STRATEGY_RELABEL;
        _cleanup_free_ char *end = plan_describe_end(c);

        if (!end)
                return NULL;

        if (both_relabel && isempty(p->context))
                return strdup_printf(
                        "Without a level it is not known what the runtime would write: pass \"SELinuxLevel\", or \"RelabelBy\"=none if the holder relies on no labels, as a privileged container does. %s otherwise",
                        end);
        if (both_relabel && isempty(c->context))
                return strdup_printf(
                        "It was mounted there without a level, so it is not known which labels that holder relies on. %s, and mount it again with \"SELinuxLevel\", or with \"RelabelBy\"=none if the holder relies on no labels, as a privileged container does",
                        end);
        return strdup_printf(
                "%s%s", end,
                !q                 ? ""
                : q->wait_usec > 0 ? ", or ask for the same context and policy"
                                   : ", pass \"WaitUSec\" to wait for that, or ask for the same context and policy");
}

int plan_conflict_failure(const char *volume, const Plan *p, const Request *q, Failure *f) {
        assert(p->n_conflicts > 0);

        const Conflict *c = &p->conflicts[0];
        _cleanup_free_ char *wish = describe_wish(p), *who = plan_describe_conflict(c, volume),
                            *held = describe_use(c), *remedy = describe_remedy(p, q), *more = NULL;

        _cleanup_free_ char *word = shell_quote(isempty(c->volume) ? volume : c->volume);

        more = p->n_conflicts > 1 && word
                       ? strdup_printf(", and %zu more (selvolctl show %s)", p->n_conflicts - 1, word)
                       : strdup("");
        if (!word || !wish || !who || !held || !remedy || !more)
                return -ENOMEM;
        return failure_set(f, FAILURE_CONTEXT_CONFLICT,
                           "Volume %s is in use %s%s%s. It can't be %s at the same time. %s.", volume, held, who,
                           more, wish, remedy);
}

/* --- options --- */

/* A holder or a foreign mount that has the file system mounted. */
typedef struct Sharer {
        const Volume *volume; /* NULL: a foreign mount */
        const char *target;   /* NULL: a mount that the worker can't see */
} Sharer;

/* Whether the record has the mount's options: selvol made the mount, or the caller of AdoptVolume passed
 * them. */
static bool options_are_known(const Volume *v) {
        return v->mounted_here || volume_has_adopted(v);
}

static char *describe_options(const Volume *v) {
        if (!v || !options_are_known(v))
                return strdup("options that selvol does not know");
        return strv_length(v->mount_options) == 0 ? strdup("none") : strv_join(v->mount_options, ",");
}

static char *describe_sharer(const Sharer *s, const char *volume) {
        const Holder *h = s->volume && s->target ? volume_find_holder(s->volume, s->target) : NULL;
        const Conflict c = {
                .volume = (char *) (h ? s->volume->id : ""),
                .holder = (char *) (h ? h->name : ""),
                .target = (char *) strempty(s->target),
                .since_usec = h ? h->since_usec : 0,
        };

        return s->target ? plan_describe_conflict(&c, volume) : strdup("kept mounted where it can't be seen");
}

static int refuse_shared_option(const Sharer *s, const Request *q, const char *option, Failure *f) {
        _cleanup_free_ char *options = describe_options(s->volume), *who = describe_sharer(s, q->volume);

        if (!options || !who)
                return -ENOMEM;
        return failure_set(
                f, FAILURE_INCOMPATIBLE,
                "Volume %s can't be mounted with option '%s': its file system is mounted with %s (%s), and has the same options for all its mounts. Ask for those, or end that first.",
                q->volume, option, options, who);
}

/* Whether the option belongs to the superblock. Another volume (own is false) is another subvolume of the
 * same btrfs. */
static bool is_of_superblock(const char *option, bool own) {
        if (mount_option_is_attribute(option, strlen(option)))
                return false;
        return own || !(startswith(option, "subvol=") || startswith(option, "subvolid="));
}

static int check_shared_options(const Others *others, const Sharer *s, const Request *q, Failure *f) {
        const Volume *v = s->volume;

        STRV_FOREACH (option, q->mount_options)
                if (is_of_superblock(*option, v && v == others->own) &&
                    !(v && options_are_known(v) && strv_contains(v->mount_options, *option)))
                        return refuse_shared_option(s, q, *option, f);
        return 0;
}

int plan_check_shared_options(const Others *others, const Request *q, const Holder *share, Failure *f) {
        const Observed *observed = others->observed;

        assert(q && f);

        if (share)
                return check_shared_options(others, &(Sharer){ others->own, share->target }, q, f);
        if (observed->hidden)
                return check_shared_options(others, &(Sharer){ others->own, NULL }, q, f);
        for (size_t i = 0; i < observed->n_mounts; i++) {
                const char *target = observed->mounts[i].target;
                Volume *v = NULL;
                int r;

                if (streq(target, others->target))
                        continue;
                (void) volumes_find_target(others->volumes, target, &v);
                r = check_shared_options(others, &(Sharer){ v, target }, q, f);
                if (r != 0)
                        return r;
        }
        return 0;
}

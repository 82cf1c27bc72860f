/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <utlist.h>

#include "model/context.h"
#include "plan/plan-conflict.h"
#include "plan/plan-refusal.h"

/* A holder's own strategy and context count: the volume's are those of its strongest holder. */
static Strategy holder_strategy(const Volume *v, const Holder *h) {
        return h->context ? h->strategy : v->strategy;
}

static const char *holder_context(const Volume *v, const Holder *h) {
        return h->context ? h->context : v->context;
}

/* A message names the first conflict. A staging mount comes after all others, as it ends after the pods. */
static Conflict *make_room(Plan *p, const Holder *h) {
        size_t i = p->n_conflicts++;

        for (; i > 0 && !(h && streq(h->name, HOLDER_STAGE)) && streq(p->conflicts[i - 1].holder, HOLDER_STAGE); i--)
                p->conflicts[i] = p->conflicts[i - 1];
        return &p->conflicts[i];
}

/* v and h NULL: a foreign mount. */
static int add_conflict(Plan *p, const Volume *v, const Holder *h, const char *target, Strategy strategy,
                        const char *context) {
        Conflict *grown, *c;

        assert(!v == !h);

        grown = reallocarray(p->conflicts, p->n_conflicts + 1, sizeof(Conflict));
        if (!grown)
                return -ENOMEM;
        p->conflicts = grown;
        c = make_room(p, h);
        *c = (Conflict){
                .volume = strdup(v ? v->id : ""),
                .holder = strdup(h ? h->name : ""),
                .target = strdup(target),
                .strategy = strategy,
                .context = strdup(context),
                .since_usec = h ? h->since_usec : 0,
                .stays = h && h->release_on_umount,
        };
        return c->volume && c->holder && c->target && c->context ? 0 : -ENOMEM;
}

int plan_add_conflict(Plan *p, const Volume *v, const Holder *h) {
        return add_conflict(p, v, h, h->target, holder_strategy(v, h), holder_context(v, h));
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
                r = add_conflict(p, v, h, m->target, strategy, context);
                if (r < 0)
                        return r;
        }
        return 0;
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

        _cleanup_free_ char *who = NULL;

        if (!s->target)
                return strdup("kept mounted where it can't be seen");
        who = plan_describe_use(&c, volume, NULL);
        return who ? strdup_printf("in use by %s", who) : NULL;
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

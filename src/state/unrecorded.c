/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "state/reconcile.h"
#include "state/unrecorded.h"
#include "wire/message-ids.h"

static Unrecorded *unrecorded_free_one(Unrecorded *u) {
        if (u) {
                free(u->volume);
                free(u->target);
                free(u->device);
                free(u);
        }
        return NULL;
}
DEFINE_CLEANUP_FUNC(Unrecorded *, unrecorded_free_one);

static int unrecorded_new(const MountFact *fact, Unrecorded **ret) {
        _cleanup_(unrecorded_free_onep) Unrecorded *u = calloc(1, sizeof(*u));

        if (!u)
                return -ENOMEM;
        u->mount_id = fact->mount_id;
        u->volume = strdup(fact->volume);
        u->target = strdup(fact->target);
        u->device = strdup(fact->device);
        if (!u->volume || !u->target || !u->device)
                return -ENOMEM;
        *ret = TAKE_PTR(u);
        return 0;
}

static void tell(const State *s, const Unrecorded *u) {
        _cleanup_free_ char *target = string_escape(u->target, 200);
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_UNRECORDED },
                { "SELVOL_VOLUME", u->volume },
                { "SELVOL_TARGET", target },
        };

        log_fields(
                LOG_WARNING, fields, ELEMENTSOF(fields),
                "Volume %s is mounted at %s, but not recorded, as its record was lost. UnmountVolume unmounts it%s.",
                u->volume, strempty(target),
                roots_contain(s->settings.target_roots, u->target) ? ", AdoptVolume records it again" : "");
}

/* While a job is at work there, it is looked for again afterwards. */
static bool is_unrecorded(State *s, const MountFact *fact) {
        const Holder *h = volumes_find_target(&s->volumes, fact->target, NULL);

        if (isempty(fact->volume) || (h && h->mount_id == fact->mount_id))
                return false;
        if (!target_is_claimed(s, fact->target))
                return !h;
        s->recheck_needed = true;
        return false;
}

/* Returns 0 or -ENOMEM. */
static int add(State *s, const MountFact *fact, const Unrecorded *before) {
        const Unrecorded *known;
        Unrecorded *u;
        int r;

        r = unrecorded_new(fact, &u);
        if (r < 0)
                return r;
        HASH_FIND_STR(before, u->target, known);
        if (!known || known->mount_id != u->mount_id)
                tell(s, u);
        HASH_ADD_KEYPTR(hh, s->unrecorded, u->target, strlen(u->target), u);
        r = hash_was_added(u);
        if (r < 0)
                unrecorded_free_one(u);
        return r;
}

static void free_all(Unrecorded **all) {
        Unrecorded *u, *next;

        HASH_ITER (hh, *all, u, next) {
                HASH_DEL(*all, u);
                unrecorded_free_one(u);
        }
}

int unrecorded_take(State *s, const MountFact *facts, size_t n_facts) {
        Unrecorded *before = TAKE_PTR(s->unrecorded);
        int r = 0;

        for (size_t i = 0; r >= 0 && i < n_facts; i++)
                if (is_unrecorded(s, &facts[i]) && !unrecorded_find(s, facts[i].target))
                        r = add(s, &facts[i], before);
        free_all(&before);
        return r;
}

const Unrecorded *unrecorded_find(const State *s, const char *target) {
        const Unrecorded *u;

        HASH_FIND_STR(s->unrecorded, target, u);
        return u;
}

void unrecorded_drop(State *s, uint64_t mount_id) {
        Unrecorded *u, *next;

        HASH_ITER (hh, s->unrecorded, u, next) {
                if (u->mount_id != mount_id)
                        continue;
                HASH_DEL(s->unrecorded, u);
                unrecorded_free_one(u);
        }
}

void unrecorded_free(State *s) {
        free_all(&s->unrecorded);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <uthash.h>
#include <utlist.h>

#include "state/claims.h"

struct Claim {
        UT_hash_handle hh;
        char *key;
        const Claimant *owner;
        ClaimEntry *line; /* by place; the owner is in it too */
};

static Claim *claim_find(const Claims *claims, const char *key) {
        Claim *claim;

        HASH_FIND_STR(claims->table, key, claim);
        return claim;
}

static Claim *claim_get(Claims *claims, const char *key) {
        Claim *claim = claim_find(claims, key);

        if (claim)
                return claim;
        claim = calloc(1, sizeof(*claim));
        if (!claim)
                return NULL;
        claim->key = strdup(key);
        if (!claim->key) {
                free(claim);
                return NULL;
        }
        HASH_ADD_KEYPTR(hh, claims->table, claim->key, strlen(claim->key), claim);
        if (hash_was_added(claim) < 0) {
                free(claim->key);
                free(claim);
                return NULL;
        }
        return claim;
}

int claims_add(Claims *claims, Claimant *c, const char *key) {
        ClaimEntry *e, *other;
        Claim *claim;

        assert(c->place > 0 && c->n_entries < CLAIMS_MAX);

        claim = claim_get(claims, key);
        if (!claim)
                return -ENOMEM;
        e = &c->entries[c->n_entries++];
        *e = (ClaimEntry){ .claim = claim, .claimant = c };
        /* Behind all that have an earlier place. */
        DL_FOREACH (claim->line, other)
                if (other->claimant->place > c->place)
                        break;
        if (other)
                DL_PREPEND_ELEM(claim->line, other, e);
        else
                DL_APPEND(claim->line, e);
        return 0;
}

int claims_enter(Claims *claims, Claimant *c, const char *const *keys, size_t n) {
        assert(c->place == 0 && n <= CLAIMS_MAX);

        c->place = ++claims->last_place;
        for (size_t i = 0; i < n; i++) {
                int r;

                if (!keys[i])
                        continue;
                r = claims_add(claims, c, keys[i]);
                if (r < 0) {
                        claims_leave(claims, c);
                        return r;
                }
        }
        return 0;
}

/* Who stands between it and the key of an entry. */
static Claimant *find_blocker(const ClaimEntry *e) {
        const ClaimEntry *other;

        DL_FOREACH (e->claim->line, other) {
                if (e->claim->owner ? other->claimant == e->claim->owner : !other->claimant->passive)
                        return other->claimant == e->claimant ? NULL : other->claimant;
                if (!e->claim->owner && other->claimant == e->claimant)
                        return NULL;
        }
        return NULL;
}

Claimant *claims_find_blocker(const Claimant *c) {
        for (size_t i = 0; i < c->n_entries; i++) {
                Claimant *blocker = find_blocker(&c->entries[i]);

                if (blocker)
                        return blocker;
        }
        return NULL;
}

bool claims_take(Claimant *c) {
        if (claims_find_blocker(c))
                return false;
        for (size_t i = 0; i < c->n_entries; i++)
                c->entries[i].claim->owner = c;
        return true;
}

void claims_yield(Claimant *c) {
        for (size_t i = 0; i < c->n_entries; i++)
                if (c->entries[i].claim->owner == c)
                        c->entries[i].claim->owner = NULL;
}

void claims_drop_last(Claims *claims, Claimant *c) {
        ClaimEntry *e;
        Claim *claim;

        assert(c->n_entries > 0);

        e = &c->entries[--c->n_entries];
        claim = e->claim;
        /* The analyzer takes the list's and the table's links for possibly null. */
        DL_DELETE(claim->line, e); /* NOLINT(clang-analyzer-core.NullDereference) */
        if (claim->owner == c)
                claim->owner = NULL;
        if (claim->line)
                return;
        HASH_DEL(claims->table, claim); /* NOLINT(clang-analyzer-core.NullDereference) */
        free(claim->key);
        free(claim);
}

void claims_leave(Claims *claims, Claimant *c) {
        while (c->n_entries > 0)
                claims_drop_last(claims, c);
        *c = (Claimant){ 0 };
}

const char *claims_last_key(const Claimant *c, size_t n) {
        return c->n_entries > n ? c->entries[c->n_entries - 1].claim->key : NULL;
}

bool claims_is_owned(const Claims *claims, const char *key) {
        const Claim *claim = claim_find(claims, key);

        return claim && claim->owner;
}

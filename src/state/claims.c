/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>

#include <uthash.h>
#include <utlist.h>

#include "state/claims.h"

struct Claim {
        UT_hash_handle hh;
        Claimant *owner;
        ClaimEntry *line; /* by number, with the owner */
        char key[];
};

int claims_add(Claims *claims, Claimant *c, const char *key) {
        ClaimEntry *e, *other;
        Claim *claim;

        assert(c->number > 0 && c->n_entries < CLAIMS_MAX);

        HASH_FIND_STR(claims->table, key, claim);
        if (!claim) {
                claim = calloc(1, sizeof(*claim) + strlen(key) + 1);
                if (!claim)
                        return -ENOMEM;
                strcpy(claim->key, key);
                HASH_ADD_KEYPTR(hh, claims->table, claim->key, strlen(claim->key), claim);
                if (hash_was_added(claim) < 0) {
                        free(claim);
                        return -ENOMEM;
                }
        }
        e = &c->entries[c->n_entries++];
        *e = (ClaimEntry){ .claim = claim, .claimant = c };
        /* Insert after all claimants with an earlier number. */
        DL_FOREACH (claim->line, other)
                if (other->claimant->number > c->number)
                        break;
        if (other)
                DL_PREPEND_ELEM(claim->line, other, e);
        else
                DL_APPEND(claim->line, e);
        return 0;
}

int claims_enter(Claims *claims, Claimant *c, const char *const *keys, size_t n) {
        assert(c->number == 0 && n <= CLAIMS_MAX);

        c->number = ++claims->last_number;
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

Claimant *claims_find_blocker(const Claimant *c) {
        for (size_t i = 0; i < c->n_entries; i++) {
                const Claim *claim = c->entries[i].claim;
                const ClaimEntry *e;

                if (claim->owner == c)
                        continue;
                if (claim->owner)
                        return claim->owner;
                DL_FOREACH (claim->line, e) {
                        if (e->claimant == c)
                                break;
                        if (!e->claimant->passive)
                                return e->claimant;
                }
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
        /* For the analyzer, the links of the list and the table may be NULL. */
        DL_DELETE(claim->line, e); /* NOLINT(clang-analyzer-core.NullDereference) */
        if (claim->owner == c)
                claim->owner = NULL;
        if (claim->line)
                return;
        HASH_DEL(claims->table, claim); /* NOLINT(clang-analyzer-core.NullDereference) */
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
        const Claim *claim;

        HASH_FIND_STR(claims->table, key, claim);
        return claim && claim->owner;
}

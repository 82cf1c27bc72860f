/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "state/commit.h"
#include "state/holders.h"
#include "state/reconcile.h"

typedef enum Verdict { KEEP, FINISH, ROLL_BACK, RELEASE, LOST } Verdict;

static int compare_ids(const void *a, const void *b) {
        const MountFact *x = *(const MountFact *const *) a, *y = *(const MountFact *const *) b;

        return x->mount_id < y->mount_id ? -1 : x->mount_id > y->mount_id;
}

static const MountFact *find_fact(const MountFact *const *sorted, size_t n, uint64_t id) {
        size_t low = 0, high = n;

        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (sorted[middle]->mount_id < id)
                        low = middle + 1;
                else
                        high = middle;
        }
        return low < n && sorted[low]->mount_id == id ? sorted[low] : NULL;
}

/* The kernel gives ids of mounts that are gone to others, so the id alone says nothing. The type that is recorded is that of
 * an earlier mount until the outcome of this one is. */
static bool is_same_mount(const Volume *v, const Holder *h, const MountFact *fact) {
        return fact && fact->mount_id == h->mount_id && (isempty(h->device) || streq(h->device, fact->device)) &&
               (h->state == HOLDER_MOUNTING || streq(fact->fs_type, v->fs_type)) &&
               streq(fact->context, h->strategy == STRATEGY_CONTEXT_MOUNT ? strempty(h->context) : "");
}

/* That the worker has noted it as the volume's tells it from another one that looks the same. */
static bool is_there(const Volume *v, const Holder *h, const MountFact *fact) {
        return is_same_mount(v, h, fact) && streq(h->target, fact->target) && streq(strempty(fact->volume), v->id);
}

/* selvol mounts file systems; what shows a part of one was bound there by somebody else. */
static bool is_whole(const MountFact *fact) {
        return streq(strempty(fact->root), "/") || streq(fact->fs_type, "btrfs");
}

static Verdict decide(const Volume *v, const Holder *h, const MountFact *fact) {
        bool there = is_there(v, h, fact);

        switch (h->state) {
        case HOLDER_MOUNTING:
                return there && is_whole(fact) ? FINISH : RELEASE;
        case HOLDER_UNMOUNTING:
                return there ? ROLL_BACK : RELEASE;
        case HOLDER_MOUNTED:
        default:
                return there ? KEEP : LOST;
        }
}

/* What it was mounted from, if that has changed, went with the job: it is not known any more. */
static int finish(State *s, Volume *v, Holder *h, const MountFact *fact) {
        int r;

        h->state = HOLDER_MOUNTED;
        v->mounted_here = false;
        v->mounted_this_boot = true;
        r = free_and_strdup(&h->device, fact->device);
        if (r >= 0 && v->holders == h && !h->next) {
                v->strategy = h->strategy;
                r = free_and_strdup(&v->context, strempty(h->context));
        }
        holder_note_reconciled(s, v, h, "finished");
        commit_holder(s, v, h);
        return r;
}

void reconcile_holder(State *s, Volume *v, Holder *h, const MountFact *fact) {
        switch (decide(v, h, fact)) {
        case KEEP:
                holder_note_mount(s, v, h, fact);
                break;
        case FINISH:
                if (finish(s, v, h, fact) < 0)
                        log_error("%s: Out of memory, the record of the mount is incomplete.", v->id);
                break;
        case ROLL_BACK:
                h->state = HOLDER_MOUNTED;
                holder_note_reconciled(s, v, h, "rolled-back");
                commit_holder(s, v, h);
                break;
        case RELEASE:
                holder_note_reconciled(s, v, h, h->state == HOLDER_MOUNTING ? "rolled-back" : "finished");
                holder_drop(s, v, h);
                break;
        case LOST:
                holder_lose(s, v, h,
                            is_same_mount(v, h, fact) && !streq(h->target, fact->target) ? fact->target : NULL);
                break;
        }
}

char *target_claim_key(const char *target) {
        return strdup_printf("target:%s", target);
}

bool target_is_claimed(const State *s, const char *target) {
        _cleanup_free_ char *key = target_claim_key(target);

        return key && claims_is_owned(&s->claims, key);
}

/* While a job is at work there, it knows better. Of what is beneath a root that is one no more the worker names only what it
 * has noted. It notes a mount before that is visible: a holder that is being mounted, and is not named, has none. */
static void reconcile_unclaimed(State *s, Volume *v, Holder *h, const MountFact *fact) {
        if (!fact && h->state == HOLDER_MOUNTED && !roots_contain(s->settings.target_roots, h->target))
                return;
        if (!target_is_claimed(s, h->target))
                reconcile_holder(s, v, h, fact);
        else if (decide(v, h, fact) == LOST)
                s->recheck_needed = true;
}

int reconcile(State *s, const MountFact *facts, size_t n_facts) {
        _cleanup_free_ const MountFact **sorted = calloc(n_facts + 1, sizeof(MountFact *));
        Volume *v, *next;
        Holder *h, *next_holder;

        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < n_facts; i++)
                sorted[i] = &facts[i];
        qsort(sorted, n_facts, sizeof(MountFact *), compare_ids);

        s->recheck_needed = false;
        HASH_ITER (hh, s->volumes.table, v, next)
                LL_FOREACH_SAFE (v->holders, h, next_holder)
                        reconcile_unclaimed(s, v, h, find_fact(sorted, n_facts, h->mount_id));
        return 0;
}

void reconcile_reboot(State *s) {
        Volume *v, *next;
        size_t n = 0;

        HASH_ITER (hh, s->volumes.table, v, next) {
                for (; v->holders; n++)
                        holder_free(commit_release(s, v, v->holders));
                if (!v->mounted_this_boot)
                        continue;
                v->mounted_this_boot = false;
                commit_volume(s, v);
        }
        if (n > 0)
                log_notice("Released %zu holders from before the reboot.", n);
}

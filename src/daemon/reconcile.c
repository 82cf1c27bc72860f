/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "daemon/commit.h"
#include "daemon/job.h"
#include "daemon/reconcile.h"
#include "daemon/record.h"

typedef enum Verdict { KEEP, FINISH, GO_BACK, RELEASE, LOSE } Verdict;

/* The last mount on a target is the one that is seen. */
static const MountFact *find_fact(const MountFact *facts, size_t n, const char *target) {
        for (size_t i = n; i-- > 0;)
                if (streq(facts[i].target, target))
                        return &facts[i];
        return NULL;
}

/* A mount is published only when it is verified, so one that is there as intended is finished. Not so what was to be
 * adopted: it was there before. */
static bool is_as_intended(const Volume *v, const Holder *h, const MountFact *fact) {
        return streq(fact->fs_type, v->fs_type) &&
               streq(fact->context, h->strategy == STRATEGY_CONTEXT_MOUNT ? v->context : "");
}

static Verdict judge(const Volume *v, const Holder *h, const MountFact *fact) {
        switch (h->state) {
        case HOLDER_MOUNTING:
                return fact && !h->adopted && is_as_intended(v, h, fact) ? FINISH : RELEASE;
        case HOLDER_UNMOUNTING:
                return fact && fact->mount_id == h->mount_id ? GO_BACK : RELEASE;
        case HOLDER_MOUNTED:
        default:
                /* The kernel gives ids of mounts that are gone to others. */
                return fact && fact->mount_id == h->mount_id && is_as_intended(v, h, fact) ? KEEP : LOSE;
        }
}

void reconcile_holder(Manager *m, Volume *v, Holder *h, const MountFact *fact) {
        switch (judge(v, h, fact)) {
        case KEEP:
                break;
        case FINISH:
                h->state = HOLDER_MOUNTED;
                h->mount_id = fact->mount_id;
                record_reconciled(m, v, h, "finished");
                commit_volume(m, v);
                break;
        case GO_BACK:
                h->state = HOLDER_MOUNTED;
                record_reconciled(m, v, h, "rolled-back");
                commit_volume(m, v);
                break;
        case RELEASE:
                record_reconciled(m, v, h, h->state == HOLDER_MOUNTING ? "rolled-back" : "finished");
                manager_drop_holder(m, v, h);
                break;
        case LOSE:
                manager_release_holder(m, v, h);
                break;
        }
}

void reconcile(Manager *m, const MountFact *facts, size_t n_facts) {
        Volume *v, *next;
        Holder *h, *next_holder;

        HASH_ITER (hh, m->volumes.table, v, next) {
                LL_FOREACH_SAFE (v->holders, h, next_holder)
                        if (!job_is_running_at(m, h->target))
                                reconcile_holder(m, v, h, find_fact(facts, n_facts, h->target));
        }
}

void reconcile_reboot(Manager *m) {
        Volume *v, *next;
        size_t n = 0;

        HASH_ITER (hh, m->volumes.table, v, next) {
                if (!v->holders)
                        continue;
                while (v->holders) {
                        volume_remove_holder(v, v->holders);
                        n++;
                }
                commit_volume(m, v);
        }
        if (n > 0)
                log_notice("The node was booted anew: %zu holders of before are released.", n);
}

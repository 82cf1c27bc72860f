/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "state/commit.h"
#include "state/reconcile.h"
#include "wire/message-ids.h"

/* --- holders --- */

static void log_holder_at(int priority, const Volume *v, const Holder *h, const char *message, const char *operation,
                          const char *text) {
        const LogField fields[] = {
                { "MESSAGE_ID", message },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_OPERATION", operation },
                { "SELVOL_HOLDER", h->name },
                { "SELVOL_TARGET", h->target },
                { "SELVOL_CONTEXT", h->context },
                { "SELVOL_STRATEGY", strategy_to_string(h->strategy) },
                { "SELVOL_RESULT", "done" },
        };
        _cleanup_free_ char *target = string_escape(h->target, 200);

        log_fields(priority, fields, ELEMENTSOF(fields), "Volume %s at %s for %s: %s", v->id, strempty(target),
                   h->name, text);
}

static void log_holder(const Volume *v, const Holder *h, const char *message, const char *operation,
                       const char *text) {
        log_holder_at(LOG_NOTICE, v, h, message, operation, text);
}

/* Two volumes may be one file system, which is free when the last holder of both is gone: then it is told of
 * both. Tells volumes that had to wait for the holder that is gone; v: its volume. */
static void tell_waiting(State *s, const Volume *v, const Holder *gone) {
        Volume *other, *next;

        HASH_ITER (hh, s->volumes.table, other, next) {
                if (other == v || other->holders || !other->untold || !holder_shares(other->untold, gone))
                        continue;
                event_emit(s, volume_released, other, other->untold);
                other->untold = holder_free(other->untold);
        }
}

void holder_drop(State *s, Volume *v, Holder *h) {
        _cleanup_(holder_freep) Holder *gone = commit_release(s, v, h);

        if (s->mount_gone)
                s->mount_gone(s->userdata, gone->target);
        if (v->holders)
                return;
        holder_free(v->untold);
        v->untold = TAKE_PTR(gone);
        if (volumes_find_sharer(&s->volumes, v, v->untold))
                return;
        tell_waiting(s, v, v->untold);
        event_emit(s, volume_released, v, v->untold);
        v->untold = holder_free(v->untold);
}

void holder_drop_intent(State *s, Volume *v, Holder *h) {
        _cleanup_(holder_freep) Holder *gone = commit_release(s, v, h);

        if (s->mount_gone)
                s->mount_gone(s->userdata, gone->target);
        /* The volume itself may have waited, too. */
        if (!v->holders && !volumes_find_sharer(&s->volumes, v, gone))
                tell_waiting(s, NULL, gone);
}

/* Files may have changed, and with a context got no label on disk. A commit makes that durable. */
static void doubt_volume(State *s, Volume *v, const Holder *h, const MountFact *fact) {
        bool tainted = v->mark.tainted || !isempty(fact->context);

        if (v->mounted_elsewhere && v->mark.tainted == tainted)
                return;
        v->mounted_elsewhere = true;
        v->fingerprint = (Fingerprint){ 0 };
        v->mark.tainted = tainted;
        log_holder(v, h, MESSAGE_MOUNT_CHANGED, "change",
                   "Somebody else could write to the volume: all files are compared before they are skipped again.");
        commit_volume(s, v);
}

void holder_notice_others(State *s, Holder *h, const MountFact *fact) {
        Volume *v, *next;
        Holder *other;

        if (h->mount_id != fact->mount_id || !streq(strempty(h->device), fact->device))
                return;
        h->beside = fact->beside;
        if (!fact->beside && !(h->state == HOLDER_MOUNTED && h->read_only && !fact->read_only))
                return;
        HASH_ITER (hh, s->volumes.table, v, next)
                LL_FOREACH (v->holders, other)
                        if (streq(strempty(other->device), fact->device)) {
                                doubt_volume(s, v, other, fact);
                                break;
                        }
}

static void report_change(State *s, Volume *v, Holder *h, const char *text) {
        log_holder(v, h, MESSAGE_MOUNT_CHANGED, "change", strempty(text));
        event_emit(s, mount_changed, v, h, strempty(text));
}

/* Returns whether the text has changed. NULL and "" are equal. */
static bool replace_text(char **text, const char *now) {
        return !streq(strempty(*text), strempty(now)) && free_and_strdup(text, isempty(now) ? NULL : now) >= 0;
}

/* Records what other programs have done to the holder's mount, and reports it. */
static void report_mount(State *s, Volume *v, Holder *h, const MountFact *fact) {
        /* A holder at a target beneath a former root is selvol's own. */
        bool held = volumes_find_target(&s->volumes, strempty(fact->also_at), NULL);

        if (h->read_only != fact->read_only) {
                h->read_only = fact->read_only;
                commit_holder(s, v, h);
                report_change(s, v, h,
                              h->read_only ? "Somebody else has made the mount read-only."
                                           : "Somebody else has made the mount writable.");
        }
        if (replace_text(&h->covered_by, fact->covered_by)) {
                _cleanup_free_ char *text = NULL;

                if (h->covered_by)
                        text = strdup_printf("The mount is hidden by another one: %s.", h->covered_by);
                report_change(s, v, h, h->covered_by ? text : "The mount is not hidden any more.");
                event_emit(s, volume_changed, v);
        }
        if (replace_text(&h->also_at, held ? NULL : fact->also_at)) {
                _cleanup_free_ char *text = NULL;

                if (h->also_at)
                        text = strdup_printf("Somebody else has mounted files of the volume at %s too.", h->also_at);
                report_change(
                        s, v, h,
                        h->also_at ? text
                                   : "Nobody else has files of the volume mounted outside of TargetRoots= any more.");
                event_emit(s, volume_changed, v);
        }
}

static void report_reconciled(State *s, Volume *v, const Holder *h, const char *outcome) {
        _cleanup_free_ char *text = strdup_printf("Compared with the mount table: %s.", outcome);

        metrics_count(s->metrics, METRIC_RECONCILED, outcome);
        log_holder(v, h, MESSAGE_RECONCILED, "reconcile", strempty(text));
}

/* --- the record and the mount table --- */

typedef enum Verdict { KEEP, FINISH, ROLL_BACK, RELEASE, LOST } Verdict;

static int compare_facts(const void *a, const void *b) {
        const MountFact *x = *(const MountFact *const *) a, *y = *(const MountFact *const *) b;

        return x->mount_id < y->mount_id ? -1 : x->mount_id > y->mount_id;
}

/* The kernel reuses mount ids, so the id alone proves nothing. */
static bool is_mount_of_holder(const Holder *h, const MountFact *fact) {
        return fact && fact->mount_id == h->mount_id && (isempty(h->device) || streq(h->device, fact->device)) &&
               streq(fact->context, h->strategy == STRATEGY_CONTEXT_MOUNT ? strempty(h->context) : "");
}

void holder_lose(State *s, Volume *v, Holder *h, const MountFact *fact) {
        _cleanup_free_ char *target = NULL, *text = NULL;

        if (!fact && h->release_on_umount) {
                log_holder_at(LOG_INFO, v, h, MESSAGE_UNMOUNTED, "unmount",
                              "Unmounted by umount(8), or another program, as its holder expects.");
                holder_drop(s, v, h);
                return;
        }
        if (is_mount_of_holder(h, fact) && !streq(h->target, fact->target)) {
                target = string_escape(fact->target, 200);
                text = strdup_printf("Somebody else moved the mount to %s: the holder is released.",
                                     strempty(target));
        }
        metrics_count(s->metrics, METRIC_HOLDERS_LOST);
        log_holder(v, h, MESSAGE_HOLDER_LOST, "release",
                   text ?: "Unmounted outside of selvol: the holder is released.");
        holder_drop(s, v, h);
}

/* selvol mounts whole file systems; a mount that shows a part of one is another program's bind mount. */
static bool is_whole(const MountFact *fact) {
        return streq(strempty(fact->root), "/") || streq(fact->fs_type, "btrfs");
}

/* quietly: see reconcile(). */
static Verdict judge_holder(const Volume *v, const Holder *h, const MountFact *fact, bool quietly) {
        /* The worker's note says that this is the volume's mount, and not a similar one. */
        bool there =
                is_mount_of_holder(h, fact) && streq(h->target, fact->target) && streq(strempty(fact->volume), v->id);

        switch (h->state) {
        case HOLDER_MOUNTING:
                return there && is_whole(fact) ? FINISH : RELEASE;
        case HOLDER_UNMOUNTING:
                return there ? ROLL_BACK : RELEASE;
        case HOLDER_MOUNTED:
        default:
                return there ? KEEP : quietly ? RELEASE : LOST;
        }
}

/* The job knew a changed source or changed options, and is gone: selvold no longer knows them. */
static int finish_mount(State *s, Volume *v, Holder *h, const MountFact *fact) {
        int r;

        h->state = HOLDER_MOUNTED;
        v->mounted_here = false;
        v->mounted_this_boot = true;
        r = free_and_strdup(&h->device, fact->device);
        if (r >= 0 && v->holders == h && !h->next) {
                v->strategy = h->strategy;
                r = free_and_strdup(&v->context, strempty(h->context));
        }
        report_reconciled(s, v, h, "finished");
        commit_holder(s, v, h);
        return r;
}

static void carry_out(State *s, Volume *v, Holder *h, const MountFact *fact, Verdict verdict) {
        switch (verdict) {
        case KEEP:
                report_mount(s, v, h, fact);
                break;
        case FINISH:
                if (finish_mount(s, v, h, fact) < 0)
                        log_error("%s: Out of memory, the record of the mount is incomplete.", v->id);
                break;
        case ROLL_BACK:
                h->state = HOLDER_MOUNTED;
                report_reconciled(s, v, h, "rolled-back");
                commit_holder(s, v, h);
                break;
        case RELEASE:
                report_reconciled(s, v, h, h->state == HOLDER_MOUNTING ? "rolled-back" : "finished");
                holder_drop(s, v, h);
                break;
        case LOST:
                holder_lose(s, v, h, fact);
                break;
        }
}

void reconcile_holder(State *s, Volume *v, Holder *h, const MountFact *fact) {
        carry_out(s, v, h, fact, judge_holder(v, h, fact, false));
}

char *target_claim_key(const char *target) {
        return strdup_printf("target:%s", target);
}

bool target_is_claimed(const State *s, const char *target) {
        _cleanup_free_ char *key = target_claim_key(target);

        return key && claims_is_owned(&s->claims, key);
}

/* Concludes nothing while a job or an orphan has the target claimed. Outside of TargetRoots= the worker only
 * lists mounts that it has noted. A note precedes the visible mount: a holder in state "mounting" that is not
 * listed has no mount. */
static void reconcile_unclaimed(State *s, Volume *v, Holder *h, const MountFact *fact, bool quietly) {
        if (!fact && !quietly && h->state == HOLDER_MOUNTED && !roots_contain(s->settings.target_roots, h->target))
                return;
        if (fact)
                holder_notice_others(s, h, fact);
        if (!target_is_claimed(s, h->target))
                carry_out(s, v, h, fact, judge_holder(v, h, fact, quietly));
        else if (judge_holder(v, h, fact, quietly) == LOST)
                s->recheck_needed = true;
}

static bool is_left(const Holder *h, const MountIdentity *left, size_t n_left) {
        for (size_t i = 0; i < n_left; i++)
                if (left[i].id == h->mount_id && streq_ptr(left[i].device, h->device))
                        return true;
        return false;
}

int reconcile(State *s, const Watched *w, bool first) {
        const size_t n_facts = w->n_mounts;
        _cleanup_free_ const MountFact **sorted = calloc(n_facts + 1, sizeof(MountFact *));
        Volume *v, *next;
        Holder *h, *next_holder;

        if (!sorted)
                return -ENOMEM;
        for (size_t i = 0; i < n_facts; i++)
                sorted[i] = &w->mounts[i];
        qsort(sorted, n_facts, sizeof(MountFact *), compare_facts);

        s->recheck_needed = false;
        HASH_ITER (hh, s->volumes.table, v, next)
                LL_FOREACH_SAFE (v->holders, h, next_holder) {
                        const MountFact *key = &(MountFact){ .mount_id = h->mount_id };
                        const MountFact **found = bsearch(&key, sorted, n_facts, sizeof(MountFact *), compare_facts);

                        reconcile_unclaimed(s, v, h, found ? *found : NULL,
                                            first && !found && !is_left(h, w->left, w->n_left));
                }
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

/* --- mounts without a record --- */

static Unrecorded *unrecorded_free_one(Unrecorded *u) {
        if (u) {
                free(u->volume);
                free(u->target);
                free(u->source);
                free(u->fs_type);
                free(u->context);
                free(u->device);
                free(u);
        }
        return NULL;
}
DEFINE_CLEANUP_FUNC(Unrecorded *, unrecorded_free_one);

static void log_unrecorded(const State *s, const Unrecorded *u) {
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

/* While a job works at the target, selvold waits: it looks again after the job. */
static bool is_unrecorded(State *s, const MountFact *fact) {
        const Holder *h = volumes_find_target(&s->volumes, fact->target, NULL);

        if (isempty(fact->volume) || (h && h->mount_id == fact->mount_id))
                return false;
        if (!target_is_claimed(s, fact->target))
                return !h;
        s->recheck_needed = true;
        return false;
}

/* Whether another program has mounted a device. */
static bool is_foreign(const State *s, const MountFact *fact) {
        return isempty(fact->volume) && startswith(fact->source, "/dev/") &&
               !volumes_find_target(&s->volumes, fact->target, NULL);
}

/* Adds a mount; of several at a target, the first one. Returns 0 or -ENOMEM. */
static int add_mount(Unrecorded **all, const MountFact *fact) {
        _cleanup_(unrecorded_free_onep) Unrecorded *u = NULL;
        int r;

        HASH_FIND_STR(*all, fact->target, u);
        if (TAKE_PTR(u))
                return 0;
        u = calloc(1, sizeof(*u));
        if (!u)
                return -ENOMEM;
        u->mount_id = fact->mount_id;
        u->volume = strdup(strempty(fact->volume));
        u->target = strdup(fact->target);
        u->source = strdup(fact->source);
        u->fs_type = strdup(fact->fs_type);
        u->context = strdup(strempty(fact->context));
        u->device = strdup(fact->device);
        if (!u->volume || !u->target || !u->source || !u->fs_type || !u->context || !u->device)
                return -ENOMEM;
        HASH_ADD_KEYPTR(hh, *all, u->target, strlen(u->target), u);
        r = hash_was_added(u);
        if (r >= 0)
                TAKE_PTR(u);
        return r;
}

static void unrecorded_free_all(Unrecorded **all) {
        Unrecorded *u, *next;

        HASH_ITER (hh, *all, u, next) {
                HASH_DEL(*all, u);
                unrecorded_free_one(u);
        }
}

int unrecorded_take(State *s, const MountFact *facts, size_t n_facts) {
        Unrecorded *before = TAKE_PTR(s->unrecorded);
        const Unrecorded *known, *u;
        int r = 0;

        unrecorded_free_all(&s->foreign);
        for (size_t i = 0; r >= 0 && i < n_facts; i++) {
                if (is_foreign(s, &facts[i]))
                        r = add_mount(&s->foreign, &facts[i]);
                else if (is_unrecorded(s, &facts[i]))
                        r = add_mount(&s->unrecorded, &facts[i]);
        }
        for (u = s->unrecorded; u; u = u->hh.next) {
                HASH_FIND_STR(before, u->target, known);
                if (!known || known->mount_id != u->mount_id)
                        log_unrecorded(s, u);
        }
        unrecorded_free_all(&before);
        return r;
}

int unrecorded_came(State *s, const MountFact *fact) {
        return is_foreign(s, fact) ? add_mount(&s->foreign, fact) : 0;
}

const Unrecorded *unrecorded_find(const State *s, const char *target) {
        const Unrecorded *u;

        HASH_FIND_STR(s->unrecorded, target, u);
        return u;
}

static void drop_mount(Unrecorded **all, uint64_t mount_id) {
        Unrecorded *u, *next;

        HASH_ITER (hh, *all, u, next) {
                if (u->mount_id != mount_id)
                        continue;
                HASH_DEL(*all, u);
                unrecorded_free_one(u);
        }
}

void unrecorded_drop(State *s, uint64_t mount_id) {
        drop_mount(&s->unrecorded, mount_id);
        drop_mount(&s->foreign, mount_id);
}

void unrecorded_free(State *s) {
        unrecorded_free_all(&s->unrecorded);
        unrecorded_free_all(&s->foreign);
}

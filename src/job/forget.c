/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "basic/log.h"
#include "basic/time-util.h"
#include "job/forget.h"
#include "job/job-queue.h"
#include "model/quota.h"
#include "state/commit.h"
#include "wire/message-ids.h"

/* The order in which records make room. */
typedef enum Turn { TURN_OWN, TURN_ANY, TURN_OWN_PARTIAL, TURN_ANY_PARTIAL, TURN_NEVER } Turn;

static bool mark_is_partial(const Mark *m) {
        return m->label_state == FILES_PARTIAL || m->ownership_state == FILES_PARTIAL;
}

/* The mark on the volume is wrong, and only the record knows. */
static bool knows_alone(const Volume *v) {
        return v->mounted_elsewhere &&
               (v->mark.label_state == FILES_COMPLETE || v->mark.ownership_state == FILES_COMPLETE);
}

/* over: the caller has more records than its share. Root may need the place of others even then. */
static Turn turn_of(const Volume *v, const Caller *caller, bool over) {
        bool own = v->introducer == caller->uid, partial = mark_is_partial(&v->mark);

        if (v->holders || v->untold || knows_alone(v))
                return TURN_NEVER;
        if (own && over && !partial)
                return TURN_OWN;
        if (own && partial)
                return TURN_OWN_PARTIAL;
        if (over && !caller->trusted)
                return TURN_NEVER;
        return partial ? TURN_ANY_PARTIAL : TURN_ANY;
}

/* The records, and the caller's part of them. */
typedef struct Used {
        Quota volumes, holders, bytes;
} Used;

static void count_holder(Used *u, const Holder *h, const Caller *caller) {
        quota_count(&u->holders, 1, h->owner == caller->uid);
        quota_count(&u->bytes, holder_count_bytes(h), h->owner == caller->uid);
}

static void count_volume(Used *u, const Volume *v, const Caller *caller) {
        const Holder *h;

        quota_count(&u->volumes, 1, v->introducer == caller->uid);
        quota_count(&u->bytes, volume_count_bytes(v), v->introducer == caller->uid);
        if (v->untold)
                count_holder(u, v->untold, caller);
        LL_FOREACH (v->holders, h)
                count_holder(u, h, caller);
}

static void subtract_volume(Used *u, const Volume *v, const Caller *caller) {
        Used one = { 0 };

        count_volume(&one, v, caller);
        u->volumes.all -= one.volumes.all;
        u->volumes.caller -= one.volumes.caller;
        u->bytes.all -= one.bytes.all;
        u->bytes.caller -= one.bytes.caller;
}

static Used count_used(const Volumes *all, const Caller *caller) {
        const Volume *v, *next;
        Used u = { 0 };

        HASH_ITER (hh, all->table, v, next)
                count_volume(&u, v, caller);
        return u;
}

static size_t volumes_limit(const Caller *caller) {
        return VOLUMES_MAX - (caller->trusted ? 0 : VOLUMES_RESERVED);
}

/* The caller makes room among its own records first. */
static bool is_over_share(const Used *u, const Growth *g, const Caller *caller) {
        return u->volumes.caller >= VOLUMES_OF_CALLER ||
               quota_check(&u->bytes, LIMIT_RECORD_BYTES, g->bytes, caller->trusted) == QUOTA_CALLER_IS_FULL;
}

static bool records_fit(const Used *u, const Growth *g, const Caller *caller) {
        return u->volumes.all + g->volumes <= volumes_limit(caller) &&
               quota_check(&u->bytes, LIMIT_RECORD_BYTES, g->bytes, caller->trusted) == QUOTA_FITS;
}

/* A job, or a child of an earlier selvold, works on the volume. */
static bool is_at_work(const Jobs *jobs, const Volume *v) {
        return job_find_on_volume(jobs, v->id) || queue_has_claimed(jobs->state, v->id);
}

static int refuse_volume(const Used *u, const Caller *caller, Failure *f) {
        if (u->volumes.caller >= VOLUMES_OF_CALLER && !caller->trusted)
                return failure_set(
                        f, FAILURE_LIMIT_REACHED,
                        "There are %zu volumes, and this caller has %i or more, all in use or still needed. Unmount one, or forget one (selvolctl forget VOLUME).",
                        volumes_limit(caller), VOLUMES_OF_CALLER);
        return failure_set(
                f, FAILURE_LIMIT_REACHED,
                "There are %zu volumes, all in use or still needed. Unmount one, or forget one (selvolctl forget VOLUME).",
                volumes_limit(caller));
}

static int refuse_growth(const Used *u, const Growth *g, const Caller *caller, Failure *f) {
        const QuotaResult bytes = quota_check(&u->bytes, LIMIT_RECORD_BYTES, g->bytes, caller->trusted);

        if (bytes == QUOTA_FITS)
                return refuse_volume(u, caller, f);
        return failure_set(
                f, FAILURE_LIMIT_REACHED,
                "The texts of %s take %zu bytes, with no room for %zu more. Unmount a volume, or forget one (selvolctl forget VOLUME).",
                bytes == QUOTA_CALLER_IS_FULL ? "the records of this caller" : "all records",
                bytes == QUOTA_CALLER_IS_FULL ? u->bytes.caller : u->bytes.all, g->bytes);
}

static Volume *find_unused(const Jobs *jobs, const Caller *caller, bool over) {
        Volume *v, *next, *first = NULL;
        Turn first_turn = TURN_NEVER;

        HASH_ITER (hh, jobs->state->volumes.table, v, next) {
                Turn turn = turn_of(v, caller, over);

                if (turn > first_turn || turn == TURN_NEVER)
                        continue;
                if (turn == first_turn && v->last_used_usec >= first->last_used_usec)
                        continue;
                if (is_at_work(jobs, v))
                        continue;
                first = v;
                first_turn = turn;
        }
        return first;
}

/* The records that would be left if all that may go for the caller went, as if no job was at work. */
static Used count_needed(const Volumes *all, const Used *u, const Caller *caller, bool over) {
        const Volume *v, *next;
        Used needed = *u;

        HASH_ITER (hh, all->table, v, next)
                if (turn_of(v, caller, over) != TURN_NEVER)
                        subtract_volume(&needed, v, caller);
        return needed;
}

static int check_room(const Jobs *jobs, const Caller *caller, const Growth *g, const Used *u, Failure *f) {
        Used needed;

        switch (g->holders > 0 ? quota_check(&u->holders, LIMIT_HOLDERS, g->holders, caller->trusted) : QUOTA_FITS) {
        case QUOTA_ALL_IS_FULL:
                return failure_set(f, FAILURE_LIMIT_REACHED,
                                   "There are %zu holders, which is the most. Unmount a volume.", u->holders.all);
        case QUOTA_CALLER_IS_FULL:
                return failure_set(f, FAILURE_LIMIT_REACHED,
                                   "This caller has %zu holders, which is the most. Unmount a volume.",
                                   u->holders.caller);
        case QUOTA_FITS:
        default:
                break;
        }
        if (records_fit(u, g, caller))
                return 0;
        needed = count_needed(&jobs->state->volumes, u, caller, is_over_share(u, g, caller));
        return records_fit(&needed, g, caller) ? 0 : refuse_growth(u, g, caller, f);
}

int forget_check_room(const Jobs *jobs, const Caller *caller, const Growth *growth, Failure *f) {
        const Used used = count_used(&jobs->state->volumes, caller);

        return check_room(jobs, caller, growth, &used, f);
}

/* Logs a text that ends with the reason. */
static void forget_unused(Jobs *jobs, Volume *v, const char *reason, const char *text) {
        const LogField fields[] = {
                { "MESSAGE_ID", MESSAGE_FORGOTTEN_UNUSED },
                { "SELVOL_VOLUME", v->id },
                { "SELVOL_CONTEXT", v->context },
                { "SELVOL_REASON", reason },
        };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Forgot volume %s: %s.", v->id, text);
        metrics_count(jobs->state->metrics, METRIC_VOLUMES_FORGOTTEN, reason);
        commit_removal(jobs->state, v);
}

static void make_room_with(Jobs *jobs, Volume *v, const char *volume) {
        uint64_t now = now_realtime_usec(),
                 unused = now > v->last_used_usec ? (now - v->last_used_usec) / (60 * USEC_PER_SEC) : 0;
        _cleanup_free_ char *text = strdup_printf(
                "there are %u volumes, nobody has used it for %llu minutes, and volume %s needs the place",
                HASH_COUNT(jobs->state->volumes.table), (unsigned long long) unused, volume);

        forget_unused(jobs, v, "room", strempty(text));
}

int forget_make_room(Jobs *jobs, const Caller *caller, const Growth *growth, const char *volume, Failure *f) {
        Used used = count_used(&jobs->state->volumes, caller);
        int r;

        r = check_room(jobs, caller, growth, &used, f);
        while (r == 0 && !records_fit(&used, growth, caller)) {
                Volume *v = find_unused(jobs, caller, is_over_share(&used, growth, caller));

                if (!v)
                        return refuse_growth(&used, growth, caller, f);
                subtract_volume(&used, v, caller);
                make_room_with(jobs, v, volume);
        }
        return r;
}

/* Not when the last holder goes: its job, and the loop over all volumes in which it went, still use the
 * record. */
void forget_ephemeral(Jobs *jobs) {
        State *s = jobs->state;
        Volume *v, *next;

        if (!s->ephemeral_unused)
                return;
        s->ephemeral_unused = false;
        HASH_ITER (hh, s->volumes.table, v, next) {
                if (!v->ephemeral || v->holders || knows_alone(v))
                        continue;
                /* The end of the job, and of the other volume's last holder, bring selvold here again. */
                if (v->untold || is_at_work(jobs, v))
                        s->ephemeral_unused = true;
                else
                        forget_unused(jobs, v, "ephemeral", "it is ephemeral, and its last holder has gone");
        }
}

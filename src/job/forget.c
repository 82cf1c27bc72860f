/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "basic/time-util.h"
#include "job/forget.h"
#include "job/job-queue.h"
#include "model/limits.h"
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

static bool is_over_share(const Volumes *all, const Caller *caller) {
        const Volume *v, *next;
        size_t n = 0;

        HASH_ITER (hh, all->table, v, next)
                n += v->introducer == caller->uid;
        return n >= VOLUMES_OF_CALLER;
}

/* A job, or a child of an earlier selvold, works on the volume. */
static bool is_at_work(const Jobs *jobs, const Volume *v) {
        return job_find_on_volume(jobs, v->id) || queue_has_claimed(jobs->state, v->id);
}

/* *ret: the record to drop for a new volume of the caller; NULL: there is room without that. */
static int find_room(const Jobs *jobs, const Caller *caller, Volume **ret, Failure *f) {
        const Volumes *all = &jobs->state->volumes;
        size_t limit = VOLUMES_MAX - (caller->trusted ? 0 : VOLUMES_RESERVED);
        Volume *v, *next, *first = NULL;
        Turn first_turn = TURN_NEVER;
        bool over;

        *ret = NULL;
        if (volumes_count(all) < limit)
                return 0;
        over = is_over_share(all, caller);
        HASH_ITER (hh, all->table, v, next) {
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
        *ret = first;
        if (first)
                return 0;
        if (over && !caller->trusted)
                return failure_set(
                        f, FAILURE_LIMIT_REACHED,
                        "There are %zu volumes, and those of this caller (%i or more) are in use, or only their records say that others could write: unmount one, or forget one (selvolctl forget VOLUME).",
                        limit, VOLUMES_OF_CALLER);
        return failure_set(
                f, FAILURE_LIMIT_REACHED,
                "There are %zu volumes, which are in use, or only their records say that others could write: unmount one, or forget one (selvolctl forget VOLUME).",
                limit);
}

int forget_check_room(const Jobs *jobs, const Caller *caller, Failure *f) {
        Volume *v;

        return find_room(jobs, caller, &v, f);
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

int forget_make_room(Jobs *jobs, const Caller *caller, const char *volume, Failure *f) {
        uint64_t now = now_realtime_usec(), unused;
        _cleanup_free_ char *text = NULL;
        Volume *v;
        int r;

        r = find_room(jobs, caller, &v, f);
        if (r != 0 || !v)
                return r;
        unused = now > v->last_used_usec ? (now - v->last_used_usec) / (60 * USEC_PER_SEC) : 0;
        text = strdup_printf(
                "there are %u volumes, nobody has used it for %llu minutes, and volume %s needs the place",
                HASH_COUNT(jobs->state->volumes.table), (unsigned long long) unused, volume);
        forget_unused(jobs, v, "room", strempty(text));
        return 0;
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

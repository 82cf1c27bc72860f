/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "model.h"

enum { HISTORY_LENGTH = 80 };

static const char *const kind_names[KINDS] = { "mount", "unmount", "ownership" };
static const char *const outcome_names[OUTCOMES] = { "running", "done", "refused", "uncertain", "lost" };

/* An entry with a note has no operation. */
typedef struct Entry {
        Operation operation;
        const char *note;
} Entry;

static GPtrArray *history;
static unsigned first; /* the index of the first entry since the last check */
static int64_t now;
static unsigned counts[KINDS][OUTCOMES];

static Entry *new_entry(void) {
        Entry *e = g_new0(Entry, 1);

        g_ptr_array_add(history, e);
        return e;
}

Operation *model_begin(Kind kind, int client, int volume, int target) {
        Operation *o = &new_entry()->operation;

        *o = (Operation){ .kind = kind, .client = client, .volume = volume, .target = target, .begin = ++now };
        o->gid = o->disk_gid = NO_GID;
        return o;
}

void model_end(Operation *o, Outcome outcome, char *answer) {
        o->outcome = outcome;
        o->answer = answer;
        o->end = outcome == OUTCOME_LOST ? INT64_MAX : ++now;
        counts[o->kind][outcome] += o->client >= 0;
}

void model_note(const char *text) {
        new_entry()->note = text;
}

void model_start_over(const int *at, const uint32_t *gids) {
        if (!history)
                history = g_ptr_array_new();
        first = history->len;
        for (int i = 0; i < TARGETS; i++) {
                bool none = at[i] == NO_VOLUME;
                Operation *o = model_begin(none ? KIND_UNMOUNT : KIND_MOUNT, -1, none ? ANY_VOLUME : at[i], i);

                model_end(o, OUTCOME_ACKNOWLEDGED, NULL);
        }
        for (int i = 0; i < VOLUMES; i++) {
                Operation *o = model_begin(KIND_OWNERSHIP, -1, i, NO_TARGET);

                o->disk_gid = gids[i];
                model_end(o, gids[i] == NO_GID ? OUTCOME_UNCERTAIN : OUTCOME_ACKNOWLEDGED, NULL);
        }
}

void model_start_empty(void) {
        static const uint32_t gids[VOLUMES];
        int at[TARGETS];

        for (int i = 0; i < TARGETS; i++)
                at[i] = NO_VOLUME;
        model_start_over(at, gids);
}

/* Returns NULL for a note, and for an operation that selvold has refused. */
static const Operation *get(unsigned i) {
        const Entry *e = g_ptr_array_index(history, i);

        return e->note || e->operation.outcome == OUTCOME_REFUSED ? NULL : &e->operation;
}

/* ---- mounts ---- */

static bool is_of(const Operation *o, int volume) {
        return o->volume == volume || o->volume == ANY_VOLUME;
}

/* Tells whether selvold may have done such an operation after that time. */
static bool may_follow(Kind kind, int target, int volume, int64_t time) {
        for (unsigned i = first; i < history->len; i++) {
                const Operation *o = get(i);

                if (o && o->kind == kind && o->target == target && is_of(o, volume) && !o->idle && o->end > time)
                        return true;
        }
        return false;
}

/* A later operation must have undone an acknowledged one whose effect is gone. A target takes one mount, so a
 * mount of another volume comes after an unmount. */
static bool is_compatible(const Operation *o, int target, int volume) {
        bool same = is_of(o, volume),
             mounted_since = volume == NO_VOLUME || may_follow(KIND_MOUNT, target, volume, o->begin);

        if (o->kind == KIND_UNMOUNT)
                return !same || mounted_since;
        return same || (mounted_since && may_follow(KIND_UNMOUNT, target, o->volume, o->begin));
}

bool model_may_be_mounted(int target, int volume) {
        if (volume != NO_VOLUME && !may_follow(KIND_MOUNT, target, volume, 0))
                return false;
        for (unsigned i = first; i < history->len; i++) {
                const Operation *o = get(i);

                if (o && o->target == target && o->outcome == OUTCOME_ACKNOWLEDGED &&
                    !is_compatible(o, target, volume))
                        return false;
        }
        return true;
}

/* ---- groups ---- */

static bool may_change_gid(const Operation *o, int volume) {
        return o && o->volume == volume && (o->kind == KIND_OWNERSHIP || (o->kind == KIND_MOUNT && o->gid != NO_GID));
}

static bool tells_gid(const Operation *o) {
        return o->outcome == OUTCOME_ACKNOWLEDGED && o->disk_gid != NO_GID;
}

/* Tells whether an operation that tells the group has begun after the end of this one. */
static bool is_superseded(const Operation *o) {
        for (unsigned i = first; i < history->len; i++) {
                const Operation *later = get(i);

                if (may_change_gid(later, o->volume) && tells_gid(later) && later->begin > o->end)
                        return true;
        }
        return false;
}

bool model_may_have_gid(int volume, uint32_t gid) {
        for (unsigned i = first; i < history->len; i++) {
                const Operation *o = get(i);

                if (may_change_gid(o, volume) && !is_superseded(o) && (!tells_gid(o) || o->disk_gid == gid))
                        return true;
        }
        return false;
}

/* ---- output ---- */

static void print_operation(const Operation *o) {
        g_autofree char *end = o->outcome == OUTCOME_LOST ? g_strdup("") : g_strdup_printf("%i", (int) o->end),
                        *who = o->client < 0 ? g_strdup("seen") : g_strdup_printf("client %i", o->client);

        g_print("#   %i-%s %s: %s volume %i target %i gid %i options %s: %s%s disk gid %i %.200s\n", (int) o->begin,
                end, who, kind_names[o->kind], o->volume, o->target, (int) o->gid, o->options ? o->options : "-",
                outcome_names[o->outcome], o->idle ? ", nothing to do" : "", (int) o->disk_gid,
                o->answer ? o->answer : "");
}

static bool is_about(const Entry *e, int volume, int target) {
        const Operation *o = &e->operation;

        return e->note || o->volume == volume || (o->target == target && target != NO_TARGET);
}

void model_print_history(int volume, int target) {
        unsigned i = history->len, n = 0;

        while (i > 0 && n < HISTORY_LENGTH)
                n += is_about(g_ptr_array_index(history, --i), volume, target);
        for (; i < history->len; i++) {
                const Entry *e = g_ptr_array_index(history, i);

                if (e->note)
                        g_print("#   killed: %s\n", e->note);
                else if (is_about(e, volume, target))
                        print_operation(&e->operation);
        }
}

unsigned model_count(Kind kind, Outcome outcome) {
        return counts[kind][outcome];
}

unsigned model_count_answers(void) {
        unsigned n = 0;

        for (Kind k = 0; k < KINDS; k++)
                n += counts[k][OUTCOME_ACKNOWLEDGED];
        return n;
}

void model_print_counts(void) {
        for (Kind k = 0; k < KINDS; k++)
                g_print("# %s: %u done, %u refused, %u uncertain, %u without an answer\n", kind_names[k],
                        counts[k][OUTCOME_ACKNOWLEDGED], counts[k][OUTCOME_REFUSED], counts[k][OUTCOME_UNCERTAIN],
                        counts[k][OUTCOME_LOST]);
}

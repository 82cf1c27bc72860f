/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sched.h>
#include <stdlib.h>

#include "race.h"

#define OUTSIDE_LABEL "system_u:object_r:etc_t:s0"

enum {
        OPERATIONS_MIN = 8,
        OPERATIONS_MAX = 3000, /* a race ends then, also if it has not seen both outcomes */
};

unsigned draw(unsigned *seed, unsigned below) {
        return (unsigned) rand_r(seed) % below;
}

void hesitate(unsigned *seed) {
        for (volatile unsigned i = draw(seed, 5000); i > 0;)
                i--;
}

void linger(unsigned *seed) {
        switch (draw(seed, 16)) {
        case 0:
                g_usleep(draw(seed, 3000));
                break;
        case 1:
        case 2:
                sched_yield();
                break;
        default:
                hesitate(seed);
        }
}

/* --- exchangers --- */

bool race_rests(const atomic_llong *until) {
        gint64 usec = atomic_load(until);

        return usec != 0 && g_get_monotonic_time() >= usec;
}

static void exchange(void *userdata, unsigned i) {
        Exchanger *e = userdata;
        const char *const *pair = e->pairs[draw(&e->seed, e->n_pairs)];

        if (race_rests(e->until)) {
                g_usleep(1000);
                return;
        }
        if (renameat2(AT_FDCWD, pair[0], AT_FDCWD, pair[1], RENAME_EXCHANGE) >= 0)
                e->n++;
        else if (errno != EBUSY) /* a mount keeps one of them busy */
                g_error("%s and %s: %s", pair[0], pair[1], g_strerror(errno));
        linger(&e->seed);
}

void race_add(Race *race, unsigned exchanger, const char *one, const char *other) {
        Exchanger *e = &race->exchangers[exchanger];

        g_assert_cmpuint(e->n_pairs, <, RACE_PAIRS_MAX);
        e->pairs[e->n_pairs][0] = one;
        e->pairs[e->n_pairs++][1] = other;
}

static void call_all(Race *race, void (*call)(Meddler *m)) {
        for (size_t i = 0; i < RACE_EXCHANGERS; i++)
                if (race->exchangers[i].n_pairs > 0)
                        call(&race->exchangers[i].meddler);
        if (race->other)
                call(race->other);
}

void race_start(Race *race) {
        race->start = g_get_monotonic_time();
        race->seed = (unsigned) race->start;
        for (size_t i = 0; i < RACE_EXCHANGERS; i++) {
                Exchanger *e = &race->exchangers[i];

                e->meddler.meddle = exchange;
                e->meddler.userdata = e;
                e->seed = race->seed++;
                e->until = &race->until;
        }
        call_all(race, meddler_start);
}

void race_pause(Race *race) {
        call_all(race, meddler_pause);
}

void race_resume(Race *race) {
        call_all(race, meddler_resume);
}

static unsigned long count_exchanges(Race *race) {
        unsigned long n = 0;

        for (size_t i = 0; i < RACE_EXCHANGERS; i++)
                n += race->exchangers[i].n;
        return n;
}

bool race_goes_on(Race *race, unsigned long n_exchanges) {
        bool both = race->outcomes[0] > 0 && race->outcomes[1] > 0;

        return count_exchanges(race) < n_exchanges || race->operations < OPERATIONS_MIN ||
               (!both && race->operations < OPERATIONS_MAX);
}

void race_note(Race *race, bool outcome) {
        race->operations++;
        race->outcomes[outcome]++;
}

void race_finish(Race *race, unsigned long n_exchanges) {
        call_all(race, meddler_stop);
        g_test_message("%lu exchanges during %u operations, which came out %u and %u times; %.1f s",
                       count_exchanges(race), race->operations, race->outcomes[0], race->outcomes[1],
                       (double) (g_get_monotonic_time() - race->start) / G_USEC_PER_SEC);
        g_assert_cmpuint(count_exchanges(race), >=, n_exchanges);
        g_assert_cmpuint(race->outcomes[0], >, 0);
        g_assert_cmpuint(race->outcomes[1], >, 0);
}

/* --- sentinels --- */

void sentinel_make(Sentinel *s, char *path, mode_t mode) {
        s->path = path;
        must(S_ISDIR(mode) ? mkdir(path, mode & 0777) : mknod(path, mode, 0));
        set_label(path, OUTSIDE_LABEL);
        must(lstat(path, &s->st));
}

static void read_unchanged(const Sentinel *s, struct stat *ret) {
        g_autofree char *label = get_label(s->path);

        must(lstat(s->path, ret));
        if (!g_str_equal(label, OUTSIDE_LABEL) || ret->st_uid != s->st.st_uid || ret->st_gid != s->st.st_gid ||
            ret->st_mode != s->st.st_mode)
                g_error("%s has label '%s', user %u, group %u and mode %04o", s->path, label, ret->st_uid,
                        ret->st_gid, ret->st_mode & 07777);
}

void sentinel_check(const Sentinel *s) {
        struct stat st;

        read_unchanged(s, &st);
        if (st.st_ctim.tv_sec != s->st.st_ctim.tv_sec || st.st_ctim.tv_nsec != s->st.st_ctim.tv_nsec)
                g_error("%s was changed", s->path);
}

void sentinel_touched(Sentinel *s) {
        struct stat st;

        read_unchanged(s, &st);
        s->st = st;
}

void sentinel_done(Sentinel *s) {
        sentinel_check(s);
        g_free(s->path);
}

void outside_make(Outside *o, const char *path) {
        static const struct {
                const char *name;
                mode_t mode;
        } rows[] = {
                [OUTSIDE] = { "", S_IFDIR | 0700 },
                [OUTSIDE_FILE] = { "/file", S_IFREG | 0600 },
                [OUTSIDE_T] = { "/t", S_IFDIR | 0700 },
                [OUTSIDE_T_FILE] = { "/t/file", S_IFREG | 0600 },
        };

        for (size_t i = 0; i < OUTSIDE_SENTINELS; i++)
                sentinel_make(&o->sentinels[i], path_printf("%s%s", path, rows[i].name), rows[i].mode);
        /* The file in a directory has changed the ctime of the directory. */
        for (size_t i = 0; i < OUTSIDE_SENTINELS; i++)
                sentinel_touched(&o->sentinels[i]);
}

void outside_check(const Outside *o) {
        for (size_t i = 0; i < OUTSIDE_SENTINELS; i++)
                sentinel_check(&o->sentinels[i]);
}

void outside_done(Outside *o) {
        for (size_t i = 0; i < OUTSIDE_SENTINELS; i++)
                sentinel_done(&o->sentinels[i]);
}

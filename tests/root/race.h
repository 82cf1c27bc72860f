/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "meddler.h"
#include "volumes.h"

/* Operations beside which others exchange paths, renameat2(2), RENAME_EXCHANGE; and what is outside of their reach, which
 * has to stay as it is.
 *
 * Between operations nobody exchanges anything, so that what there is can be compared with the answer. */

enum { RACE_EXCHANGERS = 2, RACE_PAIRS_MAX = 8 };

typedef struct Exchanger {
        Meddler meddler;
        const char *pairs[RACE_PAIRS_MAX][2];
        unsigned n_pairs, seed;
        atomic_ulong n; /* exchanges that succeeded */
        const atomic_llong *until;
} Exchanger;

typedef struct Race {
        Exchanger exchangers[RACE_EXCHANGERS];
        Meddler *other;     /* meddles besides; NULL: nobody */
        atomic_llong until; /* monotonic time from which all rest; 0: none */
        unsigned seed;
        unsigned operations, outcomes[2]; /* how many came out one way, and the other */
        gint64 start;
} Race;

/* From 0 to below - 1. */
unsigned draw(unsigned *seed, unsigned below);
/* About as long as a system call. */
void hesitate(unsigned *seed);
/* From that to more than a whole operation. */
void linger(unsigned *seed);

/* The paths, which stay the caller's, are exchanged by the thread with the number. */
void race_add(Race *race, unsigned exchanger, const char *one, const char *other);
void race_start(Race *race);
void race_pause(Race *race);
void race_resume(Race *race);
/* Whether there is another operation to come: for so many exchanges, and for both outcomes. */
bool race_goes_on(Race *race, unsigned long n_exchanges);
void race_note(Race *race, bool outcome);
/* Checks that there were so many, and both outcomes. */
void race_finish(Race *race, unsigned long n_exchanges);
/* For meddlers: whether it is time to rest. */
bool race_rests(const atomic_llong *until);

/* A file or directory outside, with a label of its own. */
typedef struct Sentinel {
        char *path;
        struct stat st;
} Sentinel;

/* Takes the path over. mode: with its type. */
void sentinel_make(Sentinel *s, char *path, mode_t mode);
/* The label, the group, the mode and ctime are what they were. */
void sentinel_check(const Sentinel *s);
/* The same after the test itself has just changed ctime, which is noted. */
void sentinel_touched(Sentinel *s);
void sentinel_done(Sentinel *s);

/* A directory with a file and a directory "t", which has a file too. */
enum { OUTSIDE, OUTSIDE_FILE, OUTSIDE_T, OUTSIDE_T_FILE, OUTSIDE_SENTINELS };

typedef struct Outside {
        Sentinel sentinels[OUTSIDE_SENTINELS];
} Outside;

void outside_make(Outside *o, const char *path);
void outside_check(const Outside *o);
void outside_done(Outside *o);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "meddler.h"
#include "volumes.h"

/* A race is a series of operations. Threads exchange paths (RENAME_EXCHANGE of renameat2(2)) while an
 * operation runs. They rest between operations, so that the test can compare the files with the answer. Files
 * outside of the volume have to stay as they are. */

enum { RACE_EXCHANGERS = 2, RACE_PAIRS_MAX = 8 };

typedef struct Exchanger {
        Meddler meddler;
        const char *pairs[RACE_PAIRS_MAX][2];
        unsigned n_pairs, seed;
        atomic_ulong n; /* exchanges that have succeeded */
        const atomic_llong *until;
} Exchanger;

typedef struct Race {
        Exchanger exchangers[RACE_EXCHANGERS];
        Meddler *other;     /* a further thread that meddles, or NULL */
        atomic_llong until; /* the monotonic time at which all threads begin to rest; 0: never */
        unsigned seed;
        unsigned operations, outcomes[2]; /* how many operations had the outcome false, and true */
        gint64 start;
} Race;

/* Returns a number from 0 to below - 1. */
unsigned draw(unsigned *seed, unsigned below);
/* Waits about as long as a system call takes. */
void hesitate(unsigned *seed);
/* Waits for a time from that of a system call to more than that of an operation. */
void linger(unsigned *seed);

/* Lets the thread with this number exchange the paths, too. The race keeps the pointers. */
void race_add(Race *race, unsigned exchanger, const char *one, const char *other);
void race_start(Race *race);
void race_pause(Race *race);
void race_resume(Race *race);
/* Tells whether the race needs more operations for so many exchanges, or for both outcomes. */
bool race_goes_on(Race *race, unsigned long n_exchanges);
void race_note(Race *race, bool outcome);
/* Checks that there were so many exchanges, and both outcomes. */
void race_finish(Race *race, unsigned long n_exchanges);
/* Tells a meddler whether it has to rest. */
bool race_rests(const atomic_llong *until);

/* A file or directory outside of the volume, with a label that no operation gives. */
typedef struct Sentinel {
        char *path;
        struct stat st;
} Sentinel;

/* The sentinel frees the path. mode has the type of the file. */
void sentinel_make(Sentinel *s, char *path, mode_t mode);
/* Checks that label, group, mode and ctime are as they were. */
void sentinel_check(const Sentinel *s);
/* Checks label, group and mode, and remembers the ctime, which the test itself has changed. */
void sentinel_touched(Sentinel *s);
void sentinel_done(Sentinel *s);

/* A directory with a file and a directory "t", in which is another file. */
enum { OUTSIDE, OUTSIDE_FILE, OUTSIDE_T, OUTSIDE_T_FILE, OUTSIDE_SENTINELS };

typedef struct Outside {
        Sentinel sentinels[OUTSIDE_SENTINELS];
} Outside;

void outside_make(Outside *o, const char *path);
void outside_check(const Outside *o);
void outside_done(Outside *o);

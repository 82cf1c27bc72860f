/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A thread that changes files again and again while the code that is tested works on them. */
typedef struct Meddler {
        void (*meddle)(void *userdata, unsigned i); /* one round, the i-th */
        void *userdata;
        atomic_ulong rounds;
        /* Its own */
        pthread_t thread;
        pthread_mutex_t lock;
        pthread_cond_t changed;
        atomic_bool stop, pause;
        bool rests;
} Meddler;

void meddler_start(Meddler *m);
void meddler_stop(Meddler *m);
/* Waits for the end of the round. The next round begins after meddler_resume(). */
void meddler_pause(Meddler *m);
void meddler_resume(Meddler *m);

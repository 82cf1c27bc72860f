/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* A thread that changes again and again what is worked on meanwhile. */
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
/* Returns between two rounds, the next of which begins when it is resumed. */
void meddler_pause(Meddler *m);
void meddler_resume(Meddler *m);

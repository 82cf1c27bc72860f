/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <glib.h>

#include "meddler.h"

static void rest(Meddler *m) {
        pthread_mutex_lock(&m->lock);
        m->rests = true;
        pthread_cond_broadcast(&m->changed);
        while (m->pause)
                pthread_cond_wait(&m->changed, &m->lock);
        m->rests = false;
        pthread_mutex_unlock(&m->lock);
}

static void *run_meddler(void *userdata) {
        Meddler *m = userdata;

        for (unsigned i = 0; !m->stop; i++) {
                if (m->pause)
                        rest(m);
                m->meddle(m->userdata, i);
                m->rounds++;
        }
        return NULL;
}

void meddler_start(Meddler *m) {
        g_assert_cmpint(pthread_mutex_init(&m->lock, NULL), ==, 0);
        g_assert_cmpint(pthread_cond_init(&m->changed, NULL), ==, 0);
        g_assert_cmpint(pthread_create(&m->thread, NULL, run_meddler, m), ==, 0);
}

void meddler_stop(Meddler *m) {
        m->stop = true;
        meddler_resume(m);
        g_assert_cmpint(pthread_join(m->thread, NULL), ==, 0);
        pthread_cond_destroy(&m->changed);
        pthread_mutex_destroy(&m->lock);
}

void meddler_pause(Meddler *m) {
        pthread_mutex_lock(&m->lock);
        m->pause = true;
        while (!m->rests)
                pthread_cond_wait(&m->changed, &m->lock);
        pthread_mutex_unlock(&m->lock);
}

void meddler_resume(Meddler *m) {
        pthread_mutex_lock(&m->lock);
        m->pause = false;
        pthread_cond_broadcast(&m->changed);
        pthread_mutex_unlock(&m->lock);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume.h"
#include "plan/plan.h"

typedef struct Job Job;

/* What happens, for the one who tells the bus of it: the api registers these at start, and calls come from below. */
typedef struct Events {
        void (*volume_added)(void *userdata, const Volume *v);
        void (*volume_changed)(void *userdata, const Volume *v);
        void (*volume_removed)(void *userdata, const Volume *v);
        /* The last holder has gone. */
        void (*volume_released)(void *userdata, const Volume *v, const Holder *last);
        /* Others have done something to a holder's mount, which the text tells. */
        void (*mount_changed)(void *userdata, const Volume *v, const Holder *h, const char *text);
        /* Refused because of holders, which the plan names: a CONTEXT_CONFLICT or GROUP_CONFLICT. */
        void (*conflict)(void *userdata, const char *volume, FailureKind kind, const Plan *plan);
        /* Of jobs that walk or wait in line: it is shown from now on; it changed; it has ended, and its result is kept;
         * it is forgotten. */
        void (*job_added)(void *userdata, const Job *job);
        void (*job_changed)(void *userdata, const Job *job);
        void (*job_ended)(void *userdata, const Job *job);
        void (*job_removed)(void *userdata, const Job *job);
        void *userdata;
} Events;

/* event_emit(state, volume_changed, v): nothing is called before the api has registered. */
#define event_emit(state, event, ...)                                                   \
        do {                                                                            \
                const Events *_events_ = &(state)->events;                              \
                if (_events_->event)                                                    \
                        _events_->event(_events_->userdata __VA_OPT__(, ) __VA_ARGS__); \
        } while (0)

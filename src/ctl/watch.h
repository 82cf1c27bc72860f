/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "ctl/answer.h"
#include "ctl/bus.h"

/* What happens to selvold's volumes and jobs, until SIGINT or SIGTERM. The service is not started. */

/* What is known has changed, but that is no news: a job has come further, or its object has come or gone. */
#define EVENT_NO_NEWS ""

typedef struct Watch Watch;

/* Is called with what has happened and what there is to say of it, once it is known. Returns 0, or what ends the watch. */
typedef int (*WatchHandler)(const Watch *w, const char *event, json_t *members);

struct Watch {
        sd_bus *bus;
        sd_event *event;
        json_t *known; /* the properties of each object, by its path */
        bool running;  /* selvold */
        WatchHandler handler;
        void *userdata;
        bool interrupted;
        int result; /* an exit code or a negative errno that ends it */
};

/* Reads what is known now. Returns 0, an exit code, or a negative errno. */
int watch_begin(Watch *w, sd_bus *bus, WatchHandler handler, void *userdata) _warn_unused_;
/* Returns 0 if it was interrupted, an exit code, or a negative errno. */
int watch_run(Watch *w) _warn_unused_;
void watch_done(Watch *w);

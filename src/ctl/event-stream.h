/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "ctl/answer.h"
#include "ctl/bus.h"

/* Follows selvold's volumes and jobs until SIGINT or SIGTERM. Does not start the service. */

/* A change that is no news: a job has come further, or its object has come or gone. */
#define EVENT_NO_NEWS ""

typedef struct EventStream EventStream;

/* Is called with what has happened and what there is to say of it, once it is known. Returns 0, or what ends
 * the watch. */
typedef int (*EventHandler)(const EventStream *w, const char *event, json_t *members);

struct EventStream {
        sd_bus *bus;
        sd_event *event;
        json_t *known; /* the properties of each object, by its path */
        bool running;  /* selvold */
        EventHandler handler;
        void *userdata;
        bool interrupted;
        int result; /* an exit code or a negative errno that ends it */
};

/* Reads what is known now. Returns 0, an exit code, or a negative errno. */
int event_stream_begin(EventStream *w, sd_bus *bus, EventHandler handler, void *userdata) _warn_unused_;
/* Returns 0 if it was interrupted, an exit code, or a negative errno. */
int event_stream_run(EventStream *w) _warn_unused_;
void event_stream_done(EventStream *w);

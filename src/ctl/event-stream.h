/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <systemd/sd-event.h>

#include "ctl/answer.h"
#include "ctl/bus.h"

/* Follows selvold's volumes and jobs until SIGINT or SIGTERM. Does not start selvold. */

/* A change that needs no report: progress of a job, or a new or removed object of a job. */
#define EVENT_NO_NEWS ""

typedef struct EventStream EventStream;

/* Called for each event with its known members. Returns 0, or the result that ends the stream. */
typedef int (*EventHandler)(const EventStream *w, const char *event, json_t *members);

struct EventStream {
        sd_bus *bus;
        sd_event *event;
        json_t *known; /* the properties of each object, by its path */
        bool running;  /* selvold runs */
        char *owner;   /* selvold's name on the bus; NULL: it does not run */
        EventHandler handler;
        void *userdata;
        bool interrupted;
        int result; /* an exit code or a negative errno that ends the stream */
};

/* Starts the stream and reads the present objects. Returns 0, an exit code, or a negative errno. */
int event_stream_begin(EventStream *w, sd_bus *bus, EventHandler handler, void *userdata) _warn_unused_;
/* Runs the stream. Returns 0 after a signal, an exit code, or a negative errno. */
int event_stream_run(EventStream *w) _warn_unused_;
void event_stream_done(EventStream *w);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>

#include "ctl/event-loop.h"

int loop_new(sd_bus *bus, sd_event_signal_handler_t on_signal, void *userdata, sd_event **ret) {
        _cleanup_(sd_event_unrefp) sd_event *event = NULL;
        static const int signals[] = { SIGINT, SIGTERM };
        int r;

        r = sd_event_new(&event);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                r = sd_event_add_signal(event, NULL, signals[i] | SD_EVENT_SIGNAL_PROCMASK, on_signal, userdata);
                if (r < 0)
                        return r;
        }
        r = sd_bus_attach_event(bus, event, SD_EVENT_PRIORITY_NORMAL);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(event);
        return 0;
}

void loop_free(sd_bus *bus, sd_event *event) {
        if (event)
                (void) sd_bus_detach_event(bus);
        sd_event_unref(event);
}

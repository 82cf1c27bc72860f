/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/fields.h"
#include "ctl/format.h"
#include "ctl/print.h"
#include "ctl/verbs.h"
#include "ctl/event-stream.h"

typedef struct Monitor {
        const Args *args;
        bool jobs; /* only jobs, no volumes */
} Monitor;

static int print_line(const char *event, uint64_t now, json_t *members) {
        _cleanup_free_ char *time = format_time(now);
        json_t *value;
        const char *key;

        if (!time)
                return -ENOMEM;
        printf("%s %s", time, event);
        json_object_foreach (members, key, value) {
                _cleanup_free_ char *text = NULL;

                if (!field_has_text(key, value))
                        continue;
                text = field_format(key, value);
                if (!text)
                        return -ENOMEM;
                printf(" %s=%s", key, text);
        }
        puts("");
        return 0;
}

static int print_object(const Args *a, const char *event, uint64_t now, json_t *members) {
        _cleanup_json_ json_t *all = json_pack("{s:I, s:s}", "TimeUSec", (json_int_t) now, "Event", event);
        Args line = *a; /* owns nothing */

        if (!all || json_object_update(all, members) < 0)
                return -ENOMEM;
        line.json_pretty = false;
        return print_json(&line, all);
}

static int on_event(const EventStream *w, const char *event, json_t *members) {
        uint64_t now = now_realtime_usec();
        const Monitor *m = w->userdata;
        int r;

        if (streq(event, EVENT_NO_NEWS) || (m->jobs && !startswith(event, "Job") && !startswith(event, "Service")))
                return 0;
        r = args_have(m->args, SWITCH_JSON) ? print_object(m->args, event, now, members)
                                            : print_line(event, now, members);
        /* Flushes each line: a reader may wait for it. */
        return r < 0 ? r : fflush(stdout) != 0 ? -errno : 0;
}

static int monitor_events(sd_bus *bus, Monitor *m) {
        _cleanup_(event_stream_done) EventStream w;
        int r;

        r = event_stream_begin(&w, bus, on_event, m);
        return r != 0 ? r : event_stream_run(&w);
}

int verb_monitor(sd_bus *bus, const Args *a) {
        return monitor_events(bus, &(Monitor){ .args = a });
}

int monitor_jobs(sd_bus *bus, const Args *a) {
        return monitor_events(bus, &(Monitor){ .args = a, .jobs = true });
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/job-table.h"
#include "ctl/bus-objects.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "ctl/event-stream.h"

/* selvold sends progress four times a second. */
#define REDRAW_USEC (USEC_PER_SEC / 4)

/* WRAP_OFF keeps a long line on one line of the terminal, as draw_view() counts lines. */
#define CLEAR_BELOW "\r\033[J"
#define WRAP_OFF    "\033[?7l"
#define WRAP_ON     "\033[?7h"

/* The table of jobs on a terminal. */
typedef struct View {
        const Args *args;
        EventStream watch;
        sd_event_source *timer; /* off: nothing to draw */
        size_t lines;           /* drawn the last time */
        size_t width, height;   /* of the terminal at that time */
} View;

static int select_jobs(const View *v, json_t **ret) {
        _cleanup_json_ json_t *objects = json_object();
        json_t *properties;
        const char *path;

        if (!objects)
                return -ENOMEM;
        json_object_foreach (v->watch.known, path, properties)
                if (job_number(path) > 0 &&
                    json_object_set_new(objects, path,
                                        json_pack("{s:o}", JOB_INTERFACE, json_deep_copy(properties))) < 0)
                        return -ENOMEM;
        return objects_select(objects, JOB_INTERFACE, ret);
}

/* Removes jobs for which there is no room: ended ones first, and the oldest of these first. Returns the
 * number of removed jobs. */
static size_t cut_jobs(json_t *jobs, size_t room) {
        size_t n = 0;

        for (int ended = 1; ended >= 0; ended--)
                for (size_t i = 0; i < json_array_size(jobs) && json_array_size(jobs) > room;) {
                        if (ended && !streq(answer_string(json_array_get(jobs, i), "State"), "ended")) {
                                i++;
                                continue;
                        }
                        (void) json_array_remove(jobs, i);
                        n++;
                }
        return n;
}

/* Returns the number of printed lines, or a negative errno. */
static ssize_t print_jobs(const View *v) {
        /* The heading, an empty line, and the number of jobs. */
        size_t legend = args_have(v->args, SWITCH_NO_LEGEND) ? 0 : 3, n, n_cut;
        _cleanup_json_ json_t *jobs = NULL;
        int r;

        if (!v->watch.running) {
                puts("selvold is not running.");
                return 1;
        }
        r = select_jobs(v, &jobs);
        if (r < 0)
                return r;
        /* Below the table are the line about removed jobs and that of the cursor. */
        n_cut = cut_jobs(jobs, v->height > legend + 3 ? v->height - legend - 2 : 1);
        r = job_table_print(v->args, jobs);
        if (r < 0)
                return r;
        if (n_cut > 0)
                printf("%zu more, for which there is no room.\n", n_cut);
        n = json_array_size(jobs);
        return (ssize_t) (n + (n > 0 ? legend : legend / 3) + (n_cut > 0));
}

/* Draws over the previous view, or below it if the size of the terminal has changed and lines may have
 * moved. */
static int draw_view(View *v) {
        size_t width = terminal_width(STDOUT_FILENO), height = terminal_height(STDOUT_FILENO);
        ssize_t n;

        if (v->lines > 0 && v->width == width && v->height == height)
                printf("\033[%zuA", v->lines);
        v->width = width;
        v->height = height;
        fputs(CLEAR_BELOW WRAP_OFF, stdout);
        n = print_jobs(v);
        fputs(WRAP_ON, stdout);
        if (n < 0)
                return (int) n;
        v->lines = (size_t) n;
        return fflush(stdout) != 0 ? -errno : 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        View *v = userdata;

        v->watch.result = draw_view(v);
        return 0;
}

/* Limits the rate of drawing: an event only starts the timer. What happens before there is a timer is in the
 * first drawing. */
static int on_event(const EventStream *w, const char *event, json_t *members) {
        const View *v = w->userdata;
        int r;

        if (!v->timer || sd_event_source_get_enabled(v->timer, NULL) > 0)
                return 0;
        r = sd_event_source_set_time_relative(v->timer, REDRAW_USEC);
        return r < 0 ? r : sd_event_source_set_enabled(v->timer, SD_EVENT_ONESHOT);
}

static void view_done(View *v) {
        sd_event_source_disable_unref(v->timer);
        event_stream_done(&v->watch);
}

int watch_jobs(sd_bus *bus, const Args *a) {
        _cleanup_(view_done) View v = { .args = a };
        int r;

        if (args_have(a, SWITCH_JSON) || !terminal_is_capable(STDOUT_FILENO))
                return monitor_jobs(bus, a);
        r = event_stream_begin(&v.watch, bus, on_event, &v);
        if (r != 0)
                return r;
        r = sd_event_add_time_relative(v.watch.event, &v.timer, CLOCK_MONOTONIC, 0, 1, on_tick, &v);
        if (r < 0)
                return r;
        /* One write(2) avoids flicker. */
        (void) setvbuf(stdout, NULL, _IOFBF, BUFSIZ * 8);
        r = event_stream_run(&v.watch);
        /* Removes "^C" from the terminal. */
        fputs(CLEAR_BELOW, stdout);
        return r;
}

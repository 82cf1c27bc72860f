/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/event-stream.h"
#include "ctl/print.h"
#include "ctl/follow.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "model/context.h"
#include "wire/system-bus.h"

/* --- the table of jobs --- */

static const char *const job_columns[] = {
        "Id",       "Operation",         "Volume",         "State",     "DurationUSec",
        "?Percent", "?EntriesPerSecond", "?RemainingUSec", "?WaitsFor", "?Result",
        NULL,
};

/* Adds members that are calculated from the properties. */
static int add_estimates(json_t *job) {
        const uint64_t started = answer_number(job, "StartedUSec"), ended = answer_number(job, "EndedUSec"),
                       now = ended > 0 ? ended : now_realtime_usec();
        JobProgress p = { 0 };
        uint64_t remaining;

        progress_update(&p, job);
        remaining = progress_remaining(p.expected_end_usec);
        if (json_object_set_new(job, "Percent",
                                p.total > 0 ? json_integer(progress_percent(p.done, p.total)) : json_null()) < 0 ||
            json_object_set_new(job, "RemainingUSec",
                                remaining > 0 ? json_integer((json_int_t) remaining) : json_null()) < 0 ||
            json_object_set_new(job, "DurationUSec",
                                started > 0 && now >= started ? json_integer((json_int_t) (now - started))
                                                              : json_null()) < 0)
                return -ENOMEM;
        return 0;
}

static int print_job_table(const Args *a, json_t *jobs) {
        json_t *job;
        size_t i;

        json_array_foreach (jobs, i, job) {
                const bool waits = streq(answer_string(job, "State"), "waiting");
                _cleanup_free_ char *text = NULL;
                int r;

                r = add_estimates(job);
                if (r < 0)
                        return r;
                if (args_have(a, SWITCH_JSON))
                        continue;
                text = waits ? job_describe_wait(job) : NULL;
                if (json_object_set_new(job, "WaitsFor", text ? json_string(text) : json_null()) < 0)
                        return -ENOMEM;
        }
        return print_list(a, jobs, job_columns, "job");
}

/* --- a line for each event --- */

typedef struct Monitor {
        const Args *args;
        bool jobs; /* only jobs, no volumes */
} Monitor;

/* Prints " WORD VALUE" if there is a value. */
static void print_with(const char *word, const char *value) {
        _cleanup_free_ char *text = format_escaped(value);

        if (!isempty(text))
                printf(" %s %s", word, text);
}

static void print_level(const char *word, const char *context) {
        _cleanup_free_ char *level = isempty(context) ? NULL : context_part(context, CONTEXT_LEVEL);

        print_with(word, isempty(level) ? context : level);
}

/* The first of the holders of a conflict. */
static void print_holders(const json_t *holders) {
        const size_t n = json_array_size(holders);

        if (n > 0)
                print_with("held by", answer_string(json_array_get(holders, 0), "Holder"));
        if (n > 1)
                printf(" and %zu more", n - 1);
}

/* Prints what has changed of a volume: one word for a list of holders, and each other value with its name. */
static void print_changes(json_t *members) {
        json_t *value;
        const char *key;

        json_object_foreach (members, key, value) {
                if (streq(key, "Volume"))
                        continue;
                if (json_is_array(value))
                        printf(" %s: %zu.", key, json_array_size(value));
                else if (json_is_boolean(value))
                        printf(" %s: %s.", key, json_is_true(value) ? "yes" : "no");
                else if (json_is_string(value)) {
                        _cleanup_free_ char *text = format_string(json_string_value(value));

                        printf(" %s: %s.", key, strempty(text));
                }
        }
}

/* Prints the sentence of an event, in the words of the history. */
static void print_sentence(const char *event, json_t *members) {
        const char *volume = answer_string(members, "Volume"), *operation = answer_string(members, "Operation");
        const uint64_t job = answer_number(members, "Job");
        _cleanup_free_ char *id = format_string(volume), *text = NULL;

        if (job > 0) {
                printf("Job %" PRIu64 "%s%s of volume %s", job, isempty(operation) ? "" : ": ", operation,
                       strempty(id));
                print_with("at", answer_string(members, "Target"));
                print_with("for", answer_string(members, "Holder"));
                print_level("with", answer_string(members, "Context"));
                if (streq(event, "JobNew"))
                        fputs(" begins.", stdout);
                else if (streq(event, "JobRemoved"))
                        print_with("has ended:", answer_string(members, "Result"));
                else
                        print_with("is", answer_string(members, "State"));
                return;
        }
        if (startswith(event, "Service")) {
                fputs(streq(event, "ServiceStarted") ? "selvold has started." : "selvold has stopped.", stdout);
                return;
        }
        printf("Volume %s", strempty(id));
        if (streq(event, "VolumeAdded"))
                fputs(" is new.", stdout);
        else if (streq(event, "VolumeRemoved"))
                fputs(" is forgotten.", stdout);
        else if (streq(event, "VolumeChanged")) {
                fputs(" has changed.", stdout);
                print_changes(members);
        } else if (streq(event, "MountChanged")) {
                print_with("at", answer_string(members, "Target"));
                text = format_escaped(answer_string(members, "Text"));
                printf(": %s", strempty(text));
        } else if (streq(event, "ContextConflict")) {
                print_level("can't be used with", answer_string(members, "Wanted"));
                print_level("while it is used with", answer_string(members, "Held"));
                print_holders(json_object_get(members, "Holders"));
        } else if (streq(event, "GroupConflict")) {
                printf(" can't be given to group %" PRIu64, answer_number(members, "Wanted"));
                print_holders(json_object_get(members, "Holders"));
        } else if (streq(event, "ContextReleased"))
                fputs(" is not in use any more, and free for another context.", stdout);
        else if (streq(event, "GroupReleased"))
                fputs(" is not in use any more, and free for another group.", stdout);
}

static int print_event(const char *event, json_t *members) {
        time_t now = time(NULL);
        char clock[16] = "";
        struct tm tm;

        if (localtime_r(&now, &tm))
                (void) strftime(clock, sizeof(clock), "%T", &tm);
        printf("%s ", clock);
        print_sentence(event, members);
        puts("");
        /* A reader may wait for the line. */
        return fflush(stdout) != 0 ? -errno : 0;
}

static int on_event(const EventStream *w, const char *event, json_t *members) {
        _cleanup_json_ json_t *all = NULL;
        const Monitor *m = w->userdata;
        const char *volume = m->args->n_operands > 0 ? m->args->operands[0] : NULL;

        if (streq(event, EVENT_NO_NEWS) || (m->jobs && !startswith(event, "Job") && !startswith(event, "Service")))
                return 0;
        if (volume && !startswith(event, "Service") && !streq(answer_string(members, "Volume"), volume))
                return 0;
        if (!args_have(m->args, SWITCH_JSON))
                return print_event(event, members);
        all = json_pack("{s:I, s:s}", "TimeUSec", (json_int_t) now_realtime_usec(), "Event", event);
        return !all || json_object_update(all, members) < 0 ? -ENOMEM : print_json_line(all);
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

/* --- the table, as it changes --- */

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
        r = print_job_table(v->args, jobs);
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
static int on_change(const EventStream *w, const char *event, json_t *members) {
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

static int watch_jobs(sd_bus *bus, const Args *a) {
        _cleanup_(view_done) View v = { .args = a };
        int r;

        if (args_have(a, SWITCH_JSON) || !terminal_is_capable(STDOUT_FILENO))
                return monitor_events(bus, &(Monitor){ .args = a, .jobs = true });
        r = event_stream_begin(&v.watch, bus, on_change, &v);
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

int verb_jobs(sd_bus *bus, const Args *a) {
        _cleanup_json_ json_t *jobs = NULL;
        int r;

        if (args_have(a, SWITCH_WATCH))
                return watch_jobs(bus, a);
        r = objects_get(bus, JOB_INTERFACE, &jobs);
        if (r != 0)
                return r;
        pager_open();
        return print_job_table(a, jobs);
}

/* --- cancel --- */

/* Prints the reply of Wait. */
static int print_canceled(const Args *a, uint64_t job, sd_bus_message *reply) {
        _cleanup_json_ json_t *result = NULL;
        const char *word;
        int r;

        r = sd_bus_message_read(reply, "s", &word);
        if (r < 0)
                return r;
        result = json_pack("{s:I, s:b, s:s}", "Job", (json_int_t) job, "Canceled", streq(word, "Canceled"), "Result",
                           word);
        if (!result)
                return -ENOMEM;
        r = answer_add(result, NULL, reply);
        return r < 0 ? r : print_answer(a, result);
}

static int on_ended(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        *(sd_bus_message **) userdata = sd_bus_message_ref(m);
        return 0;
}

/* Calls Wait before Cancel, because the job's object may be gone right after Cancel. */
static int cancel_job(sd_bus *bus, const char *path, const char *subject, sd_bus_message **ret) {
        _cleanup_message_ sd_bus_message *wait = NULL, *ended = NULL, *call = NULL;
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
        _cleanup_error_ sd_bus_error refused = SD_BUS_ERROR_NULL;
        const sd_bus_error *error;
        int r;

        r = sd_bus_message_new_method_call(bus, &wait, BUS_NAME, path, JOB_INTERFACE, "Wait");
        if (r < 0)
                return r;
        r = sd_bus_call_async(bus, &slot, wait, on_ended, &ended, UINT64_MAX);
        if (r < 0)
                return r;
        r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, path, JOB_INTERFACE, "Cancel");
        if (r < 0)
                return r;
        /* selvold replies when the job has ended, however long its disk takes. */
        r = system_bus_call(bus, call, UINT64_MAX, &refused, NULL);
        if (r < 0)
                return sd_bus_error_is_set(&refused) ? bus_report_error(subject, &refused) : r;
        while (!ended) {
                r = sd_bus_process(bus, NULL);
                if (r == 0)
                        r = sd_bus_wait(bus, UINT64_MAX);
                if (r < 0)
                        return r;
        }

        error = sd_bus_message_get_error(ended);
        if (error)
                return bus_report_error(subject, error);
        *ret = TAKE_PTR(ended);
        return 0;
}

int cancel_check(const Args *a) {
        unsigned long long id;

        if (parse_u64(a->operands[0], &id) < 0)
                return report_usage("'%s' is not the number of a job. See 'selvolctl jobs'.", a->operands[0]);
        return 0;
}

int verb_cancel(sd_bus *bus, const Args *a) {
        _cleanup_message_ sd_bus_message *found = NULL, *reply = NULL;
        _cleanup_free_ char *subject = NULL;
        unsigned long long id;
        const char *path;
        int r;

        r = parse_u64(a->operands[0], &id);
        if (r < 0)
                return r;
        subject = strdup_printf("job %llu", id);
        if (!subject)
                return -ENOMEM;

        r = bus_call_method(bus, subject, &found, MANAGER_PATH, MANAGER_INTERFACE, "GetJob", "t", (uint64_t) id);
        if (r != 0)
                return r;
        r = sd_bus_message_read(found, "o", &path);
        if (r < 0)
                return r;
        r = cancel_job(bus, path, subject, &reply);
        return r != 0 ? r : print_canceled(a, id, reply);
}

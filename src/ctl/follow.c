/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <signal.h>

#include <systemd/sd-event.h>

#include "ctl/colour.h"
#include "ctl/follow.h"
#include "ctl/progress.h"

enum { REDRAW_USEC = 250000, REDRAW_ACCURACY_USEC = 10000 };

#define PROPERTIES "org.freedesktop.DBus.Properties"
#define MATCH_JOBS                                                  \
        "type='signal',sender='" SERVICE "',interface='" PROPERTIES \
        "',member='PropertiesChanged',arg0='" JOB_INTERFACE "',path_namespace='" JOB_PREFIX "'"

typedef struct Follow {
        sd_bus *bus;
        sd_event *event;
        sd_event_source *timer;
        const char *subject;   /* as people know it */
        const char *operation; /* the job to look for; NULL: it is known */
        uint64_t id;           /* 0: not known yet */
        char **asked;          /* the jobs that have been looked at */
        sd_bus_slot *asking;
        Progress progress;
        ProgressLine line;
        sd_bus_message *reply;
        int signal_number; /* that ended it */
} Follow;

typedef struct JobProperties {
        Progress progress;
        uint64_t id;
        const char *operation, *volume, *state; /* belong to the message */
} JobProperties;

static int read_property(sd_bus_message *m, JobProperties *p) {
        const struct {
                const char *key, *type;
                void *target;
        } known[] = {
                { "EntriesDone", "t", &p->progress.done },
                { "EntriesTotal", "t", &p->progress.total },
                { "EntriesPerSecond", "t", &p->progress.per_second },
                { "ExpectedEndUSec", "t", &p->progress.expected_end_usec },
                { "Id", "t", &p->id },
                { "Operation", "s", &p->operation },
                { "Volume", "s", &p->volume },
                { "State", "s", &p->state },
        };
        const char *key;
        int r;

        r = sd_bus_message_read(m, "s", &key);
        if (r < 0)
                return r;
        for (size_t i = 0; i < ELEMENTSOF(known); i++)
                if (streq(key, known[i].key))
                        return sd_bus_message_read(m, "v", known[i].type, known[i].target);
        return sd_bus_message_skip(m, "v");
}

static int read_properties(sd_bus_message *m, JobProperties *p) {
        int r;

        r = sd_bus_message_enter_container(m, 'a', "{sv}");
        while (r >= 0 && (r = sd_bus_message_enter_container(m, 'e', "sv")) > 0) {
                r = read_property(m, p);
                if (r >= 0)
                        r = sd_bus_message_exit_container(m);
        }
        return r < 0 ? r : sd_bus_message_exit_container(m);
}

static void take_progress(Follow *f, const Progress *p) {
        f->progress = *p;
        /* A job that ends at once shows nothing: the first drawing is due when the clock ticks for the first time. */
        if (sd_event_source_get_enabled(f->timer, NULL) == 0) {
                (void) sd_event_source_set_time_relative(f->timer, REDRAW_USEC);
                (void) sd_event_source_set_enabled(f->timer, SD_EVENT_ON);
        }
}

/* All handlers ignore what they can't read: it is a view only. */
static int on_properties(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        JobProperties p = { 0 };
        Follow *f = userdata;

        f->asking = sd_bus_slot_unref(f->asking);
        if (f->id == 0 && !sd_bus_message_is_method_error(m, NULL) && read_properties(m, &p) >= 0 &&
            streq_ptr(p.state, "running") && streq_ptr(p.operation, f->operation) &&
            streq_ptr(p.volume, f->subject)) {
                f->id = p.id;
                take_progress(f, &p.progress);
        }
        return 0;
}

/* Asks whether this is the job that the call has become. Nobody should be asked for a password for that. */
static void ask_for_properties(Follow *f, const char *path) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        /* One at a time: the others will change again. */
        if (f->asking || strv_contains(f->asked, path) || strv_extend(&f->asked, path) < 0)
                return;
        r = bus_new_call(f->bus, path, PROPERTIES, "GetAll", &call);
        if (r >= 0)
                r = sd_bus_message_append(call, "s", JOB_INTERFACE);
        if (r >= 0)
                r = sd_bus_message_set_allow_interactive_authorization(call, false);
        if (r >= 0)
                (void) sd_bus_call_async(f->bus, &f->asking, call, on_properties, f, 0);
}

static int on_changed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follow *f = userdata;
        JobProperties p = { .progress = f->progress };
        const char *path = sd_bus_message_get_path(m);

        if (f->id == 0)
                ask_for_properties(f, path);
        else if (job_id_of(path) == f->id && sd_bus_message_skip(m, "s") >= 0 && read_properties(m, &p) >= 0)
                take_progress(f, &p.progress);
        return 0;
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Follow *f = userdata;

        progress_draw(&f->line, &f->progress);
        return sd_event_source_set_time_relative(source, REDRAW_USEC);
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Follow *f = userdata;

        f->signal_number = (int) si->ssi_signo;
        return sd_event_exit(f->event, 0);
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follow *f = userdata;

        f->reply = sd_bus_message_ref(m);
        return sd_event_exit(f->event, 0);
}

static void follow_done(Follow *f) {
        progress_clear(&f->line);
        sd_event_source_disable_unref(f->timer);
        sd_bus_slot_unref(f->asking);
        sd_bus_message_unref(f->reply);
        strv_free(f->asked);
        if (f->event)
                (void) sd_bus_detach_event(f->bus);
        sd_event_unref(f->event);
}

static int follow_prepare(Follow *f) {
        const int events = SD_EVENT_SIGNAL_PROCMASK;
        int r;

        r = sd_event_new(&f->event);
        if (r >= 0)
                r = sd_bus_attach_event(f->bus, f->event, SD_EVENT_PRIORITY_NORMAL);
        if (r >= 0)
                r = sd_event_add_signal(f->event, NULL, SIGINT | events, on_signal, f);
        if (r >= 0)
                r = sd_event_add_signal(f->event, NULL, SIGTERM | events, on_signal, f);
        if (r >= 0)
                r = sd_event_add_time_relative(f->event, &f->timer, CLOCK_MONOTONIC, REDRAW_USEC,
                                               REDRAW_ACCURACY_USEC, on_tick, f);
        return r < 0 ? r : sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
}

static int say_that_it_goes_on(const Follow *f) {
        _cleanup_free_ char *text = NULL;

        text = f->id > 0 ? strdup_printf("job %" PRIu64 " goes on; 'selvolctl cancel %" PRIu64 "' ends it", f->id,
                                         f->id)
                         : strdup("selvold goes on with it, see 'selvolctl jobs'");
        if (!text)
                return -ENOMEM;
        report_note(f->subject, text);
        return EXIT_SIGNAL + f->signal_number;
}

static int follow_run(Follow *f, sd_bus_message *call, sd_bus_message **ret) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *pending = NULL, *match = NULL;
        const sd_bus_error *error;
        int r;

        /* Without signals there is only less to see. */
        if (f->line.wanted)
                (void) sd_bus_add_match(f->bus, &match, MATCH_JOBS, on_changed, f);
        r = sd_bus_call_async(f->bus, &pending, call, on_reply, f, UINT64_MAX);
        if (r >= 0)
                r = sd_event_loop(f->event);
        progress_clear(&f->line);
        if (r < 0)
                return r;
        if (!f->reply)
                return say_that_it_goes_on(f);

        error = sd_bus_message_get_error(f->reply);
        if (error)
                return report_bus_error(f->subject, error);
        *ret = TAKE_PTR(f->reply);
        return 0;
}

static int follow(Follow *f, sd_bus_message *call, const Args *a, sd_bus_message **ret) {
        int r;

        f->subject = a->operands[0];
        f->line.wanted = !a->quiet && terminal_obeys(STDERR_FILENO);
        r = follow_prepare(f);
        return r < 0 ? r : follow_run(f, call, ret);
}

int follow_job(sd_bus *bus, const Args *a, const char *path, sd_bus_message **ret) {
        _cleanup_(follow_done) Follow f = { .bus = bus, .id = job_id_of(path) };
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = bus_new_call(bus, path, JOB_INTERFACE, "Wait", &call);
        return r < 0 ? r : follow(&f, call, a, ret);
}

int follow_call(sd_bus *bus, const Args *a, sd_bus_message *call, const char *operation, sd_bus_message **ret) {
        _cleanup_(follow_done) Follow f = { .bus = bus, .operation = operation };

        return follow(&f, call, a, ret);
}

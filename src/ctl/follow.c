/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/follow.h"
#include "ctl/event-loop.h"
#include "ctl/progress-line.h"
#include "ctl/terminal.h"
#include "wire/system-bus.h"

enum { REDRAW_USEC = 250000, REDRAW_ACCURACY_USEC = 10000 };

/* The interval between lines of progress without a terminal. Tests set a shorter one. */
static uint64_t report_interval(void) {
        unsigned long long usec;

        return parse_u64(strempty(getenv("SELVOL_REPORT_USEC")), &usec) >= 0 ? usec : 10 * USEC_PER_SEC;
}

/* After Control-C, a person does not wait longer for the number of the job. */
#define LOOK_TIMEOUT_USEC (2 * USEC_PER_SEC)

#define MATCH_JOBS                                                             \
        "type='signal',sender='" BUS_NAME "',interface='" PROPERTIES_INTERFACE \
        "',member='PropertiesChanged',arg0='" JOB_INTERFACE "',path_namespace='" JOB_PREFIX "'"

typedef struct Follow {
        sd_bus *bus;
        sd_event *event;
        sd_event_source *timer;
        bool quiet, on_terminal;
        char *owner;           /* selvold's name on the bus */
        const char *subject;   /* the name for messages */
        const char *target;    /* of the job to look for; NULL: none */
        const char *operation; /* of the job to look for; NULL: no job, or the job is known */
        uint64_t job;          /* 0: unknown */
        char **asked;          /* the jobs whose properties were read */
        sd_bus_slot *asking;
        JobProgress progress;
        ProgressLine line;                    /* on a terminal */
        char reported[PROGRESS_LINE_MAX + 1]; /* without a terminal: the last line */
        sd_bus_message *reply;
        int signal_number; /* the signal that ended the wait; 0: none */
} Follow;

static void take_progress(Follow *f, const json_t *properties) {
        progress_update(&f->progress, properties);
        /* The first line appears at the first tick of the timer, so a job that ends at once shows nothing. */
        if (sd_event_source_get_enabled(f->timer, NULL) == 0) {
                (void) sd_event_source_set_time_relative(f->timer, f->on_terminal ? REDRAW_USEC : report_interval());
                (void) sd_event_source_set_enabled(f->timer, SD_EVENT_ON);
        }
}

static bool is_job_of(const Follow *f, const json_t *properties) {
        const char *target = answer_string(properties, "Target");

        if (!streq(answer_string(properties, "Operation"), f->operation) ||
            streq(answer_string(properties, "State"), "ended"))
                return false;
        return (streq(answer_string(properties, "Volume"), f->subject) || streq(target, f->subject)) &&
               (!f->target || isempty(target) || streq(target, f->target));
}

/* Handlers ignore messages that they can't read, because they only show progress. */
static int on_properties(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_json_ json_t *properties = NULL;
        Follow *f = userdata;

        f->asking = sd_bus_slot_unref(f->asking);
        if (f->job > 0 || sd_bus_message_is_method_error(m, NULL) || answer_read(m, &properties) < 0 ||
            !is_job_of(f, properties))
                return 0;
        f->job = answer_number(properties, "Id");
        take_progress(f, properties);
        return 0;
}

/* Reads the properties of a job, to find the one of the call. polkit must not ask for a password for that. */
static void ask_for_properties(Follow *f, const char *path) {
        _cleanup_message_ sd_bus_message *call = NULL;

        /* Reads one job at a time: the others will change again. */
        if (!f->operation || f->asking || strv_contains(f->asked, path) || strv_extend(&f->asked, path) < 0)
                return;
        if (sd_bus_message_new_method_call(f->bus, &call, BUS_NAME, path, PROPERTIES_INTERFACE, "GetAll") < 0 ||
            sd_bus_message_append(call, "s", JOB_INTERFACE) < 0 ||
            sd_bus_message_set_allow_interactive_authorization(call, false) < 0)
                return;
        (void) sd_bus_call_async(f->bus, &f->asking, call, on_properties, f, 0);
}

static int on_changed(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_json_ json_t *properties = NULL;
        const char *path = sd_bus_message_get_path(m);
        Follow *f = userdata;

        if (!streq_ptr(sd_bus_message_get_sender(m), f->owner))
                return 0;
        if (f->job == 0)
                ask_for_properties(f, path);
        else if (job_number(path) == f->job && sd_bus_message_skip(m, "s") >= 0 && answer_read(m, &properties) >= 0)
                take_progress(f, properties);
        return 0;
}

/* Prints the progress as a new line, if it has changed. */
static void report_progress(Follow *f) {
        char line[PROGRESS_LINE_MAX + 1];
        _cleanup_free_ char *text = NULL;

        progress_format_numbers(&f->progress, PROGRESS_LINE_MAX, line);
        if (line[0] == '\0' || streq(line, f->reported))
                return;
        strcpy(f->reported, line);
        text = strdup_printf("job %" PRIu64 ": %s", f->job, line + strspn(line, " "));
        if (text)
                report_note(f->subject, text);
}

static int on_tick(sd_event_source *source, uint64_t usec, void *userdata) {
        Follow *f = userdata;

        if (f->on_terminal) {
                progress_draw(&f->line, &f->progress);
                return sd_event_source_set_time_relative(source, REDRAW_USEC);
        }
        report_progress(f);
        return sd_event_source_set_time_relative(source, report_interval());
}

/* A failure only costs the view of the progress. */
static int on_matched(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Follow *f = userdata;

        f->signal_number = (int) si->ssi_signo;
        return 0;
}

static int on_reply(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Follow *f = userdata;

        f->reply = sd_bus_message_ref(m);
        return 0;
}

static void follow_done(Follow *f) {
        progress_clear(&f->line);
        sd_event_source_disable_unref(f->timer);
        sd_bus_slot_unref(f->asking);
        sd_bus_message_unref(f->reply);
        strv_free(f->asked);
        free(f->owner);
        loop_free(f->bus, f->event);
}

static int follow_prepare(Follow *f) {
        int r;

        r = loop_new(f->bus, on_signal, f, &f->event);
        if (r < 0)
                return r;
        r = sd_event_add_time_relative(f->event, &f->timer, CLOCK_MONOTONIC, REDRAW_USEC, REDRAW_ACCURACY_USEC,
                                       on_tick, f);
        if (r < 0)
                return r;
        return sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
}

/* Looks for the job of the call. Returns the time for which a job that only this caller waits for keeps its
 * place; 0: the job continues, or is not found. */
static uint64_t look_for_job(Follow *f) {
        uint64_t kept_usec = 0;

        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_json_ json_t *objects = NULL;
        json_t *object;
        const char *path;

        if (!f->operation ||
            sd_bus_message_new_method_call(f->bus, &call, BUS_NAME, MANAGER_PATH,
                                           "org.freedesktop.DBus.ObjectManager", "GetManagedObjects") < 0 ||
            sd_bus_message_set_allow_interactive_authorization(call, false) < 0 ||
            system_bus_call(f->bus, call, LOOK_TIMEOUT_USEC, NULL, &reply) < 0 || answer_read(reply, &objects) < 0)
                return 0;
        json_object_foreach (objects, path, object) {
                const json_t *job = json_object_get(object, JOB_INTERFACE);

                if (!job || !is_job_of(f, job))
                        continue;
                f->job = answer_number(job, "Id");
                if (streq(answer_string(job, "State"), "waiting") && answer_number(job, "Callers") <= 1)
                        kept_usec = answer_number(job, "TimeoutUSec");
        }
        return kept_usec;
}

static int report_interrupt(Follow *f) {
        uint64_t kept_usec = look_for_job(f);
        _cleanup_free_ char *text = NULL, *kept = NULL;

        if (kept_usec > 0) {
                kept = format_seconds(kept_usec / USEC_PER_SEC);
                text = kept ? strdup_printf(
                                      "the %s is not made unless the same command is run again within %s; 'selvolctl cancel %" PRIu64
                                      "' ends it at once",
                                      f->operation, kept, f->job)
                            : NULL;
        } else if (f->job > 0)
                text = strdup_printf("job %" PRIu64 " continues; 'selvolctl cancel %" PRIu64 "' ends it", f->job,
                                     f->job);
        else
                text = strdup("selvold continues, see 'selvolctl jobs'");
        if (!text)
                return -ENOMEM;
        report_note(f->subject, text);
        return EXIT_SIGNAL + f->signal_number;
}

static int follow_run(Follow *f, sd_bus_message *call, sd_bus_message **ret) {
        _cleanup_(sd_bus_slot_unrefp) sd_bus_slot *pending = NULL, *match = NULL;
        const sd_bus_error *error;
        int r;

        if (!f->quiet && bus_find_service(f->bus, &f->owner) > 0)
                (void) sd_bus_add_match_async(f->bus, &match, MATCH_JOBS, on_changed, on_matched, f);
        r = sd_bus_call_async(f->bus, &pending, call, on_reply, f, UINT64_MAX);
        if (r < 0)
                return r;
        /* sd_event_loop() would close the bus at its end. */
        while (!f->reply && f->signal_number == 0) {
                r = sd_event_run(f->event, UINT64_MAX);
                if (r < 0)
                        return r;
        }
        progress_clear(&f->line);
        if (!f->reply)
                return report_interrupt(f);

        error = sd_bus_message_get_error(f->reply);
        if (error)
                return bus_report_error(f->subject, error);
        *ret = TAKE_PTR(f->reply);
        return 0;
}

static int follow_call(Follow *f, sd_bus_message *call, const Args *a, sd_bus_message **ret) {
        int r;

        f->subject = a->operands[0];
        f->quiet = args_have(a, SWITCH_QUIET);
        f->on_terminal = terminal_is_capable(STDERR_FILENO);
        r = follow_prepare(f);
        return r < 0 ? r : follow_run(f, call, ret);
}

int follow_job(sd_bus *bus, const Args *a, const char *path, sd_bus_message **ret) {
        _cleanup_(follow_done) Follow f = { .bus = bus, .job = job_number(path) };
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = sd_bus_message_new_method_call(bus, &call, BUS_NAME, path, JOB_INTERFACE, "Wait");
        return r < 0 ? r : follow_call(&f, call, a, ret);
}

int follow_request(sd_bus *bus, const Args *a, const char *operation, sd_bus_message **ret, const char *method,
                   const char *types, ...) {
        const char *last = a->operands[a->n_operands - 1];
        _cleanup_(follow_done) Follow f = {
                .bus = bus,
                .target = last[0] == '/' ? last : NULL,
                .operation = operation,
        };
        _cleanup_message_ sd_bus_message *call = NULL;
        va_list ap;
        int r;

        va_start(ap, types);
        r = call_new_request(bus, &call, a->values, method, types, ap);
        va_end(ap);
        return r < 0 ? r : follow_call(&f, call, a, ret);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/answer.h"
#include "ctl/follow.h"
#include "ctl/terminal.h"
#include "wire/system-bus.h"

/* --- the progress, and its line --- */

enum { PROGRESS_LINE_MAX = 512, BAR_MIN = 10, BAR_MAX = 40 };

#define CLEAR_LINE "\r\033[K"

void progress_update(JobProgress *p, const json_t *properties) {
        const struct {
                const char *name;
                uint64_t *target;
        } known[] = {
                { "EntriesDone", &p->done },
                { "EntriesTotal", &p->total },
                { "EntriesPerSecond", &p->per_second },
                { "ExpectedEndUSec", &p->expected_end_usec },
        };

        for (size_t i = 0; i < ELEMENTSOF(known); i++) {
                const json_t *value = json_object_get(properties, known[i].name);

                if (json_is_integer(value))
                        *known[i].target = (uint64_t) json_integer_value(value);
        }
}

unsigned int progress_percent(uint64_t done, uint64_t total) {
        if (total == 0)
                return 0;
        return done >= total ? 100 : (unsigned int) (100.0 * (double) done / (double) total);
}

uint64_t progress_remaining(uint64_t expected_end_usec) {
        uint64_t now = now_realtime_usec();

        if (expected_end_usec <= now)
                return 0;
        return ((expected_end_usec - now - 1) / USEC_PER_SEC + 1) * USEC_PER_SEC;
}

/* Appends a part if it fits. */
_printf_(3, 4) static void append_part(char *line, size_t width, const char *format, ...) {
        char text[64];
        va_list ap;

        va_start(ap, format);
        (void) vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        if (strlen(line) + strlen("  ") + strlen(text) > width + (line[0] == '\0' ? strlen("  ") : 0))
                return;
        if (line[0] != '\0')
                strcat(line, "  ");
        strcat(line, text);
}

static void append_time_left(char *line, size_t width, uint64_t expected_end_usec) {
        uint64_t remaining = progress_remaining(expected_end_usec);
        _cleanup_free_ char *time = NULL;

        if (remaining == 0)
                return;
        time = format_seconds(remaining / USEC_PER_SEC);
        if (time)
                append_part(line, width, "%s left", time);
}

/* Inserts a bar before the line, in the columns that the line leaves free. */
static void prepend_bar(char *line, size_t width, unsigned int percent) {
        size_t used = strlen(line) + strlen("[]  "), n, full;

        if (used + BAR_MIN > width)
                return;
        n = width - used < BAR_MAX ? width - used : BAR_MAX;
        full = n * percent / 100;
        memmove(line + n + strlen("[]  "), line, strlen(line) + 1);
        line[0] = '[';
        memset(line + 1, '#', full);
        memset(line + 1 + full, '-', n - full);
        line[1 + n] = ']';
        memset(line + 1 + n + 1, ' ', 2);
}

/* Formats percentage, counts, rate and time left, as many of them as fit into width columns
 * (PROGRESS_LINE_MAX at most). ASCII, so that a byte is a column. "" if nothing is known or fits. */
static void progress_format_numbers(const JobProgress *p, size_t width, char ret[static PROGRESS_LINE_MAX + 1]) {
        assert(width <= PROGRESS_LINE_MAX);

        ret[0] = '\0';
        if (p->total > 0) {
                append_part(ret, width, "%3u%%", progress_percent(p->done, p->total));
                append_part(ret, width, "%" PRIu64 "/%" PRIu64, p->done, p->total);
        } else if (p->done > 0)
                append_part(ret, width, "%" PRIu64 " entries", p->done);
        if (p->per_second > 0)
                append_part(ret, width, "%" PRIu64 "/s", p->per_second);
        append_time_left(ret, width, p->expected_end_usec);
}

/* Formats the numbers, behind a bar if there is room. */
static void format_line(const JobProgress *p, size_t width, char ret[static PROGRESS_LINE_MAX + 1]) {
        progress_format_numbers(p, width, ret);
        if (p->total > 0 && ret[0] != '\0')
                prepend_bar(ret, width, progress_percent(p->done, p->total));
}

/* The width of the terminal less one column: after a character in the last column, terminals differ in the
 * place of the cursor. */
static size_t usable_width(void) {
        size_t n = terminal_width(STDERR_FILENO);

        return n - 1 < PROGRESS_LINE_MAX ? n - 1 : PROGRESS_LINE_MAX;
}

/* The line on the terminal. It is on standard error, because standard output is for the result. */
typedef struct ProgressLine {
        char shown[PROGRESS_LINE_MAX + 1];
} ProgressLine;

/* Shows the line in place of the previous one. */
static void progress_draw(ProgressLine *l, const JobProgress *p) {
        char line[PROGRESS_LINE_MAX + 1];

        format_line(p, usable_width(), line);
        if (streq(line, l->shown))
                return;
        /* One write(2) avoids flicker. */
        (void) dprintf(STDERR_FILENO, CLEAR_LINE "%s", line);
        strcpy(l->shown, line);
}

/* Removes the line from the terminal. */
static void progress_clear(ProgressLine *l) {
        if (l->shown[0] != '\0')
                (void) dprintf(STDERR_FILENO, CLEAR_LINE);
        l->shown[0] = '\0';
}

/* --- the call --- */

/* "pod-A at /target", "job 3 (mount of pvc-1)", "umount of /mnt by its user"; NULL on lack of memory. */
static char *describe_blocker(const json_t *blocker) {
        const char *name = answer_string(blocker, "Holder"), *target = answer_string(blocker, "Target");
        const uint64_t job = answer_number(blocker, "Job");
        _cleanup_free_ char *holder = format_string(isempty(name) ? "a mount by others" : name),
                            *at = format_string(target), *volume = format_string(answer_string(blocker, "Volume"));

        if (!holder || !at || !volume)
                return NULL;
        if (job > 0)
                return strdup_printf("job %" PRIu64 " (%s of %s)", job, answer_string(blocker, "Operation"), volume);
        if (isempty(target) || streq(name, target))
                return strdup(holder);
        return strdup_printf("%s at %s", holder, at);
}

char *job_describe_wait(const json_t *job) {
        const json_t *blockers = json_object_get(job, "WaitsFor"), *callers = json_object_get(job, "Callers");
        _cleanup_free_ char *first = NULL;

        if (json_is_integer(callers) && json_integer_value(callers) == 0)
                return strdup("its caller, who has gone");
        if (json_array_size(blockers) == 0)
                return strdup("other jobs to end");
        first = describe_blocker(json_array_get(blockers, 0));
        if (!first || json_array_size(blockers) == 1)
                return TAKE_PTR(first);
        return strdup_printf("%s, and %zu more", first, json_array_size(blockers) - 1);
}

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
        uint64_t wait_usec;    /* how long the caller waits for a conflict to end; 0: not at all */
        bool has_looked;       /* for a job that waits */
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

/* Finds the job of the call among all objects. */
static const json_t *find_job(const Follow *f, const json_t *objects) {
        const json_t *object, *job;
        const char *path;

        json_object_foreach ((json_t *) objects, path, object) {
                job = json_object_get(object, JOB_INTERFACE);
                if (job && is_job_of(f, job))
                        return job;
        }
        return NULL;
}

static int on_objects(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        _cleanup_json_ json_t *objects = NULL;
        _cleanup_free_ char *who = NULL, *time = NULL, *text = NULL;
        Follow *f = userdata;
        const json_t *job;

        if (f->job > 0 || sd_bus_message_is_method_error(m, NULL) || answer_read(m, &objects) < 0)
                return 0;
        job = find_job(f, objects);
        if (!job || !streq(answer_string(job, "State"), "waiting"))
                return 0;
        f->job = answer_number(job, "Id");
        who = job_describe_wait(job);
        time = format_seconds(f->wait_usec / USEC_PER_SEC);
        text = who && time ? strdup_printf("waiting for %s, at most %s%s", who, time,
                                           f->on_terminal ? " (Control-C gives up)" : "")
                           : NULL;
        if (text)
                report_note(f->subject, text);
        return 0;
}

/* Looks for the job of a call that takes long, and may wait for a conflict to end. */
static void look_for_wait(Follow *f) {
        _cleanup_message_ sd_bus_message *call = NULL;

        f->has_looked = true;
        if (objects_call_new(f->bus, &call) >= 0)
                (void) sd_bus_call_async(f->bus, NULL, call, on_objects, f, 0);
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

        if (f->job == 0 && f->wait_usec > 0 && !f->has_looked) {
                look_for_wait(f);
                return sd_event_source_set_enabled(source, SD_EVENT_OFF);
        }
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
        _cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
        _cleanup_json_ json_t *objects = NULL;
        const json_t *job;

        if (!f->operation || objects_call_new(f->bus, &call) < 0 ||
            system_bus_call(f->bus, call, LOOK_TIMEOUT_USEC, NULL, &reply) < 0 || answer_read(reply, &objects) < 0)
                return 0;
        job = find_job(f, objects);
        if (!job)
                return 0;
        f->job = answer_number(job, "Id");
        return streq(answer_string(job, "State"), "waiting") && answer_number(job, "Callers") <= 1
                       ? answer_number(job, "TimeoutUSec")
                       : 0;
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
        if (!f->quiet && f->wait_usec > 0)
                (void) sd_event_source_set_enabled(f->timer, SD_EVENT_ON);
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
                .wait_usec = a->values[OPTION_WAIT].set ? a->values[OPTION_WAIT].number : 0,
        };
        _cleanup_message_ sd_bus_message *call = NULL;
        va_list ap;
        int r;

        va_start(ap, types);
        r = call_new_request(bus, &call, a->values, method, types, ap);
        va_end(ap);
        return r < 0 ? r : follow_call(&f, call, a, ret);
}

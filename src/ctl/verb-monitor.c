/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <inttypes.h>

#include "basic/string-util.h"
#include "basic/time-util.h"
#include "ctl/bus.h"
#include "ctl/print.h"
#include "ctl/terminal.h"
#include "ctl/verbs.h"
#include "model/context.h"

#define MATCH_SERVICE "type='signal',sender='" BUS_NAME "'"
#define MATCH_OWNER   "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='" BUS_NAME "'"

enum { ARGUMENTS_MAX = 5 };

/* The manager's signals, and the names of their arguments; "": ignored. */
static const struct {
        const char *signal;
        const char *arguments[ARGUMENTS_MAX];
} signals[] = {
        { "ContextConflict", { "Volume", "Wanted", "Held", "Holders" } },
        { "ContextReleased", { "Volume", "Context" } },
        { "GroupConflict", { "Volume", "Wanted", "Holders" } },
        { "GroupReleased", { "Volume", "Group" } },
        { "JobNew", { "Job" } },
        { "JobRemoved", { "Job", "", "Volume", "Operation", "Result" } },
        { "MountChanged", { "Volume", "Target", "Text" } },
};

/* The verb follows selvold's volumes and jobs until SIGINT or SIGTERM, and prints a line for each event. It
 * does not start selvold. */
typedef struct Monitor {
        const Args *args;
        bool jobs_only; /* jobs --watch */
        sd_bus *bus;
        sd_event *event;
        json_t *known; /* the properties of each object, by its path */
        char *owner;   /* selvold's name on the bus; NULL: it does not run */
        bool interrupted;
        int result; /* an exit code or a negative errno that ends the monitor */
} Monitor;

/* --- sentences --- */

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

/* Prints an event that was asked for. Takes members over. */
static int emit_event(const Monitor *m, const char *event, json_t *members) {
        _cleanup_json_ json_t *owned = members, *all = NULL;
        const char *volume = m->args->n_operands > 0 ? m->args->operands[0] : NULL;

        if (!owned)
                return -ENOMEM;
        if (!startswith(event, "Service") && ((m->jobs_only && !startswith(event, "Job")) ||
                                              (volume && !streq(answer_string(owned, "Volume"), volume))))
                return 0;
        if (!args_have(m->args, SWITCH_JSON))
                return print_event(event, owned);
        all = json_pack("{s:I, s:s}", "TimeUSec", (json_int_t) now_realtime_usec(), "Event", event);
        return !all || json_object_update(all, owned) < 0 ? -ENOMEM : print_json_line(all);
}

/* --- known objects --- */

static int remember_object(Monitor *m, const char *path, const json_t *interfaces) {
        json_t *properties = json_object_get(interfaces, job_number(path) > 0 ? JOB_INTERFACE : VOLUME_INTERFACE);
        int r;

        if (!properties)
                return 0;
        r = object_clear_unset(properties);
        if (r < 0)
                return r;
        return json_object_set(m->known, path, properties) < 0 ? -ENOMEM : 0;
}

static int remember_all(Monitor *m, json_t *objects) {
        json_t *interfaces;
        const char *path;
        int r;

        json_object_foreach (objects, path, interfaces) {
                r = remember_object(m, path, interfaces);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Returns 0, an exit code, or a negative errno. */
static int learn_objects(Monitor *m) {
        _cleanup_json_ json_t *objects = NULL;
        int r;

        r = objects_read(m->bus, &objects);
        return r != 0 ? r : remember_all(m, objects);
}

/* If the call fails, only signals add known objects. */
static int on_learned(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_json_ json_t *objects = NULL;
        Monitor *m = userdata;

        if (sd_bus_message_is_method_error(reply, NULL))
                return 0;
        m->result = answer_read(reply, &objects);
        if (m->result >= 0)
                m->result = remember_all(m, objects);
        return 0;
}

/* Reads the objects asynchronously, because a blocking call would hold up signals. Does not start a service
 * that has ended again. */
static int learn_later(Monitor *m) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = objects_call_new(m->bus, &call);
        if (r < 0)
                return r;
        r = sd_bus_call_async(m->bus, NULL, call, on_learned, m, 0);
        return r < 0 ? r : 0;
}

/* --- signals --- */

static int add_argument(json_t *members, const char *name, sd_bus_message *message) {
        _cleanup_json_ json_t *value = NULL;
        int r;

        r = answer_read(message, &value);
        if (r < 0 || isempty(name))
                return r;
        return json_object_set(members, name, value) < 0 ? -ENOMEM : 0;
}

/* Adds properties of the job: JobNew has only the job's path. */
static int add_job(const Monitor *m, sd_bus_message *message, json_t *members) {
        static const char *const keys[] = { "Operation", "Volume", "Target", "Holder", "Context" };
        const char *path;
        json_t *job;

        if (sd_bus_message_read(message, "o", &path) < 0)
                return -EBADMSG;
        job = json_object_get(m->known, path);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                json_t *value = json_object_get(job, keys[i]);

                if (value && json_object_set(members, keys[i], value) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int on_manager_signal(Monitor *m, sd_bus_message *message) {
        const char *event = sd_bus_message_get_member(message);
        _cleanup_json_ json_t *members = json_object();
        int r = members ? 0 : -ENOMEM;

        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                if (!streq(signals[i].signal, event))
                        continue;
                for (size_t k = 0; k < ARGUMENTS_MAX && signals[i].arguments[k] && r >= 0; k++)
                        r = add_argument(members, signals[i].arguments[k], message);
                if (r >= 0 && streq(event, "JobNew"))
                        r = add_job(m, message, members);
        }
        return r < 0 ? r : emit_event(m, event, json_incref(members));
}

static json_t *id_of(const Monitor *m, const char *path) {
        return json_object_get(json_object_get(m->known, path), "Id");
}

static int on_object_signal(Monitor *m, sd_bus_message *message) {
        bool added = streq(sd_bus_message_get_member(message), "InterfacesAdded");
        _cleanup_json_ json_t *interfaces = NULL, *id = NULL;
        const char *path;
        int r;

        r = sd_bus_message_read(message, "o", &path);
        if (r >= 0)
                r = answer_read(message, &interfaces);
        if (r >= 0 && added)
                r = remember_object(m, path, interfaces);
        if (r < 0)
                return r;
        id = json_incref(id_of(m, path));
        if (!added)
                (void) json_object_del(m->known, path);
        /* JobNew and JobRemoved report jobs. */
        if (!id || job_number(path) > 0)
                return 0;
        return emit_event(m, added ? "VolumeAdded" : "VolumeRemoved", json_pack("{s:O}", "Volume", id));
}

/* Updates before, and keeps in changed only the values that differ; for a job, whose progress changes all the
 * time, only its state. */
static int take_changes(json_t *before, bool job, json_t *changed) {
        json_t *value;
        const char *key;
        void *next;

        json_object_foreach_safe (changed, next, key, value) {
                bool wanted = (!job || streq(key, "State")) && !json_equal(value, json_object_get(before, key));

                if (json_object_set(before, key, value) < 0)
                        return -ENOMEM;
                if (!wanted)
                        (void) json_object_del(changed, key);
        }
        return 0;
}

static int on_changed(Monitor *m, sd_bus_message *message) {
        const char *path = sd_bus_message_get_path(message);
        json_t *before = json_object_get(m->known, path), *members;
        _cleanup_json_ json_t *changed = NULL;
        bool job = job_number(path) > 0;
        int r;

        if (!before)
                return 0;
        r = sd_bus_message_skip(message, "s");
        if (r < 0)
                return r;
        r = answer_read(message, &changed);
        if (r < 0)
                return r;
        r = object_clear_unset(changed);
        if (r < 0)
                return r;
        r = take_changes(before, job, changed);
        if (r < 0)
                return r;
        if (json_object_size(changed) == 0)
                return 0;
        members = job ? json_pack("{s:O?, s:O?}", "Job", id_of(m, path), "Volume", json_object_get(before, "Volume"))
                      : json_pack("{s:O?}", "Volume", id_of(m, path));
        if (!members || json_object_update(members, changed) < 0) {
                json_decref(members);
                return -ENOMEM;
        }
        return emit_event(m, job ? "JobChanged" : "VolumeChanged", members);
}

/* Anybody can send signals to this connection alone, which sd-bus takes for those that were asked for. */
static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *interface = sd_bus_message_get_interface(message);
        Monitor *m = userdata;

        if (!streq_ptr(sd_bus_message_get_sender(message), m->owner))
                return 0;
        if (streq_ptr(interface, MANAGER_INTERFACE))
                m->result = on_manager_signal(m, message);
        else if (streq_ptr(interface, "org.freedesktop.DBus.ObjectManager"))
                m->result = on_object_signal(m, message);
        else if (streq_ptr(interface, PROPERTIES_INTERFACE))
                m->result = on_changed(m, message);
        return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name, *old, *new;
        Monitor *m = userdata;

        if (!streq_ptr(sd_bus_message_get_sender(message), "org.freedesktop.DBus") ||
            sd_bus_message_read(message, "sss", &name, &old, &new) < 0)
                return 0;
        m->result = free_and_strdup(&m->owner, new);
        if (m->result < 0)
                return 0;
        (void) json_object_clear(m->known);
        m->result = emit_event(m, isempty(new) ? "ServiceStopped" : "ServiceStarted", json_object());
        if (m->result == 0 && !isempty(new))
                m->result = learn_later(m);
        return 0;
}

static int on_interrupt(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        Monitor *m = userdata;

        m->interrupted = true;
        return 0;
}

static int monitor_begin(Monitor *m) {
        int r;

        m->known = json_object();
        if (!m->known)
                return -ENOMEM;
        /* If the bus refuses a match, sd-bus ends the connection. */
        r = sd_bus_add_match_async(m->bus, NULL, MATCH_SERVICE, on_signal, NULL, m);
        if (r < 0)
                return r;
        r = sd_bus_add_match_async(m->bus, NULL, MATCH_OWNER, on_owner, NULL, m);
        if (r < 0)
                return r;
        r = bus_find_service(m->bus, &m->owner);
        if (r < 0)
                return r;
        r = r > 0 ? learn_objects(m) : 0;
        return r != 0 ? r : loop_new(m->bus, on_interrupt, m, &m->event);
}

static void monitor_done(Monitor *m) {
        loop_free(m->bus, m->event);
        json_decref(m->known);
        free(m->owner);
}

int verb_monitor(sd_bus *bus, const Args *a) {
        _cleanup_(monitor_done) Monitor m = { .args = a, .jobs_only = args_have(a, SWITCH_WATCH), .bus = bus };
        int r;

        r = monitor_begin(&m);
        if (r != 0)
                return r;
        while (m.result == 0 && !m.interrupted) {
                r = sd_event_run(m.event, UINT64_MAX);
                if (r < 0)
                        return r;
                if (sd_bus_is_open(bus) <= 0)
                        return -ECONNRESET;
        }
        return m.result;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/string-util.h"
#include "ctl/bus.h"
#include "ctl/event-stream.h"

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

/* Takes members over. */
static int emit_event(const EventStream *w, const char *event, json_t *members) {
        _cleanup_json_ json_t *owned = members;

        return owned ? w->handler(w, event, owned) : -ENOMEM;
}

/* --- known objects --- */

static int remember_object(EventStream *w, const char *path, const json_t *interfaces) {
        json_t *properties = json_object_get(interfaces, job_number(path) > 0 ? JOB_INTERFACE : VOLUME_INTERFACE);
        int r;

        if (!properties)
                return 0;
        r = object_clear_unset(properties);
        if (r < 0)
                return r;
        return json_object_set(w->known, path, properties) < 0 ? -ENOMEM : 0;
}

static int remember_all(EventStream *w, json_t *objects) {
        json_t *interfaces;
        const char *path;
        int r;

        json_object_foreach (objects, path, interfaces) {
                r = remember_object(w, path, interfaces);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Returns 0, an exit code, or a negative errno. */
static int learn_objects(EventStream *w) {
        _cleanup_json_ json_t *objects = NULL;
        int r;

        r = objects_read(w->bus, &objects);
        return r != 0 ? r : remember_all(w, objects);
}

/* If the call fails, only signals add known objects. */
static int on_learned(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        _cleanup_json_ json_t *objects = NULL;
        EventStream *w = userdata;

        if (sd_bus_message_is_method_error(reply, NULL))
                return 0;
        w->result = answer_read(reply, &objects);
        if (w->result >= 0)
                w->result = remember_all(w, objects);
        if (w->result == 0)
                w->result = emit_event(w, EVENT_NO_NEWS, json_object());
        return 0;
}

/* Reads the objects asynchronously, because a blocking call would hold up signals. Does not start a service
 * that has ended again. */
static int learn_later(EventStream *w) {
        _cleanup_message_ sd_bus_message *call = NULL;
        int r;

        r = objects_call_new(w->bus, &call);
        if (r < 0)
                return r;
        r = sd_bus_call_async(w->bus, NULL, call, on_learned, w, 0);
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
static int add_job(const EventStream *w, sd_bus_message *message, json_t *members) {
        static const char *const keys[] = { "Operation", "Volume", "Target", "Holder", "Context" };
        const char *path;
        json_t *job;

        if (sd_bus_message_read(message, "o", &path) < 0)
                return -EBADMSG;
        job = json_object_get(w->known, path);
        for (size_t i = 0; i < ELEMENTSOF(keys); i++) {
                json_t *value = json_object_get(job, keys[i]);

                if (value && json_object_set(members, keys[i], value) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int on_manager_signal(EventStream *w, sd_bus_message *message) {
        const char *event = sd_bus_message_get_member(message);
        _cleanup_json_ json_t *members = json_object();
        int r = members ? 0 : -ENOMEM;

        for (size_t i = 0; i < ELEMENTSOF(signals); i++) {
                if (!streq(signals[i].signal, event))
                        continue;
                for (size_t k = 0; k < ARGUMENTS_MAX && signals[i].arguments[k] && r >= 0; k++)
                        r = add_argument(members, signals[i].arguments[k], message);
                if (r >= 0 && streq(event, "JobNew"))
                        r = add_job(w, message, members);
        }
        return r < 0 ? r : emit_event(w, event, json_incref(members));
}

static json_t *id_of(const EventStream *w, const char *path) {
        return json_object_get(json_object_get(w->known, path), "Id");
}

static int on_object_signal(EventStream *w, sd_bus_message *message) {
        bool added = streq(sd_bus_message_get_member(message), "InterfacesAdded");
        _cleanup_json_ json_t *interfaces = NULL, *id = NULL;
        const char *path;
        int r;

        r = sd_bus_message_read(message, "o", &path);
        if (r >= 0)
                r = answer_read(message, &interfaces);
        if (r >= 0 && added)
                r = remember_object(w, path, interfaces);
        if (r < 0)
                return r;
        id = json_incref(id_of(w, path));
        if (!added)
                (void) json_object_del(w->known, path);
        if (!id)
                return 0;
        /* JobNew and JobRemoved report jobs. */
        if (job_number(path) > 0)
                return emit_event(w, EVENT_NO_NEWS, json_object());
        return emit_event(w, added ? "VolumeAdded" : "VolumeRemoved", json_pack("{s:O}", "Volume", id));
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

static int on_changed(EventStream *w, sd_bus_message *message) {
        const char *path = sd_bus_message_get_path(message);
        json_t *before = json_object_get(w->known, path), *members;
        _cleanup_json_ json_t *changed = NULL;
        bool job = job_number(path) > 0;
        int r;

        if (!before)
                return 0;
        r = sd_bus_message_skip(message, "s");
        if (r >= 0)
                r = answer_read(message, &changed);
        if (r >= 0)
                r = object_clear_unset(changed);
        if (r >= 0)
                r = take_changes(before, job, changed);
        if (r < 0)
                return r;
        if (json_object_size(changed) == 0)
                return emit_event(w, EVENT_NO_NEWS, json_object());
        members = job ? json_pack("{s:O?, s:O?}", "Job", id_of(w, path), "Volume", json_object_get(before, "Volume"))
                      : json_pack("{s:O?}", "Volume", id_of(w, path));
        if (!members || json_object_update(members, changed) < 0) {
                json_decref(members);
                return -ENOMEM;
        }
        return emit_event(w, job ? "JobChanged" : "VolumeChanged", members);
}

/* Anybody can send signals to this connection alone, which sd-bus takes for those that were asked for. */
static int on_signal(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *interface = sd_bus_message_get_interface(message);
        EventStream *w = userdata;

        if (!streq_ptr(sd_bus_message_get_sender(message), w->owner))
                return 0;
        if (streq_ptr(interface, MANAGER_INTERFACE))
                w->result = on_manager_signal(w, message);
        else if (streq_ptr(interface, "org.freedesktop.DBus.ObjectManager"))
                w->result = on_object_signal(w, message);
        else if (streq_ptr(interface, PROPERTIES_INTERFACE))
                w->result = on_changed(w, message);
        return 0;
}

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *name, *old, *new;
        EventStream *w = userdata;

        if (!streq_ptr(sd_bus_message_get_sender(message), "org.freedesktop.DBus") ||
            sd_bus_message_read(message, "sss", &name, &old, &new) < 0)
                return 0;
        w->running = !isempty(new);
        w->result = free_and_strdup(&w->owner, new);
        if (w->result < 0)
                return 0;
        (void) json_object_clear(w->known);
        w->result = emit_event(w, w->running ? "ServiceStarted" : "ServiceStopped", json_object());
        if (w->result == 0 && w->running)
                w->result = learn_later(w);
        if (w->result == 0)
                w->result = emit_event(w, EVENT_NO_NEWS, json_object());
        return 0;
}

static int on_interrupt(sd_event_source *source, const struct signalfd_siginfo *si, void *userdata) {
        EventStream *w = userdata;

        w->interrupted = true;
        return 0;
}

int event_stream_begin(EventStream *w, sd_bus *bus, EventHandler handler, void *userdata) {
        int r;

        *w = (EventStream){ .bus = bus, .known = json_object(), .handler = handler, .userdata = userdata };
        if (!w->known)
                return -ENOMEM;
        /* If the bus refuses a match, sd-bus ends the connection. */
        r = sd_bus_add_match_async(bus, NULL, MATCH_SERVICE, on_signal, NULL, w);
        if (r >= 0)
                r = sd_bus_add_match_async(bus, NULL, MATCH_OWNER, on_owner, NULL, w);
        if (r >= 0)
                r = bus_find_service(bus, &w->owner);
        if (r < 0)
                return r;
        w->running = r > 0;
        r = w->running ? learn_objects(w) : 0;
        return r != 0 ? r : loop_new(bus, on_interrupt, w, &w->event);
}

int event_stream_run(EventStream *w) {
        while (w->result == 0 && !w->interrupted) {
                int r;

                r = sd_event_run(w->event, UINT64_MAX);
                if (r < 0)
                        return r;
                if (sd_bus_is_open(w->bus) <= 0)
                        return -ECONNRESET;
        }
        return w->result;
}

void event_stream_done(EventStream *w) {
        loop_free(w->bus, w->event);
        json_decref(w->known);
        free(w->owner);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <string.h>

#include <systemd/sd-id128.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/callers.h"
#include "api/connect.h"
#include "api/objects.h"
#include "api/signals.h"
#include "basic/log.h"
#include "basic/time-util.h"
#include "model/limits.h"
#include "wire/system-bus.h"

/* sd-bus would reply to this call by itself, but ends the connection if /etc/machine-id is missing, or if
 * SELinux denies to read it. */
static int reply_machine_id(sd_bus_message *call, sd_bus_error *error) {
        char text[SD_ID128_STRING_MAX];
        sd_id128_t id;
        int r;

        r = sd_id128_get_machine(&id);
        if (r < 0)
                return sd_bus_error_setf(error, SD_BUS_ERROR_FAILED,
                                         "The machine's id can't be read (%s): see machine-id(5).", strerror(-r));
        r = sd_bus_reply_method_return(call, "s", sd_id128_to_string(id, text));
        return r < 0 ? r : 1;
}

static int on_message(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Api *api = userdata;
        int r;

        if (!authorize_find_query(api, message)) {
                r = turns_filter(api->turns, message, error);
                if (r != 0)
                        return r;
        }
        if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Peer", "GetMachineId"))
                return reply_machine_id(message, error);
        return authorize_filter(api, message, error);
}

static int on_name_lost(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Api *api = userdata;
        const char *name;
        int r;

        r = sd_bus_message_read(signal, "s", &name);
        if (r < 0)
                return r;
        turns_forget(api->turns, name);
        calls_forget(api, name);
        authorize_forget(api, name);
        sender_forget(api, name);
        return 0;
}

/* This also happens when sd-bus has no memory to read a message. */
static int on_bus_disconnected(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        api_leave(userdata, "The connection to the system bus has ended");
        return 0;
}

static int connect_bus(Api *api) {
        int r;

        r = system_bus_open(&api->bus);
        if (r < 0)
                return r;
        r = sd_bus_match_signal_async(api->bus, NULL, NULL, "/org/freedesktop/DBus/Local",
                                      "org.freedesktop.DBus.Local", "Disconnected", on_bus_disconnected, NULL, api);
        if (r < 0)
                return r;
        /* At exit, selvold still replies to waiting callers. */
        r = sd_bus_set_close_on_exit(api->bus, false);
        if (r < 0)
                return r;
        r = sd_bus_set_method_call_timeout(api->bus, BUS_ANSWER_SEC * USEC_PER_SEC);
        if (r < 0)
                return r;
        r = sd_bus_add_object_manager(api->bus, NULL, MANAGER_PATH);
        if (r < 0)
                return r;
        r = manager_object_add(api);
        if (r < 0)
                return r;
        r = objects_add(api);
        if (r < 0)
                return r;
        /* One match for all callers: a match for each caller would cost the bus two more messages for each
         * call. */
        r = sd_bus_add_match_async(api->bus, NULL,
                                   "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                                   "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''",
                                   on_name_lost, NULL, api);
        if (r < 0)
                return r;
        r = sd_bus_add_filter(api->bus, NULL, on_message, api);
        if (r < 0)
                return r;
        return sd_bus_attach_event(api->bus, api->state->event, SD_EVENT_PRIORITY_NORMAL);
}

static int own_name(Api *api, uint64_t flags) {
        int r;

        r = sd_bus_request_name(api->bus, BUS_NAME, flags | SD_BUS_NAME_ALLOW_REPLACEMENT);
        if (r == -EEXIST)
                return log_error_errno(r, "The bus name %s is taken: another selvold is running.", BUS_NAME);
        return r < 0 ? log_error_errno(r, "Failed to take the bus name %s: %m", BUS_NAME) : 0;
}

/* The bus may keep the name for the old connection until it notices that the connection has ended. */
static int on_leave(sd_event_source *source, void *userdata) {
        Api *api = userdata;
        int r;

        turns_forget(api->turns, NULL);
        calls_abandon(api);
        authorize_teardown(api);
        senders_teardown(api);
        api->bus = sd_bus_close_unref(api->bus);
        r = connect_bus(api);
        if (r < 0)
                log_error_errno(r, "Failed to connect to the system bus: %m");
        else
                r = own_name(api, SD_BUS_NAME_REPLACE_EXISTING);
        if (r < 0)
                return sd_event_exit(api->state->event, EXIT_FAILURE);
        log_info("Connected to the system bus again.");
        return 0;
}

static int on_stalled(sd_event_source *source, uint64_t usec, void *userdata) {
        api_leave(userdata, "The bus takes no messages");
        return 0;
}

/* Runs after each iteration of the event loop: does the bus take the messages that selvold sends? */
static int on_bus_post(sd_event_source *source, void *userdata) {
        Api *api = userdata;
        uint64_t n;
        int enabled;

        if (sd_bus_get_n_queued_write(api->bus, &n) < 0 || n == 0) {
                turns_resume(api->turns);
                return sd_event_source_set_enabled(api->stalled, SD_EVENT_OFF);
        }
        if (n > BUS_QUEUED_MAX)
                api_leave(api, "The bus takes messages too slowly");
        if (sd_event_source_get_enabled(api->stalled, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return 0;
        (void) sd_event_source_set_time_relative(api->stalled, BUS_STALLED_SEC * USEC_PER_SEC);
        return sd_event_source_set_enabled(api->stalled, SD_EVENT_ONESHOT);
}

int api_new(State *state, uid_t trusted_uid, unsigned polkit_timeout, Api **ret) {
        _cleanup_(api_freep) Api *api = calloc(1, sizeof(*api));
        sd_event *event = state->event;
        int r;

        if (!api)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        *api = (Api){ .state = state, .trusted_uid = trusted_uid, .polkit_timeout = polkit_timeout };
        r = jobs_new(state, &api->jobs);
        if (r >= 0)
                r = turns_new(api, &api->turns);
        if (r >= 0)
                r = sd_event_add_defer(event, &api->leave, on_leave, api);
        if (r >= 0)
                r = sd_event_source_set_enabled(api->leave, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_source_set_priority(api->leave, SD_EVENT_PRIORITY_IMPORTANT);
        if (r >= 0)
                r = sd_event_add_time(event, &api->stalled, CLOCK_MONOTONIC, 0, 0, on_stalled, api);
        if (r >= 0)
                r = sd_event_source_set_enabled(api->stalled, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_add_post(event, &api->post, on_bus_post, api);
        if (r < 0)
                return log_error_errno(r, "Failed to set up the event loop: %m");
        r = connect_bus(api);
        if (r < 0)
                return log_error_errno(r, "Failed to connect to the system bus: %m");
        signals_setup(api);
        *ret = TAKE_PTR(api);
        return 0;
}

int api_own_name(Api *api) {
        return own_name(api, 0);
}

Api *api_free(Api *api) {
        if (!api)
                return NULL;
        jobs_free(api->jobs);
        signals_teardown(api);
        calls_teardown(api);
        authorize_teardown(api);
        senders_teardown(api);
        turns_free(api->turns);
        sd_event_source_disable_unref(api->leave);
        sd_event_source_disable_unref(api->stalled);
        sd_event_source_disable_unref(api->post);
        sd_bus_flush_close_unref(api->bus);
        free(api);
        return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/authorize.h"
#include "api/call.h"
#include "api/connect.h"
#include "api/log-control.h"
#include "api/objects.h"
#include "api/signals.h"
#include "basic/log.h"

static int add_objects(Api *api) {
        int r;

        r = sd_bus_add_object_manager(api->bus, NULL, MANAGER_PATH);
        if (r < 0)
                return r;
        r = manager_object_add(api);
        if (r < 0)
                return r;
        r = volume_objects_add(api);
        if (r < 0)
                return r;
        r = job_objects_add(api);
        if (r < 0)
                return r;
        r = log_control_register(api->bus);
        if (r < 0)
                return r;
        r = calls_setup(api);
        if (r < 0)
                return r;
        return authorize_setup(api);
}

static int connect_bus(Api *api) {
        int r;

        r = sd_bus_open_system(&api->bus);
        if (r < 0)
                return r;
        r = sd_bus_set_exit_on_disconnect(api->bus, true);
        if (r < 0)
                return r;
        /* At the end those who wait are told first. */
        r = sd_bus_set_close_on_exit(api->bus, false);
        if (r < 0)
                return r;
        r = add_objects(api);
        if (r < 0)
                return r;
        return sd_bus_attach_event(api->bus, api->state->event, SD_EVENT_PRIORITY_NORMAL);
}

int api_new(State *state, uid_t trusted_uid, Api **ret) {
        _cleanup_(api_freep) Api *api = calloc(1, sizeof(*api));
        int r;

        if (!api)
                return log_error_errno(-ENOMEM, "Failed to start: %m");
        *api = (Api){ .state = state, .trusted_uid = trusted_uid };
        r = jobs_new(state, &api->jobs);
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
        int r;

        r = sd_bus_request_name(api->bus, BUS_NAME, 0);
        if (r == -EEXIST)
                return log_error_errno(r, "The bus name %s is taken: another selvold is running.", BUS_NAME);
        return r < 0 ? log_error_errno(r, "Failed to take the bus name %s: %m", BUS_NAME) : 0;
}

Api *api_free(Api *api) {
        if (!api)
                return NULL;
        jobs_free(api->jobs);
        signals_teardown(api);
        calls_teardown(api);
        authorize_teardown(api);
        sd_bus_flush_close_unref(api->bus);
        free(api);
        return NULL;
}

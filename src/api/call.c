/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/reply.h"
#include "basic/log.h"

struct Call {
        Call *prev, *next;
        Api *api;
        sd_bus_message *message;
        const Job *job;
        sd_bus_track *caller; /* while the job is in line */
};

static void call_free(Call *c) {
        DL_DELETE(c->api->calls, c);
        sd_bus_track_unref(c->caller);
        sd_bus_message_unref(c->message);
        free(c);
}

static Call *call_new(Api *api, sd_bus_message *message) {
        Call *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->api = api;
        c->message = sd_bus_message_ref(message);
        DL_APPEND(api->calls, c);
        return c;
}

void calls_teardown(Api *api) {
        while (api->calls)
                call_free(api->calls);
}

static void on_answer(const Job *job, void *userdata) {
        Call *c = userdata;
        int r;

        r = reply_send(c->message, job);
        if (r < 0)
                log_error_errno(r, "Failed to answer a call: %m");
        call_free(c);
}

static int on_caller_gone(sd_bus_track *track, void *userdata) {
        Call *c = userdata;

        log_debug("%s has gone, and waits no more.", strempty(sd_bus_message_get_sender(c->message)));
        job_forget_waiter(c->api->jobs, c);
        call_free(c);
        return 0;
}

/* Without memory the job is as if the caller stayed. */
static void watch_caller(Call *c) {
        if (c->caller || sd_bus_track_new(c->api->bus, &c->caller, on_caller_gone, c) < 0)
                return;
        (void) sd_bus_track_add_sender(c->caller, c->message);
}

void calls_watch_callers(Api *api, const Job *job) {
        Call *c;

        DL_FOREACH (api->calls, c)
                if (c->job == job)
                        watch_caller(c);
}

static char *describe_caller(Api *api, sd_bus_message *message) {
        const char *sender = strempty(sd_bus_message_get_sender(message));
        uid_t uid;

        if (authorize_get_uid(api, message, &uid) < 0)
                return strdup(sender);
        return strdup_printf("uid %u, %s", (unsigned) uid, sender);
}

/* The call is gone already if it was answered at once. */
static bool call_exists(const Api *api, const Call *call) {
        const Call *c;

        DL_FOREACH (api->calls, c)
                if (c == call)
                        return true;
        return false;
}

int call_start(Api *api, sd_bus_message *message, Operation operation, Request *request, VerifyDepth depth,
               sd_bus_error *error) {
        _cleanup_(caller_done) Caller caller = { .text = describe_caller(api, message),
                                                 .trusted = authorize_is_trusted(api, message) };
        _cleanup_failure_ Failure f = { 0 };
        Call *c = call_new(api, message);
        Job *job;
        int r;

        if (!caller.text || !c)
                return -ENOMEM;
        r = job_start(api->jobs, operation, request, depth, &caller, on_answer, c, &job, &f);
        if (r != 0) {
                call_free(c);
                return api_refuse(api, r, &f, error);
        }
        if (call_exists(api, c)) {
                c->job = job;
                /* Most jobs end at once, which isn't worth a match on the bus. */
                if (job->state == JOB_WAITING || job->n_waiters > 1)
                        watch_caller(c);
        }
        return 1;
}

int call_follow(Api *api, sd_bus_message *message, Job *job, sd_bus_error *error) {
        /* However many wait, it can still be canceled. */
        size_t max = sd_bus_message_is_method_call(message, NULL, "Cancel") ? 2 * WAITERS_MAX : WAITERS_MAX;
        _cleanup_failure_ Failure f = { 0 };
        Call *c = call_new(api, message);
        int r;

        if (!c)
                return -ENOMEM;
        r = job_follow(job, on_answer, c, max, &f);
        if (r == 0) {
                if (call_exists(api, c)) {
                        c->job = job;
                        watch_caller(c);
                }
                return 1;
        }
        call_free(c);
        return api_refuse(api, r, &f, error);
}

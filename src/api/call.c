/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <utlist.h>

#include "api/authorize.h"
#include "api/call.h"
#include "api/reply.h"
#include "api/sender.h"
#include "api/turns.h"
#include "basic/log.h"

struct Call {
        Call *prev, *next;
        Api *api;
        sd_bus_message *message;
};

static void call_free(Call *c) {
        DL_DELETE(c->api->calls, c);
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

void calls_abandon(Api *api) {
        while (api->calls) {
                job_forget_waiter(api->jobs, api->calls);
                call_free(api->calls);
        }
}

static void on_answer(const Job *job, void *userdata) {
        Call *c = userdata;
        int r;

        r = reply_send(c->message, job);
        if (r < 0)
                api_leave(c->api, "A reply can't be sent");
        call_free(c);
}

/* Who asked for no reply need not stay. */
static bool waits(const Call *c, const char *caller) {
        return streq_ptr(sd_bus_message_get_sender(c->message), caller) &&
               sd_bus_message_get_expect_reply(c->message) > 0;
}

static void forget_caller(Api *api, const char *name) {
        Call *c, *next;

        DL_FOREACH_SAFE (api->calls, c, next) {
                if (!waits(c, name))
                        continue;
                log_debug("%s has gone, and waits no more.", name);
                job_forget_waiter(api->jobs, c);
                call_free(c);
        }
}

static int on_name_lost(sd_bus_message *signal, void *userdata, sd_bus_error *error) {
        Api *api = userdata;
        const char *name;
        int r;

        r = sd_bus_message_read(signal, "s", &name);
        if (r < 0)
                return r;
        turns_forget(api->turns, name);
        forget_caller(api, name);
        authorize_forget(api, name);
        sender_forget(api, name);
        return 0;
}

/* One match for all: to watch each caller by itself takes the bus two more messages for each call. */
int calls_setup(Api *api) {
        return sd_bus_add_match_async(api->bus, NULL,
                                      "type='signal',sender='org.freedesktop.DBus',path='/org/freedesktop/DBus',"
                                      "interface='org.freedesktop.DBus',member='NameOwnerChanged',arg2=''",
                                      on_name_lost, NULL, api);
}

static int describe_caller(Api *api, sd_bus_message *message, Caller *c) {
        int r;

        /* Nothing is begun for a caller who has left in the meantime: no limit would hold. */
        r = sender_get_uid(api, message, &c->uid);
        if (r < 0)
                return r;
        c->trusted = sender_is_trusted(api, message);
        c->text = sender_describe(api, message);
        c->name = sender_caller(api, message);
        return c->text && c->name ? 0 : -ENOMEM;
}

int call_start(Api *api, sd_bus_message *message, Operation operation, Request *request, VerifyDepth depth,
               sd_bus_error *error) {
        _cleanup_(caller_done) Caller caller = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        Call *c;
        int r;

        r = describe_caller(api, message, &caller);
        if (r < 0)
                return r;
        c = call_new(api, message);
        if (!c)
                return -ENOMEM;
        r = job_start(api->jobs, operation, request, depth, &caller, on_answer, c, &f);
        if (r == 0)
                return 1;
        call_free(c);
        return api_refuse(api, r, &f, error);
}

int call_follow(Api *api, sd_bus_message *message, Job *job, sd_bus_error *error) {
        bool cancels = sd_bus_message_is_method_call(message, NULL, "Cancel");
        _cleanup_(caller_done) Caller caller = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        Call *c;
        int r;

        r = describe_caller(api, message, &caller);
        if (r < 0)
                return r;
        c = call_new(api, message);
        if (!c)
                return -ENOMEM;
        r = job_follow(job, &caller, cancels, on_answer, c, &f);
        if (r == 0)
                return 1;
        call_free(c);
        return api_refuse(api, r, &f, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <uthash.h>

#include "api/sender.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "model/limits.h"

struct Sender {
        UT_hash_handle hh;
        char *name; /* on the bus */
        uid_t uid;
};

static void sender_free(Api *api, Sender *s) {
        HASH_DEL(api->senders, s);
        free(s->name);
        free(s);
}

static void forget_all(Api *api) {
        Sender *s, *next;

        HASH_ITER (hh, api->senders, s, next)
                sender_free(api, s);
}

void sender_forget(Api *api, const char *name) {
        Sender *s;

        HASH_FIND_STR(api->senders, name, s);
        if (s)
                sender_free(api, s);
}

void senders_teardown(Api *api) {
        forget_all(api);
        api->lookup = sd_bus_close_unref(api->lookup);
}

static int remember(Api *api, const char *name, uid_t uid) {
        Sender *s = calloc(1, sizeof(*s));

        if (!s)
                return -ENOMEM;
        *s = (Sender){ .name = strdup(name), .uid = uid };
        if (!s->name) {
                free(s);
                return -ENOMEM;
        }
        if (HASH_COUNT(api->senders) >= SENDERS_MAX)
                forget_all(api);
        HASH_ADD_KEYPTR(hh, api->senders, s->name, strlen(s->name), s);
        if (hash_was_added(s) < 0) {
                free(s->name);
                free(s);
                return -ENOMEM;
        }
        return 0;
}

static int open_lookup(Api *api) {
        int r;

        if (api->lookup && sd_bus_is_open(api->lookup) > 0)
                return 0;
        api->lookup = sd_bus_close_unref(api->lookup);
        r = sd_bus_open_system(&api->lookup);
        if (r < 0)
                return r;
        return sd_bus_set_method_call_timeout(api->lookup, BUS_ANSWER_SEC * USEC_PER_SEC);
}

/* While sd-bus waits for an answer it reads, and keeps, all that arrives on the connection: on this one, which has no name
 * that anybody may send to, nothing else does. */
static int ask_bus(Api *api, const char *name, uid_t *ret) {
        _cleanup_(sd_bus_creds_unrefp) sd_bus_creds *creds = NULL;
        int r;

        r = open_lookup(api);
        if (r < 0)
                return r;
        r = sd_bus_get_name_creds(api->lookup, name, SD_BUS_CREDS_EUID, &creds);
        if (r < 0)
                return r;
        return sd_bus_creds_get_euid(creds, ret);
}

int sender_get_uid(Api *api, sd_bus_message *call, uid_t *ret) {
        const char *name = strempty(sd_bus_message_get_sender(call));
        Sender *known;
        uid_t uid;
        int r;

        HASH_FIND_STR(api->senders, name, known);
        if (known) {
                *ret = known->uid;
                return 0;
        }
        r = ask_bus(api, name, &uid);
        if (r < 0)
                return r;
        r = remember(api, name, uid);
        if (r < 0)
                return r;
        *ret = uid;
        return 0;
}

bool sender_is_trusted(Api *api, sd_bus_message *call) {
        uid_t uid;

        return sender_get_uid(api, call, &uid) >= 0 && uid == api->trusted_uid;
}

char *sender_caller(Api *api, sd_bus_message *call) {
        uid_t uid;

        if (sender_get_uid(api, call, &uid) < 0)
                return NULL;
        return uid == api->trusted_uid ? strdup(sd_bus_message_get_sender(call))
                                       : strdup_printf("%u", (unsigned) uid);
}

char *sender_describe(Api *api, sd_bus_message *call) {
        const char *name = strempty(sd_bus_message_get_sender(call));
        uid_t uid;

        return sender_get_uid(api, call, &uid) < 0 ? strdup(name) : strdup_printf("uid %u, %s", (unsigned) uid, name);
}

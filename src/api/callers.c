/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <uthash.h>
#include <utlist.h>

#include "api/callers.h"
#include "basic/string-util.h"
#include "basic/time-util.h"
#include "model/quota.h"
#include "wire/system-bus.h"

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

static void senders_forget_all(Api *api) {
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
        senders_forget_all(api);
        api->lookup = sd_bus_close_unref(api->lookup);
}

/* While selvold waits for an answer it reads and drops all else that arrives on the connection. So the
 * question has a connection of its own, on which nobody calls. */
static int ask_bus(Api *api, const char *name, uid_t *ret) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
        uint32_t uid;
        int r;

        if (!api->lookup || sd_bus_is_open(api->lookup) <= 0) {
                api->lookup = sd_bus_close_unref(api->lookup);
                r = system_bus_open(&api->lookup);
                if (r < 0)
                        return r;
                r = sd_bus_set_method_call_timeout(api->lookup, BUS_ANSWER_SEC * USEC_PER_SEC);
                if (r < 0)
                        return r;
        }
        r = system_bus_call_method(api->lookup, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                   "org.freedesktop.DBus", "GetConnectionUnixUser", NULL, &reply, "s", name);
        if (r < 0)
                return r;
        r = sd_bus_message_read(reply, "u", &uid);
        if (r < 0)
                return r;
        *ret = uid;
        return 0;
}

int sender_get_uid(Api *api, sd_bus_message *call, uid_t *ret) {
        const char *name = strempty(sd_bus_message_get_sender(call));
        Sender *s;
        uid_t uid;
        int r;

        HASH_FIND_STR(api->senders, name, s);
        if (s) {
                *ret = s->uid;
                return 0;
        }
        r = ask_bus(api, name, &uid);
        if (r < 0)
                return r;
        s = calloc(1, sizeof(*s));
        if (!s)
                return -ENOMEM;
        *s = (Sender){ .name = strdup(name), .uid = uid };
        if (s->name && HASH_COUNT(api->senders) >= SENDERS_MAX)
                senders_forget_all(api);
        if (s->name)
                HASH_ADD_KEYPTR(hh, api->senders, s->name, strlen(s->name), s);
        if (hash_was_added(s) < 0) {
                free(s->name);
                free(s);
                return -ENOMEM;
        }
        *ret = uid;
        return 0;
}

char *sender_describe(Api *api, sd_bus_message *call) {
        const char *name = strempty(sd_bus_message_get_sender(call));
        uid_t uid;

        return sender_get_uid(api, call, &uid) < 0 ? strdup(name) : strdup_printf("uid %u, %s", (unsigned) uid, name);
}

int sender_is_root(Api *api, sd_bus_message *call, bool *ret) {
        uid_t uid;
        int r;

        r = sender_get_uid(api, call, &uid);
        if (r < 0)
                return r;
        *ret = uid == api->trusted_uid;
        return 0;
}

int sender_identify(Api *api, sd_bus_message *call, Caller *ret) {
        int r;

        r = sender_get_uid(api, call, &ret->uid);
        if (r < 0)
                return r;
        ret->trusted = ret->uid == api->trusted_uid;
        ret->text = sender_describe(api, call);
        ret->name = ret->trusted ? strdup(sd_bus_message_get_sender(call)) : strdup_printf("%u", (unsigned) ret->uid);
        return ret->text && ret->name ? 0 : -ENOMEM;
}

enum { PRIORITY = SD_EVENT_PRIORITY_NORMAL + 50 }; /* after all that is left to read */

typedef struct PutOff {
        struct PutOff *prev, *next;
        sd_bus_message *call;
} PutOff;

typedef struct TurnCaller {
        UT_hash_handle hh;
        char *name; /* as in Caller */
        size_t n_now;
        PutOff *calls;
        size_t n_calls, cost;
} TurnCaller;

struct Turns {
        Api *api;
        TurnCaller *callers;  /* of this turn, in the order of their turns */
        sd_bus_message *next; /* the call that is handled next */
        sd_event_source *source;
        uint64_t since_usec; /* when the source was enabled */
};

static size_t cost_of(sd_bus_message *call) {
        return sd_bus_message_is_method_call(call, NULL, "GetManagedObjects") ? CALL_ALL_OBJECTS_COST : 1;
}

static void drop_call(TurnCaller *c, PutOff *p) {
        DL_DELETE(c->calls, p);
        c->n_calls--;
        c->cost -= cost_of(p->call);
        sd_bus_message_unref(p->call);
        free(p);
}

static void turn_caller_free(Turns *t, TurnCaller *c) {
        HASH_DEL(t->callers, c);
        while (c->calls)
                drop_call(c, c->calls);
        free(c->name);
        free(c);
}

void turns_resume(Turns *t) {
        int enabled;

        if (!t->callers || sd_event_source_get_enabled(t->source, &enabled) < 0 || enabled != SD_EVENT_OFF)
                return;
        t->since_usec = now_monotonic_usec();
        (void) sd_event_source_set_enabled(t->source, SD_EVENT_ONESHOT);
}

/* Even if messages never stop to arrive, a turn comes after CALLS_DELAY_USEC. */
static int on_turn_prepare(sd_event_source *source, void *userdata) {
        const Turns *t = userdata;
        bool late = now_monotonic_usec() - t->since_usec >= CALLS_DELAY_USEC;

        return sd_event_source_set_priority(source, late ? SD_EVENT_PRIORITY_IMPORTANT : PRIORITY);
}

static int on_turn(sd_event_source *source, void *userdata) {
        TurnCaller *c, *next, *first = NULL;
        Turns *t = userdata;
        uint64_t n;
        int r;

        /* Waits until the bus has taken the replies so far. */
        if (t->next || sd_bus_get_n_queued_write(t->api->bus, &n) < 0 || n > 0)
                return 0;
        /* A caller without calls that were put off starts with a count of 0. */
        HASH_ITER (hh, t->callers, c, next) {
                c->n_now = 0;
                if (!c->calls)
                        turn_caller_free(t, c);
                else if (!first)
                        first = c;
        }
        if (!first)
                return 0;
        t->next = sd_bus_message_ref(first->calls->call);
        drop_call(first, first->calls);
        /* Moving the caller to the end needs no memory: the table has at least two entries, so uthash keeps
         * it. */
        if (HASH_COUNT(t->callers) >= 2) {
                HASH_DEL(t->callers, first);
                HASH_ADD_KEYPTR(hh, t->callers, first->name, strlen(first->name), first);
        }
        r = sd_bus_enqueue_for_read(t->api->bus, t->next);
        if (r < 0) {
                if (sd_bus_reply_method_errno(t->next, r, NULL) < 0)
                        api_leave(t->api, "A reply can't be sent");
                t->next = sd_bus_message_unref(t->next);
        }
        turns_resume(t);
        return 0;
}

static bool read_small(sd_bus_message *m, size_t *values, size_t *bytes, size_t bytes_max) {
        const char *contents;
        char type;
        int r;

        while ((r = sd_bus_message_peek_type(m, &type, &contents)) > 0) {
                union {
                        uint64_t number;
                        const char *string;
                } value;

                if (++*values > CALL_VALUES_MAX || type == SD_BUS_TYPE_UNIX_FD)
                        return false;
                if (contents) {
                        if (sd_bus_message_enter_container(m, type, contents) < 0 ||
                            !read_small(m, values, bytes, bytes_max) || sd_bus_message_exit_container(m) < 0)
                                return false;
                        continue;
                }
                if (sd_bus_message_read_basic(m, type, &value) < 0)
                        return false;
                if (strchr("sog", type))
                        *bytes += strlen(value.string);
                if (*bytes > bytes_max)
                        return false;
        }
        return r == 0;
}

/* Whether the call has few values, no descriptors, and at most bytes_max bytes of strings: selvold can then
 * keep the call before it knows whether the sender may call. Rewinds the message. */
static bool is_small(sd_bus_message *m, size_t bytes_max) {
        size_t values = 0, bytes = strlen(strempty(sd_bus_message_get_path(m)));

        return sd_bus_message_rewind(m, true) >= 0 && read_small(m, &values, &bytes, bytes_max) &&
               sd_bus_message_rewind(m, true) >= 0;
}

size_t call_count_bytes(sd_bus_message *call) {
        size_t values = 0, bytes = CALL_BYTES;

        if (sd_bus_message_rewind(call, true) >= 0)
                (void) read_small(call, &values, &bytes, CALL_BYTES_MAX);
        return bytes;
}

/* A call that is put off takes memory before selvold has checked whether the sender may call. */
static int put_off(Turns *t, TurnCaller *c, sd_bus_message *call, bool trusted, sd_bus_error *error) {
        _cleanup_failure_ Failure f = { 0 };
        const TurnCaller *other, *next;
        /* All calls take about the same memory; the limit for one caller also counts the work. */
        Quota q = { .caller = c->cost + cost_of(call) - 1 };
        PutOff *p;

        HASH_ITER (hh, t->callers, other, next)
                q.all += other->n_calls;
        if (quota_check(&q, LIMIT_CALLS, 1, trusted) != QUOTA_FITS || !is_small(call, CALL_PUT_OFF_BYTES_MAX))
                return api_refuse(t->api,
                                  failure_set(&f, FAILURE_LIMIT_REACHED,
                                              "Too many calls wait to be read: wait for answers, and try again."),
                                  &f, error);
        p = calloc(1, sizeof(*p));
        if (!p)
                return -ENOMEM;
        p->call = sd_bus_message_ref(call);
        DL_APPEND(c->calls, p);
        c->n_calls++;
        c->cost += cost_of(call);
        return 1;
}

int turns_filter(Turns *t, sd_bus_message *message, sd_bus_error *error) {
        _cleanup_(caller_done) Caller caller = { 0 };
        _cleanup_failure_ Failure f = { 0 };
        TurnCaller *c;
        int r;

        if (!sd_bus_message_get_sender(message) || !sd_bus_message_is_method_call(message, NULL, NULL))
                return 0;
        if (t->next == message) {
                t->next = sd_bus_message_unref(t->next);
                turns_resume(t);
                return 0;
        }
        if (!is_small(message, CALL_BYTES_MAX))
                return api_refuse(t->api,
                                  failure_set(&f, FAILURE_LIMIT_REACHED,
                                              "The call has more values, or longer ones, than any method takes."),
                                  &f, error);
        r = sender_identify(t->api, message, &caller);
        if (r < 0)
                return r;
        HASH_FIND_STR(t->callers, caller.name, c);
        if (!c) {
                c = calloc(1, sizeof(*c));
                if (!c)
                        return -ENOMEM;
                c->name = TAKE_PTR(caller.name);
                HASH_ADD_KEYPTR(hh, t->callers, c->name, strlen(c->name), c);
                if (hash_was_added(c) < 0) {
                        free(c->name);
                        free(c);
                        return -ENOMEM;
                }
        }
        turns_resume(t);
        if (c->calls || c->n_now >= CALLS_NOW_MAX || cost_of(message) > 1)
                return put_off(t, c, message, caller.trusted, error);
        c->n_now++;
        return 0;
}

void turns_forget(Turns *t, const char *sender) {
        TurnCaller *c, *next_caller;
        PutOff *p, *next;

        if (!sender)
                t->next = sd_bus_message_unref(t->next);
        HASH_ITER (hh, t->callers, c, next_caller)
                DL_FOREACH_SAFE (c->calls, p, next)
                        if (!sender || streq(sd_bus_message_get_sender(p->call), sender))
                                drop_call(c, p);
}

int turns_new(Api *api, Turns **ret) {
        Turns *t = calloc(1, sizeof(*t));
        int r;

        if (!t)
                return -ENOMEM;
        t->api = api;
        r = sd_event_add_defer(api->state->event, &t->source, on_turn, t);
        if (r >= 0)
                r = sd_event_source_set_enabled(t->source, SD_EVENT_OFF);
        if (r >= 0)
                r = sd_event_source_set_prepare(t->source, on_turn_prepare);
        if (r < 0) {
                turns_free(t);
                return r;
        }
        *ret = t;
        return 0;
}

Turns *turns_free(Turns *t) {
        if (!t)
                return NULL;
        turns_forget(t, NULL);
        while (t->callers)
                turn_caller_free(t, t->callers);
        sd_event_source_disable_unref(t->source);
        free(t);
        return NULL;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <sys/socket.h>

#include "api/callers.h"
#include "message.h"

/* The input has calls that arrive together. Each has the number of its sender, 1 for GetManagedObjects or
 * "", the length of a first string or "", its types, and its values. Each call has to be handled or refused:
 * it is refused if it has too many values, too long ones or a descriptor, and a small one is handled. The
 * calls of a caller are handled in their order. */

enum { CALLS = 64, USER = 1000 };

/* Root is a caller for each connection, and another user one for all of them. */
static const struct {
        const char *name;
        uid_t uid;
        size_t caller;
} senders[] = { { ":1.1", 0, 0 }, { ":1.2", 0, 1 }, { ":1.3", USER, 2 }, { ":1.4", USER, 2 } };

static State state;
static Api api = { .state = &state };
static sd_bus *clients; /* the other end of api.bus */

/* --- both ends of two connections --- */

static void connect_pair(sd_bus **ret_here, sd_bus **ret_there) {
        sd_id128_t id = SD_ID128_NULL;
        int fds[2];

        assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        assert(sd_bus_new(ret_here) >= 0 && sd_bus_new(ret_there) >= 0);
        assert(sd_bus_set_fd(*ret_here, fds[0], fds[0]) >= 0 && sd_bus_set_fd(*ret_there, fds[1], fds[1]) >= 0);
        assert(sd_bus_set_server(*ret_there, true, id) >= 0);
        assert(sd_bus_start(*ret_here) >= 0 && sd_bus_start(*ret_there) >= 0);
        while (sd_bus_is_ready(*ret_here) <= 0 || sd_bus_is_ready(*ret_there) <= 0)
                assert(sd_bus_process(*ret_here, NULL) >= 0 && sd_bus_process(*ret_there, NULL) >= 0);
}

static sd_bus_message *new_call(sd_bus *from, const char *sender, const char *member) {
        sd_bus_message *m = NULL;

        assert(sd_bus_message_new_method_call(from, &m, NULL, "/", "org.example.Fuzz", member) >= 0);
        assert(sd_bus_message_set_sender(m, sender) >= 0);
        return m;
}

/* selvold asks the bus once about each sender. The answers are sent before the questions, whose serials are
 * 1, 2 and so on. */
static void identify_senders(void) {
        sd_bus *bus;

        connect_pair(&api.lookup, &bus);
        for (size_t i = 0; i < ELEMENTSOF(senders); i++) {
                _cleanup_(sd_bus_message_unrefp) sd_bus_message *question = NULL, *answer = NULL, *call = NULL;
                uid_t uid;

                question = new_call(bus, senders[i].name, "GetConnectionUnixUser");
                call = new_call(clients, senders[i].name, "Fuzz");
                assert(sd_bus_message_seal(question, i + 1, 0) >= 0);
                assert(sd_bus_message_new_method_return(question, &answer) >= 0);
                assert(sd_bus_message_append(answer, "u", senders[i].uid) >= 0);
                assert(sd_bus_send(bus, answer, NULL) >= 0);
                assert(sender_get_uid(&api, call, &uid) == 0 && uid == senders[i].uid);
        }
        sd_bus_close_unref(bus);
}

static int on_call(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        return turns_filter(api.turns, m, error);
}

static void clean_up(void) {
        senders_teardown(&api);
        sd_bus_close_unref(clients);
        sd_bus_close_unref(api.bus);
        sd_event_unref(state.event);
        metrics_free(state.metrics);
}

static void prepare(void) {
        if (clients)
                return;
        assert(sd_event_new(&state.event) >= 0);
        state.metrics = metrics_new();
        assert(state.metrics);
        connect_pair(&clients, &api.bus);
        assert(sd_bus_attach_event(api.bus, state.event, SD_EVENT_PRIORITY_NORMAL) >= 0);
        assert(sd_bus_add_filter(api.bus, NULL, on_call, NULL) >= 0);
        identify_senders();
        assert(atexit(clean_up) == 0);
}

/* --- calls --- */

/* So many calls of GetManagedObjects take the whole limit of a caller. */
enum { ALL_OBJECTS = CALLS_PUT_OFF_OF_CALLER / CALL_ALL_OBJECTS_COST };

typedef struct Sent {
        size_t caller;
        bool large; /* has to be refused */
        bool small; /* has to be handled */
        struct Input *input;
} Sent;

typedef struct Input {
        Sent calls[CALLS];
        size_t n, n_answered, n_all_objects;
        const Sent *last[ELEMENTSOF(senders)]; /* of each caller the call that was handled last */
} Input;

static int on_answer(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        Sent *s = userdata;

        s->input->n_answered++;
        if (sd_bus_message_is_method_error(reply, "org.selvol1.Error.LimitReached")) {
                assert(!s->small);
                return 0;
        }
        /* A call that is handled is of an object that does not exist. */
        assert(sd_bus_message_is_method_error(reply, SD_BUS_ERROR_UNKNOWN_OBJECT));
        assert(!s->large && (!s->input->last[s->caller] || s->input->last[s->caller] < s));
        s->input->last[s->caller] = s;
        return 0;
}

static int fill_call(sd_bus_message *m, Words *w) {
        size_t length = words_next_number(w) % (2 * CALL_BYTES_MAX);
        _cleanup_free_ char *types = words_next(w), *text = calloc(1, length + 1);
        int r;

        assert(text);
        memset(text, 'x', length);
        w->filled = (Filled){ .bytes = strlen("/") };
        if (length > 0) {
                w->filled.values++;
                w->filled.bytes += length;
                r = sd_bus_message_append(m, "s", text);
                if (r < 0)
                        return r;
        }
        return message_fill(m, types, w);
}

static void send_call(Words *w, Input *input) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
        size_t sender = words_next_number(w) % ELEMENTSOF(senders);
        bool all_objects = words_next_number(w) > 0;
        Sent *s = &input->calls[input->n];
        const Filled *filled = &w->filled;

        m = new_call(clients, senders[sender].name, all_objects ? "GetManagedObjects" : "Fuzz");
        if (fill_call(m, w) < 0)
                return;
        input->n_all_objects += all_objects;
        *s = (Sent){
                .caller = senders[sender].caller,
                .large =
                        filled->values > CALL_VALUES_MAX || filled->bytes > CALL_BYTES_MAX || filled->descriptors > 0,
                .input = input,
        };
        s->small = !s->large && filled->bytes <= CALL_PUT_OFF_BYTES_MAX && input->n_all_objects < ALL_OBJECTS;
        if (sd_bus_call_async(clients, NULL, m, on_answer, s, UINT64_MAX) >= 0)
                input->n++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Words w = { .data = data, .size = size, .n_beyond = CALL_VALUES_MAX };
        Input input = { 0 };

        prepare();
        assert(turns_new(&api, &api.turns) == 0);
        while (!words_at_end(&w) && input.n < CALLS)
                send_call(&w, &input);
        while (input.n_answered < input.n)
                assert(sd_bus_process(clients, NULL) >= 0 && sd_event_run(state.event, 0) >= 0 &&
                       sd_bus_is_open(clients) > 0);
        api.turns = turns_free(api.turns);
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

bool words_at_end(const Words *w) {
        return w->size == 0;
}

char *words_next(Words *w) {
        char *s = fuzz_text(w->data, w->size);
        size_t n = strlen(s) + 1;

        if (n > w->size)
                n = w->size;
        w->data += n;
        w->size -= n;
        return s;
}

uint64_t words_next_number(Words *w) {
        _cleanup_free_ char *s = words_next(w);

        return strtoull(s, NULL, 10);
}

/* sd-bus makes and reads messages only for a bus that might become connected. */
static sd_bus *bus;

static void close_bus(void) {
        bus = sd_bus_close_unref(bus);
}

static void open_bus(void) {
        int fds[2];

        assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        assert(sd_bus_new(&bus) >= 0);
        assert(sd_bus_set_fd(bus, fds[0], fds[0]) >= 0);
        assert(sd_bus_start(bus) >= 0);
        close(fds[1]);
        assert(atexit(close_bus) == 0);
}

sd_bus_message *message_new(void) {
        sd_bus_message *m = NULL;

        if (!bus)
                open_bus();
        assert(sd_bus_message_new_signal(bus, &m, "/", "org.example.Fuzz", "Fuzz") >= 0);
        return m;
}

int message_finish(sd_bus_message *m) {
        int r = sd_bus_message_seal(m, 1, 0);

        if (r < 0)
                return r;
        assert(sd_bus_message_rewind(m, 1) >= 0);
        return 0;
}

/* --- filling --- */

typedef union Value {
        uint8_t y;
        int b;
        int16_t n;
        uint16_t q;
        int32_t i;
        uint32_t u;
        int64_t x;
        uint64_t t;
        double d;
        const char *s;
} Value;

/* utf8_is_valid() and sd-bus have to agree on strings, as messages of selvol would be lost otherwise. */
static int fill_string(sd_bus_message *m, char type, const char *s, const char *substitute, Filled *filled) {
        int r = sd_bus_message_append_basic(m, type, s);

        assert(type != 's' || (r >= 0) == utf8_is_valid(s));
        filled->bytes += strlen(r < 0 ? substitute : s);
        return r < 0 ? sd_bus_message_append_basic(m, type, substitute) : r;
}

static int fill_basic(sd_bus_message *m, char type, Words *w) {
        _cleanup_free_ char *s = words_next(w);
        uint64_t n = strtoull(s, NULL, 10);

        w->filled.values++;
        switch (type) {
        case 's':
                return fill_string(m, type, s, "not UTF-8", &w->filled);
        case 'o':
                return fill_string(m, type, s, "/", &w->filled);
        case 'g':
                return fill_string(m, type, s, "", &w->filled);
        case 'd':
                return sd_bus_message_append_basic(m, type, &(Value){ .d = strtod(s, NULL) });
        case 'b':
                return sd_bus_message_append_basic(m, type, &(Value){ .b = n != 0 });
        case 'h':
                w->filled.descriptors++;
                return sd_bus_message_append_basic(m, type, &(Value){ .i = STDIN_FILENO });
        default: /* other numbers are in the lower bytes of the union, and sd-bus refuses an invalid type */
                return sd_bus_message_append_basic(m, type, &(Value){ .t = n });
        }
}

/* Returns the length of the complete type at the beginning of types, 0 if types do not begin with one. */
static size_t type_length(const char *types) {
        size_t n = 0, depth = 0;

        while (types[n] == 'a')
                n++;
        do {
                if (types[n] == '\0')
                        return 0;
                if (strchr("({", types[n]))
                        depth++;
                else if (strchr(")}", types[n])) {
                        if (depth == 0)
                                return 0;
                        depth--;
                }
                n++;
        } while (depth > 0);
        return n;
}

/* Without this limit a type might be filled without an end, as words are "" after the last one. */
static bool may_fill(Words *w) {
        if (!words_at_end(w))
                return true;
        if (w->n_beyond == 0)
                return false;
        w->n_beyond--;
        return true;
}

static int fill_array(sd_bus_message *m, const char *element, Words *w) {
        uint64_t n = words_next_number(w);
        int r = 0;

        /* Most large numbers become a small one, as a long array takes time. */
        if (n > FILL_ELEMENTS_MAX + w->n_beyond)
                n = FILL_ELEMENTS_MAX;
        for (; r >= 0 && n > 0 && may_fill(w); n--)
                r = message_fill(m, element, w);
        return r;
}

/* types is the complete type of one container. */
static int fill_container(sd_bus_message *m, const char *types, Words *w) {
        _cleanup_free_ char *contents = NULL;
        char type = types[0];
        int r;

        if (type == 'v')
                contents = words_next(w);
        else if (type == 'a')
                contents = strdup(types + 1);
        else
                contents = strndup(types + 1, strlen(types) - 2);
        assert(contents);
        /* sd-bus sends an empty structure, but receives none. */
        if (type == '(' && isempty(contents))
                return -EINVAL;
        w->filled.values++;
        if (type == '(' || type == '{')
                type = type == '(' ? 'r' : 'e';
        r = sd_bus_message_open_container(m, type, contents);
        if (r < 0 && type == 'v') {
                free(contents);
                contents = strdup("s");
                r = sd_bus_message_open_container(m, type, contents);
        }
        if (r < 0)
                return r;
        r = type == 'a' ? fill_array(m, contents, w) : message_fill(m, contents, w);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

int message_fill(sd_bus_message *m, const char *types, Words *w) {
        size_t n;
        int r;

        for (; *types; types += n) {
                _cleanup_free_ char *one = NULL;

                n = type_length(types);
                one = strndup(types, n);
                assert(one);
                if (n == 0)
                        return -EINVAL;
                r = strchr("av({", one[0]) ? fill_container(m, one, w) : fill_basic(m, one[0], w);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* --- comparing --- */

static bool basics_equal(sd_bus_message *a, sd_bus_message *b, char type) {
        Value x = { 0 }, y = { 0 };

        assert(sd_bus_message_read_basic(a, type, &x) > 0 && sd_bus_message_read_basic(b, type, &y) > 0);
        return strchr("sog", type) ? streq(x.s, y.s) : x.t == y.t;
}

bool messages_equal(sd_bus_message *a, sd_bus_message *b) {
        const char *contents_a, *contents_b;
        char type_a, type_b;

        for (;;) {
                int r = sd_bus_message_peek_type(a, &type_a, &contents_a),
                    k = sd_bus_message_peek_type(b, &type_b, &contents_b);

                assert(r >= 0 && k >= 0);
                if (r == 0 || k == 0)
                        return r == k;
                if (type_a != type_b || !streq_ptr(contents_a, contents_b))
                        return false;
                if (!contents_a) {
                        if (!basics_equal(a, b, type_a))
                                return false;
                        continue;
                }
                assert(sd_bus_message_enter_container(a, type_a, contents_a) > 0 &&
                       sd_bus_message_enter_container(b, type_b, contents_b) > 0);
                if (!messages_equal(a, b))
                        return false;
                assert(sd_bus_message_exit_container(a) >= 0 && sd_bus_message_exit_container(b) >= 0);
        }
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "api/options.h"
#include "basic/path-util.h"
#include "message.h"
#include "model/volume.h"

/* The input has the options of a call: the number of a method; volume, source and target; then for each
 * option its name or its number in request_options, its type or "" for the right one, and its value. */

static const RequestMethod methods[] = {
        METHOD_MOUNT, METHOD_ADOPT, METHOD_UNMOUNT, METHOD_VERIFY, METHOD_RELABEL, METHOD_OWNERSHIP, 0
};

typedef struct Sent {
        RequestMethod method;
        bool seen[REQUEST_OPTIONS];
        bool refused; /* an option is unknown to the method, sent twice, or has another type */
} Sent;

/* A key may be a number, as the fuzzer would find the names only by chance. */
static char *next_key(Words *w) {
        char *key = words_next(w), *end;
        unsigned long n = strtoul(key, &end, 10);

        if (isempty(key) || *end || n >= REQUEST_OPTIONS)
                return key;
        free(key);
        key = strdup(request_options[n].name);
        assert(key);
        return key;
}

static int fill_option(sd_bus_message *m, Words *w, Sent *sent) {
        _cleanup_free_ char *key = next_key(w), *type = words_next(w);
        const RequestOption *o = request_option_find(key, sent->method);
        int r;

        if (!utf8_is_valid(key))
                return -EINVAL;
        if (isempty(type) && free_and_strdup(&type, o ? o->type : "s") < 0)
                return -ENOMEM;
        if (!o || sent->seen[o - request_options] || !streq(type, o->type))
                sent->refused = true;
        else
                sent->seen[o - request_options] = true;
        r = sd_bus_message_open_container(m, 'e', "sv");
        if (r >= 0)
                r = sd_bus_message_append(m, "s", key);
        if (r >= 0)
                r = sd_bus_message_open_container(m, 'v', type);
        if (r >= 0)
                r = message_fill(m, type, w);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static int fill_options(sd_bus_message *m, Words *w, Sent *sent) {
        int r;

        r = sd_bus_message_open_container(m, 'a', "{sv}");
        while (r >= 0 && !words_at_end(w))
                r = fill_option(m, w, sent);
        return r < 0 ? r : sd_bus_message_close_container(m);
}

static void check_validated(Request *q) {
        _cleanup_free_ char *spec = request_spec(q), *again = NULL;
        _cleanup_failure_ Failure f = { 0 };

        assert(path_is_normalized(q->target) && roots_contain(fuzz_settings()->target_roots, q->target));
        assert(volume_id_validate(q->volume, &(Failure){ 0 }) == 0 && text_is_clean(q->holder) &&
               text_is_clean(strempty(q->source)));
        assert(text_is_clean(strempty(q->driver)) && text_is_clean(q->volume_type));
        assert(spec && text_is_clean(spec));
        assert(request_validate(q, fuzz_settings(), &f) == 0);
        again = request_spec(q);
        assert(again && streq(spec, again));
}

static void check_read(sd_bus_message *m, RequestMethod method, const Request *q, VerifyDepth depth) {
        _cleanup_(request_done) Request again = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        VerifyDepth depth_again;

        assert(depth < VERIFY_DEPTHS && q->access_mode < ACCESS_MODES && q->relabel_by < RELABEL_BYS);
        assert(q->timeout_usec <= JOB_TIMEOUT_USEC_MAX && q->wait_usec <= JOB_TIMEOUT_USEC_MAX);
        assert(walk_options_validate(&q->walk, &f) == 0);
        assert(strv_length(q->mount_options) <= OPTIONS_MAX);
        assert(sd_bus_message_at_end(m, true) > 0);
        assert(sd_bus_message_rewind(m, true) >= 0);
        assert(options_read(m, method, &again, &depth_again, &f) == 0 && depth_again == depth);
        assert(streq_ptr(again.context, q->context) && strv_equal(again.mount_options, q->mount_options));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
        _cleanup_(request_done) Request q = REQUEST_INIT;
        _cleanup_failure_ Failure f = { 0 };
        Words w = { data, size };
        Sent sent = { .method = methods[words_next_number(&w) % ELEMENTSOF(methods)] };
        VerifyDepth depth;
        int r;

        q.volume = words_next(&w);
        q.source = words_next(&w);
        q.target = words_next(&w);
        if (sent.method == METHOD_ADOPT)
                q.source = (free(q.source), NULL);
        if (fill_options(m, &w, &sent) < 0)
                return 0;
        assert(message_finish(m) == 0);
        r = options_read(m, sent.method, &q, &depth, &f);
        fuzz_check_failure(r, &f);
        assert(!sent.refused || r == FAILURE_INVALID_OPTION);
        if (r != 0)
                return 0;
        check_read(m, sent.method, &q, depth);
        if (!(sent.method & (METHOD_MOUNT | METHOD_ADOPT)))
                return 0;
        r = request_validate(&q, fuzz_settings(), &f);
        fuzz_check_failure(r, &f);
        if (r == 0)
                check_validated(&q);
        return 0;
}

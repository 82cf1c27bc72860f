/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "message.h"
#include "model/limits.h"
#include "wire/messages.h"

/* The input is a message between the two processes: the number of its type, its signature or "" for the right
 * one, and its values. A message that was read has to be the same when it is appended again. */

/* Readers refuse more elements than this. The limit of reliances is higher (16384): inputs would take too
 * long, so test-wire.c has that. */
enum { BEYOND_MAX = 1200 };

/* Returns the result of message_read(). */
static int check(const MessageType *type, sd_bus_message *m, sd_bus_message *again) {
        _cleanup_free_ void *object = malloc(type->size);
        int r;

        assert(object);
        r = message_read(m, type, object);
        if (r < 0)
                return r;
        if (type == &watched_type) {
                const Watched *w = object;

                for (const OrphanInfo *o = w->orphans; o < w->orphans + w->n_orphans; o++)
                        /* Ids of volumes are any UTF-8, and escaped where they are shown. */
                        assert(o->pid > 0 && text_is_clean(o->operation) && utf8_is_valid(o->volume) &&
                               text_is_clean(o->target) && text_is_clean(o->source));
        }
        assert(message_append(again, type, object) == 0);
        message_done(type, object);
        return 0;
}

/* The inputs in corpus/ have positions in this array. */
static const MessageType *const types[] = {
        &node_type,           &mount_fact_type,    &mount_changes_type,
        &mount_outcome_type,  &observed_type,      &mark_type,
        &walk_counts_type,    &walk_result_type,   &mount_identity_type,
        &mount_call_type,     &adopt_call_type,    &change_call_type,
        &verify_call_type,    &verify_result_type, &unmount_call_type,
        &watched_type,        &plan_question_type, &plan_answer_type,
        &ready_question_type, &walk_question_type, &operation_result_type,
        &unmount_result_type,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        Words w = { .data = data, .size = size, .n_beyond = BEYOND_MAX };
        const MessageType *type = types[words_next_number(&w) % ELEMENTSOF(types)];
        _cleanup_free_ char *signature = words_next(&w);
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new(), *again = message_new();
        int r;

        if (message_fill(m, isempty(signature) ? type->signature : signature, &w) < 0 || message_finish(m) < 0)
                return 0;
        r = check(type, m, again);
        if (!streq(sd_bus_message_get_signature(m, true), type->signature)) {
                assert(r <= 0);
                return 0;
        }
        assert(r == 0 || r == -EBADMSG);
        if (r < 0)
                return 0;
        assert(sd_bus_message_at_end(m, true) > 0);
        assert(sd_bus_message_rewind(m, true) >= 0);
        assert(message_finish(again) == 0);
        assert(messages_equal(m, again));
        return 0;
}

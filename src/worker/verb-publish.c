/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "wire/protocol.h"
#include "worker/marshal.h"
#include "worker/staged.h"
#include "worker/verbs.h"

int verb_publish(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        uint64_t start = now_monotonic_usec();
        RecordEffect effect;
        const char *word;
        int r;

        r = sd_bus_message_read(m, WORKER_PUBLISH_IN, &word);
        if (r >= 0)
                r = unmarshal_effect(word, &effect);
        if (r < 0)
                return r;

        r = staged_check(child, true, &f);
        if (r == 0)
                r = staged_publish(child, child->staged, effect, start, &f);
        if (r == 0)
                r = reply_mounted(m, &child->staged->mounted);
        if (r == 0)
                child->staged = staged_free(child->staged);
        return child_finish(WORKER_PUBLISH, child->staged ? child->staged->target.path : NULL, r, &f, error);
}

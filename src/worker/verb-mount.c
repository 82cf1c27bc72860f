/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/time-util.h"
#include "wire/protocol.h"
#include "worker/marshal.h"
#include "worker/staged.h"
#include "worker/verbs.h"

int verb_mount(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(mount_call_done) MountCall c = MOUNT_CALL_INIT;
        _cleanup_(staged_freep) Staged *staged = NULL;
        uint64_t start = now_monotonic_usec();
        RecordEffect effect;
        const char *word;
        int r;

        r = mount_call_read(m, &c);
        if (r >= 0)
                r = sd_bus_message_read(m, "s", &word);
        if (r >= 0)
                r = unmarshal_effect(word, &effect);
        if (r < 0)
                return r;

        c.publish = true; /* "" is no target, but a wrong one */
        r = child_check_propagation(child, &f);
        if (r == 0)
                r = mount_call_check(&c, child->settings, &f);
        if (r == 0)
                r = staged_make(child, &c, &staged, &f);
        if (r == 0)
                r = staged_publish(child, staged, effect, start, &f);
        if (r == 0)
                r = reply_mounted(m, &staged->mounted);
        return child_finish(WORKER_MOUNT, c.request.target, r, &f, error);
}

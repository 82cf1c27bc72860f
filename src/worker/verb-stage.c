/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/protocol.h"
#include "worker/marshal.h"
#include "worker/staged.h"
#include "worker/verbs.h"

int verb_stage(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        Child *child = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(mount_call_done) MountCall c = MOUNT_CALL_INIT;
        int r;

        r = mount_call_read(m, &c);
        if (r < 0)
                return r;

        r = staged_check(child, false, &f);
        if (r == 0)
                r = child_check_propagation(child, &f);
        if (r == 0)
                r = mount_call_check(&c, child->settings, &f);
        if (r == 0)
                r = staged_make(child, &c, &child->staged, &f);
        if (r == 0)
                r = reply_mounted(m, &child->staged->mounted);
        return child_finish(WORKER_STAGE, c.publish ? c.request.target : NULL, r, &f, error);
}

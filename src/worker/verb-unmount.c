/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "wire/protocol.h"
#include "mount/unmount.h"
#include "worker/verbs.h"

static void log_unmounted(const char *path) {
        _cleanup_free_ char *target = string_escape(path, 200);
        const LogField fields[] = { { "SELVOL_TARGET", target } };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Unmounted %s.", strempty(target));
}

int verb_unmount(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Child *c = userdata;
        _cleanup_failure_ Failure f = { 0 };
        const char *target;
        uint64_t mount_id;
        bool unmounted;
        int r;

        r = sd_bus_message_read(m, WORKER_UNMOUNT_IN, &target, &mount_id);
        if (r < 0)
                return r;

        r = unmount_target(target, c->settings, mount_id, &unmounted, &f);
        if (r == 0) {
                if (unmounted)
                        log_unmounted(target);
                r = sd_bus_reply_method_return(m, WORKER_UNMOUNT_OUT, unmounted);
                r = r < 0 ? r : 0;
        }
        return child_finish(WORKER_UNMOUNT, target, r, &f, error);
}

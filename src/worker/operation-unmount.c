/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "mount/unmount.h"
#include "worker/operations.h"

static void log_unmounted(const char *path) {
        _cleanup_free_ char *target = string_escape(path, 200);
        const LogField fields[] = { { "SELVOL_TARGET", target } };

        log_fields(LOG_INFO, fields, ELEMENTSOF(fields), "Unmounted %s.", strempty(target));
}

int operation_unmount(Child *c, const UnmountCall *call, bool *ret_unmounted, Failure *f) {
        int r;

        r = unmount_target(call->target, c->settings, call->identity.id, call->identity.device, ret_unmounted, f);
        if (r != 0)
                return r;
        if (*ret_unmounted)
                log_unmounted(call->target);
        else
                log_debug("There is no such mount to unmount.");
        return 0;
}

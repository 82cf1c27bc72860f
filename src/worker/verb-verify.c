/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/worker-protocol.h"
#include "label/selinux.h"
#include "mount/target.h"
#include "worker/verbs.h"

static int verify(const Settings *settings, const char *path, const char *expected, bool *ret_matches,
                  char **ret_actual, Failure *f) {
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_free_ char *canonical = NULL, *actual = NULL;
        int r;

        r = selinux_check_context(expected, &canonical, f);
        if (r != 0)
                return r;
        r = target_open(path, settings, &target, f);
        if (r != 0)
                return r;
        r = selinux_read_label(target.fd, &actual);
        if (r < 0)
                return r;

        *ret_matches = streq(actual, canonical);
        *ret_actual = TAKE_PTR(actual);
        return 0;
}

int verb_verify(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Child *c = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_free_ char *actual = NULL;
        const char *path, *expected;
        bool matches;
        int r;

        r = sd_bus_message_read(m, WORKER_VERIFY_IN, &path, &expected);
        if (r < 0)
                return r;

        r = verify(c->settings, path, expected, &matches, &actual, &f);
        if (r == 0) {
                r = sd_bus_reply_method_return(m, WORKER_VERIFY_OUT, matches, actual);
                r = r < 0 ? r : 0;
        }
        return child_finish(WORKER_VERIFY, path, r, &f, error);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/protocol.h"
#include "label/selinux.h"
#include "mount/stage.h"
#include "worker/marshal.h"
#include "worker/mounted.h"
#include "worker/verbs.h"

static int inspect(const Settings *settings, const char *path, Mounted *ret, Failure *f) {
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(mounted_done) Mounted mounted = { 0 };
        int r;

        r = target_open_mount(path, settings, &target, f);
        if (r != 0)
                return r;
        r = stage_read_back(target.fd, path, &mounted.outcome);
        if (r >= 0)
                r = mounted_read_root(target.fd, &mounted);
        if (r < 0)
                return r;

        *ret = mounted;
        mounted = (Mounted){ 0 };
        return 0;
}

static int reply(sd_bus_message *m, const Node *node, const Mounted *mounted) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *answer = NULL;
        int r;

        r = sd_bus_message_new_method_return(m, &answer);
        if (r >= 0)
                r = marshal_node(answer, node);
        if (r >= 0)
                r = marshal_mounted(answer, mounted);
        if (r >= 0)
                r = sd_bus_send(NULL, answer, NULL);
        return r < 0 ? r : 0;
}

int verb_inspect(sd_bus_message *m, void *userdata, sd_bus_error *error) {
        const Child *c = userdata;
        _cleanup_failure_ Failure f = { 0 };
        _cleanup_(mounted_done) Mounted mounted = { 0 };
        _cleanup_(node_done) Node node = { 0 };
        const char *target;
        int r;

        r = sd_bus_message_read(m, WORKER_INSPECT_IN, &target);
        if (r < 0)
                return r;

        r = selinux_read_node(&node);
        if (r == 0)
                r = inspect(c->settings, target, &mounted, &f);
        if (r == 0)
                r = reply(m, &node, &mounted);
        return child_finish(WORKER_INSPECT, target, r, &f, error);
}

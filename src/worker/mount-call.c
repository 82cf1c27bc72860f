/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/selinux.h"
#include "worker/check.h"
#include "worker/mount-call.h"

void mount_call_done(MountCall *c) {
        request_done(&c->request);
        free(c->context);
        *c = MOUNT_CALL_INIT;
}

int mount_call_read(sd_bus_message *m, MountCall *ret) {
        const char *source, *fs_type, *target, *context;
        Request *q = &ret->request;
        int r, read_only;

        r = sd_bus_message_read(m, "sss", &source, &fs_type, &target);
        if (r >= 0)
                r = sd_bus_message_read_strv(m, &q->mount_options);
        if (r >= 0)
                r = sd_bus_message_read(m, "sbst", &context, &read_only, &ret->share, &ret->share_id);
        if (r < 0)
                return r;

        ret->publish = !isempty(target);
        q->read_only = read_only;
        r = free_and_strdup(&q->volume, "volume");
        if (r >= 0)
                r = free_and_strdup(&q->source, source);
        if (r >= 0)
                r = free_and_strdup(&q->fs_type, fs_type);
        if (r >= 0)
                r = free_and_strdup(&q->target, target);
        if (r >= 0 && !isempty(context))
                r = free_and_strdup(&q->context, context);
        return r;
}

int mount_call_check(MountCall *c, const Settings *settings, Failure *f) {
        _cleanup_(node_done) Node node = { 0 };
        int r;

        if (isempty(c->request.fs_type))
                return failure_set(f, FAILURE_TYPE_NOT_ALLOWED, "The call names no file system type.");
        if (!c->publish) {
                r = check_invent_target(&c->request, settings);
                if (r < 0)
                        return r;
        }
        r = request_validate(&c->request, settings, f);
        if (r != 0)
                return r;
        if (isempty(c->request.context))
                return free_and_strdup(&c->context, "");

        r = selinux_read_node(&node);
        if (r < 0)
                return r;
        if (!node.selinux)
                return failure_set(f, FAILURE_NOT_SUPPORTED,
                                   "SELinux is off on this node, so nothing can be mounted with a context.");
        return check_context(settings, c->request.context, &c->context, f);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "label/selinux.h"
#include "worker/observe.h"
#include "worker/operations.h"

int operation_inspect(Child *c, const char *path, Node *ret_node, MountOutcome *ret, Mark *ret_mark, Failure *f) {
        _cleanup_(mount_outcome_done) MountOutcome o = { 0 };
        _cleanup_(target_done) Target target = TARGET_INIT;
        _cleanup_(mark_done) Mark mark = { 0 };
        int r;

        r = target_open_mount(path, c->settings, &target, f);
        if (r != 0)
                return r;
        r = observe_mount(&target, &o, &mark);
        if (r < 0)
                return r;
        r = selinux_read_node(ret_node);
        if (r < 0)
                return r;

        *ret = o;
        o = (MountOutcome){ 0 };
        *ret_mark = mark;
        mark = (Mark){ 0 };
        return 0;
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "basic/log.h"
#include "state/state.h"

static const char *mode_of(const Node *node) {
        return !node->selinux ? "disabled" : node->enforcing ? "enforcing" : "permissive";
}

const char *state_selinux_mode(const State *s) {
        return mode_of(&s->node);
}

bool state_take_node(State *s, Node *node) {
        bool changed = !s->node_known || s->node.selinux != node->selinux || s->node.enforcing != node->enforcing;

        if (changed)
                log_info("SELinux is %s on this node.", mode_of(node));
        node_done(&s->node);
        s->node = TAKE_STRUCT(*node);
        s->node_known = true;
        return changed;
}

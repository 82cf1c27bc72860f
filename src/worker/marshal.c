/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <limits.h>

#include "core/worker-protocol.h"
#include "worker/marshal.h"

static int append_string(sd_bus_message *m, const char *s) {
        _cleanup_free_ char *escaped = NULL;

        s = strempty(s);
        if (!utf8_is_valid(s)) {
                escaped = string_escape(s, PATH_MAX);
                if (!escaped)
                        return -ENOMEM;
                s = escaped;
        }
        return sd_bus_message_append_basic(m, 's', s);
}

int marshal_node(sd_bus_message *m, const Node *node) {
        int r;

        r = sd_bus_message_append(m, NODE_SIGNATURE, node->selinux, node->enforcing, node->mls,
                                  strempty(node->file_context));
        return r < 0 ? r : 0;
}

int marshal_fact(sd_bus_message *m, const MountFact *fact) {
        const char *const strings[] = { fact->target, fact->source, fact->fs_type, fact->device, fact->context };
        int r;

        r = sd_bus_message_open_container(m, 'r', "tsssssbb");
        if (r >= 0)
                r = sd_bus_message_append(m, "t", fact->mount_id);
        for (size_t i = 0; r >= 0 && i < ELEMENTSOF(strings); i++)
                r = append_string(m, strings[i]);
        if (r >= 0)
                r = sd_bus_message_append(m, "bb", fact->seclabel, fact->read_only);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int marshal_facts(sd_bus_message *m, const MountFact *facts, size_t n) {
        int r;

        r = sd_bus_message_open_container(m, 'a', MOUNT_FACT_SIGNATURE);
        for (size_t i = 0; r >= 0 && i < n; i++)
                r = marshal_fact(m, &facts[i]);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

int marshal_outcome(sd_bus_message *m, const MountOutcome *outcome) {
        int r;

        r = sd_bus_message_open_container(m, 'r', MOUNT_FACT_SIGNATURE "sbt");
        if (r >= 0)
                r = marshal_fact(m, &outcome->fact);
        if (r >= 0)
                r = append_string(m, outcome->root_context);
        if (r >= 0)
                r = sd_bus_message_append(m, "bt", outcome->superblock_read_only, outcome->inodes_used);
        if (r >= 0)
                r = sd_bus_message_close_container(m);
        return r < 0 ? r : 0;
}

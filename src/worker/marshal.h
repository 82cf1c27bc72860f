/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "core/observed.h"

/* The types of core/worker-protocol.h, in the worker's direction. Strings that are not UTF-8, which D-Bus can't
 * carry, are escaped. All return 0 or a negative errno. */

int marshal_node(sd_bus_message *m, const Node *node) _warn_unused_;
int marshal_fact(sd_bus_message *m, const MountFact *fact) _warn_unused_;
int marshal_facts(sd_bus_message *m, const MountFact *facts, size_t n) _warn_unused_;
int marshal_outcome(sd_bus_message *m, const MountOutcome *outcome) _warn_unused_;

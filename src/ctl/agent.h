/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/types.h>

#include "basic/cleanup.h"

/* Starts polkit's agent for terminals, so that polkit can ask for a password. Does nothing without a
 * terminal, for root, and without pkttyagent: then a session's own agent may answer polkit. Returns the pid
 * of the agent or 0. */
pid_t agent_start(void);
void agent_stop(pid_t pid);

static inline void agent_stopp(pid_t *pid) {
        agent_stop(*pid);
}

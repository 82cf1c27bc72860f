/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "wire/messages.h"
#include "worker/child.h"

/* A connection that watches the mounts beneath the target roots, and SELinux, for as long as the peer likes. */

struct Watch *watch_free(struct Watch *w);

/* Begins, and appends what is there now to the reply, as Watched. Returns 0 or a negative errno. */
int watch_begin(Child *c, sd_bus_message *reply) _warn_unused_;

/* Has a mount looked for within half a second, unless a look has seen it already. Takes the fact over. Returns 0, a
 * negative errno, or NOT_SUPPORTED if nothing is watched. */
int watch_expect(Child *c, MountFact *fact, Failure *f) _warn_unused_;

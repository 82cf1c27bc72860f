/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Who has sent a call. The bus is asked once for each connection: it never gives a unique name to another one. */

/* The sender's effective uid when it connected to the bus. Returns 0 or a negative errno; -ENXIO if it has left the bus. */
int sender_get_uid(Api *api, sd_bus_message *call, uid_t *ret) _warn_unused_;
/* Whether that is root, who passes without polkit. */
bool sender_is_trusted(Api *api, sd_bus_message *call);
/* What limits count for: the user, or of root the connection. NULL on any error. */
char *sender_caller(Api *api, sd_bus_message *call) _warn_unused_;
/* "uid 1000, :1.5", for the journal. NULL on lack of memory. */
char *sender_describe(Api *api, sd_bus_message *call) _warn_unused_;
/* It has left the bus. */
void sender_forget(Api *api, const char *name);
void senders_teardown(Api *api);

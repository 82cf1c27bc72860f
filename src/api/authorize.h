/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/request.h"
#include "api/api.h"

/* Root may call all methods. For other callers selvold asks polkit; each method has an action, listed in
 * authorize.c. Without polkit they are refused. */

/* Returns 1 if the call may go on; 0 if polkit has been asked: the handler then returns 1, and is called
 * again with the same message when polkit has answered; a negative errno with the D-Bus error set:
 * AccessDenied or InteractiveAuthorizationRequired. polkit's rules see the request as details (selvold(8)
 * lists them); the details must be the same in the second call. about may be NULL: the call is about no
 * volume. */
int authorize(Api *api, sd_bus_message *call, const Request *about, sd_bus_error *error);
/* Like authorize(), for a call that names only a volume. */
int authorize_volume(Api *api, sd_bus_message *call, const char *volume, sd_bus_error *error);
/* The bus connection calls this for each message that it dispatches. Returns 0 if the message is to be
 * handled, like all filters. */
int authorize_filter(Api *api, sd_bus_message *message, sd_bus_error *error);
/* The question that polkit was asked about the call, which is then dispatched a second time. NULL: polkit was
 * not asked. */
AuthQuery *authorize_find_query(const Api *api, const sd_bus_message *call);
void authorize_teardown(Api *api);

/* Drops the sender's open questions to polkit, as the sender has left the bus. */
void authorize_forget(Api *api, const char *sender);

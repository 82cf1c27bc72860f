/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/request.h"
#include "api/api.h"

/* Who may call what: root may everything, for everybody else polkit is asked (one action for each method,
 * the table is in authorize.c). No polkit means no. */

/* Returns 1 if the call may go on; 0 if polkit has been asked: the handler returns 1 then and is called
 * again with the same message when the answer is there; a negative errno with the D-Bus error set:
 * AccessDenied or InteractiveAuthorizationRequired. What the request asks for, all that a rule may want to
 * limit, is shown to polkit's rules (selvold(8) lists it), and must be the same in the second call. NULL:
 * the call is about no volume. */
int authorize(Api *api, sd_bus_message *call, const Request *about, sd_bus_error *error);
/* The same of a call that is about a volume as such. */
int authorize_volume(Api *api, sd_bus_message *call, const char *volume, sd_bus_error *error);
/* To be called for each message that is dispatched. Returns what a filter does: 0 to have it carried out. */
int authorize_filter(Api *api, sd_bus_message *message, sd_bus_error *error);
/* The question that polkit was asked about the call, which is dispatched a second time then. NULL: polkit was
 * not asked. */
AuthQuery *authorize_find_query(const Api *api, const sd_bus_message *call);
void authorize_teardown(Api *api);

/* The sender has left the bus: what polkit was asked for it is forgotten. */
void authorize_forget(Api *api, const char *sender);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* The senders of calls, and the order in which selvold handles their calls.
 *
 * selvold asks the bus about a sender once: the bus never gives a unique name to a second connection.
 *
 * selvold reads calls as fast as they arrive, and refuses a call that is too large, whoever sent it. A caller
 * is a user, or one connection of root. selvold handles a caller's first few calls at once and puts off the
 * others. While nothing is left to read, callers with calls that were put off take turns. A caller that calls
 * ten thousand times therefore delays no other caller, and is refused when too many of its calls are put off.
 * The calls of one caller keep their order. */

/* The sender's effective uid when it connected to the bus. Returns 0 or a negative errno; -ENXIO if the
 * sender has left the bus. */
int sender_get_uid(Api *api, sd_bus_message *call, uid_t *ret) _warn_unused_;
/* Whether the sender is root, who passes without polkit. Returns like sender_get_uid(). */
int sender_is_root(Api *api, sd_bus_message *call, bool *ret) _warn_unused_;
/* Fills in the sender. Root is trusted and passes without polkit. Returns like sender_get_uid(), or -ENOMEM.
 * caller_done() releases the contents of *ret, also after an error. */
int sender_identify(Api *api, sd_bus_message *call, Caller *ret) _warn_unused_;
/* "uid 1000, :1.5", for the journal. NULL: out of memory. */
char *sender_describe(Api *api, sd_bus_message *call) _warn_unused_;
/* Forgets a sender that has left the bus. */
void sender_forget(Api *api, const char *name);
void senders_teardown(Api *api);

/* About the bytes of a call, which has passed turns_filter() and has been read. */
size_t call_count_bytes(sd_bus_message *call);

int turns_new(Api *api, Turns **ret) _warn_unused_;
Turns *turns_free(Turns *t);

/* The first filter for each message, except for a call that is dispatched a second time. Returns 0 if the
 * message is to be handled now, like all filters. */
int turns_filter(Turns *t, sd_bus_message *message, sd_bus_error *error);
/* Continues the turns when the bus takes messages again. */
void turns_resume(Turns *t);
/* Drops the calls of a sender that has left the bus; NULL: of all senders. */
void turns_forget(Turns *t, const char *sender);

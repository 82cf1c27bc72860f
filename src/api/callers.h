/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* The senders of calls, and the turns in which their calls are carried out.
 *
 * The bus is asked for a sender once for each connection: it never gives a unique name to another one.
 *
 * Calls are read as fast as they come. One that is too large is refused, by whomever it is. Each caller's
 * first ones are carried out at once; more than a few of one caller, which is a user, or a connection of
 * root's, are put off, and callers with such take turns whenever nothing is left to read. So a caller that
 * calls ten thousand times holds up nobody else, and is refused beyond what is put off. The order of one
 * caller's calls stays as it is. */

/* The sender's effective uid when it connected to the bus. Returns 0 or a negative errno; -ENXIO if it has
 * left the bus. */
int sender_get_uid(Api *api, sd_bus_message *call, uid_t *ret) _warn_unused_;
/* Fills in the sender, who is trusted if it is root, and passes without polkit then. Returns the same, or
 * -ENOMEM; caller_done() releases what is in *ret, also after an error. */
int sender_identify(Api *api, sd_bus_message *call, Caller *ret) _warn_unused_;
/* "uid 1000, :1.5", for the journal. NULL on lack of memory. */
char *sender_describe(Api *api, sd_bus_message *call) _warn_unused_;
/* It has left the bus. */
void sender_forget(Api *api, const char *name);
void senders_teardown(Api *api);

int turns_new(Api *api, Turns **ret) _warn_unused_;
Turns *turns_free(Turns *t);

/* For each message, before anything else looks at it, but for a call that is dispatched a second time.
 * Returns what a filter does: 0 to have it carried out now. */
int turns_filter(Turns *t, sd_bus_message *message, sd_bus_error *error);
/* The bus takes messages again. */
void turns_resume(Turns *t);
/* The sender has left the bus; NULL: all have. */
void turns_forget(Turns *t, const char *sender);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "api/api.h"

/* Whose call is carried out next. Calls are read as fast as they come. One that is too large is refused, by whomever it is. Each
 * caller's first ones are carried out at once; more than a few of one caller, which is a user, or a connection of root's, are put off, and callers with such take turns whenever nothing is left to read. So a
 * caller that calls ten thousand times holds up nobody else, and is refused beyond what is put off. The order of one
 * caller's calls stays as it is. */

int turns_new(Api *api, Turns **ret) _warn_unused_;
Turns *turns_free(Turns *t);

/* For each message, before anything else looks at it. Returns what a filter does: 0 to have it carried out now. */
int turns_filter(Turns *t, sd_bus_message *message, sd_bus_error *error);
/* The bus takes messages again. */
void turns_resume(Turns *t);
/* The sender has left the bus; NULL: all have. */
void turns_forget(Turns *t, const char *sender);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "environment.h"

/* A client calls selvold on its own connection, one call at a time, which it draws from a seed. */

typedef struct Client Client;

Client *client_new(const Environment *e, int number);
void client_free(Client *c);

/* Starts a series of operations, which the main loop continues. */
void client_start(Client *c, uint32_t seed);
/* These start one operation, which has ended when the client is idle again. */
const Operation *client_mount(Client *c, int volume, int target, uint32_t gid);
const Operation *client_unmount(Client *c, int volume, int target);
const Operation *client_ownership(Client *c, int volume, uint32_t gid);
bool client_is_idle(const Client *c);
/* Returns an operation that got no answer in time, or NULL. */
const Operation *client_hung(const Client *c);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree/walk.h"

/* Does one step: opens a directory if need be, reads a chunk of it, visits its entries or hands them out; or visits a
 * batch of them. Returns what this thread is to do next, or NULL. */
Work *work_step(Thread *t, Work *work);
/* Takes back what is left after a walk that was stopped. */
void work_discard(Thread *t, Work *work);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "tree/dir.h"

/* Visits an entry of d that is no directory, or, with name NULL, d itself. */
void visit_entry(Thread *t, const Dir *d, const char *name);

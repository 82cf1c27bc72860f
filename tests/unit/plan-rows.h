/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-fixture.h"

/* One call for a volume that others have or had, as a row of tests/data/plan-*.table says; plan-others.table explains it. */

#define PLAN_ROW_COLUMNS "id conf holders mounts with call =result =plan =says"

/* The fixture has what the rows of a table have in common. */
void plan_row_check(Fixture *x, const Row *row);
/* Whom a walk that gives the files to the group takes them from, as the worker finds them in what the plan told it. */
int plan_check_reliances(Fixture *x, gid_t gid);

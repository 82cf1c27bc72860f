/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan-fixture.h"

/* A row of tests/data/plan-*.table is one call for a volume that others have or had; plan-others.table
 * explains it. */

#define PLAN_ROW_COLUMNS "id conf holders mounts with call =result =plan =says"

/* Makes the call of a row, and compares the answer. The fixture has what all rows of the table have in
 * common. */
void plan_row_check(Fixture *x, const Row *row);
/* Makes the check that the worker makes before it walks: whether others rely on another group than the walk
 * gives. */
int plan_check_reliances(Fixture *x, gid_t gid);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Records of volumes in the state of selvold, which must not run. */

#define RECORDS_PREFIX "v-"

/* Executes statements in the database. */
void records_execute(const char *database, const char *sql);
/* Adds copies of one of the records as volumes v-1 to v-N that uid 1000 introduced and nobody holds, used the
 * last time so many microseconds after the epoch; then executes the statements. */
void records_fill(const char *database, guint n, const char *sql);

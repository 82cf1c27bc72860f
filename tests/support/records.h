/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* Records of volumes in the state of selvold, which must not run. */

#define RECORDS_PREFIX "v-"
#define RECORDS_TARGET "/var/lib/kubelet/pods"

/* Executes statements in the database. */
void records_execute(const char *database, const char *sql);
/* Adds copies of one of the records as volumes v-1 to v-N that uid 1000 introduced and nobody holds, used the
 * last time so many microseconds after the epoch; then executes the statements. */
void records_fill(const char *database, guint n, const char *sql);
/* The same, where v-1 to v-HELD have one holder each, a copy of the only one, at RECORDS_TARGET/N; the copied
 * ones are removed. Without a worker selvold can't see that nothing is mounted there. */
void records_fill_held(const char *database, guint n, guint held, const char *sql);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* What becomes of holders without a job. */

/* Removes a holder whose mount is gone, and tells of it. Invalidates h. */
void holder_drop(State *s, Volume *v, Holder *h);
/* The same for a mount that somebody else unmounted. */
void holder_lose(State *s, Volume *v, Holder *h);
/* Notes in journal, history and metrics that a holder was compared with the mount table: "finished", "rolled-back". */
void holder_note_reconciled(State *s, Volume *v, const Holder *h, const char *outcome);

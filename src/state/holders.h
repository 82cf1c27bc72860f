/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "state/state.h"

/* What becomes of holders without a job. */

/* Removes a holder whose mount is gone, and tells of it. Invalidates h. */
void holder_drop(State *s, Volume *v, Holder *h);
/* The same for a mount that somebody else unmounted, or moved to another directory: moved_to, NULL if not. */
void holder_lose(State *s, Volume *v, Holder *h, const char *moved_to);
/* Takes over what others have done to the holder's mount: covered or uncovered it, made it read-only or writable; and tells
 * of it. */
void holder_note_mount(State *s, Volume *v, Holder *h, const MountFact *fact);
/* Notes in journal and metrics that a holder was compared with the mount table: "finished", "rolled-back". */
void holder_note_reconciled(State *s, Volume *v, const Holder *h, const char *outcome);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* A log of all that this program writes to one directory, from which the directory can be made anew as a power cut at any
 * moment would have left it. What writes is redefined: open(2), pwrite(2), ftruncate(2), fsync(2), rename(2), ... */

/* What a file system may have lost when the power went: it is bound only by what was synced. */
typedef enum Cut {
        CUT_NOTHING,        /* all that was written is there */
        CUT_NAMES,          /* directory entries are those of the last fsync(2) of the directory */
        CUT_NAMES_BUT_LAST, /* the same, but for the last change of one */
        CUT_DATA,           /* files have what they had at their last fsync(2) */
        CUT_BOTH,
        CUT_HALF, /* of the last write only the first half is there, all before it is */
        CUTS,
} Cut;

/* What is in the directory counts as synced. */
void write_log_start(const char *directory);
/* What is said of the moments from now on; see write_log_step(). */
void write_log_note(guint note);
void write_log_stop(void);

/* Goes to the next moment, the first time to that of the start; returns whether there is one, and what was noted for it. */
gboolean write_log_step(guint *ret_note);
/* Makes the files in an empty directory as they are then. Returns whether the cut makes sense at this moment. */
gboolean write_log_cut(Cut cut, const char *directory);

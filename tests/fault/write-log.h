/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <glib.h>

/* The log has all writes of this program to a directory. It can make the directory as a power cut at any
 * moment would have left it. write-log.c redefines the functions that write: open(2), pwrite(2),
 * ftruncate(2), fsync(2), ... */

/* A file system may lose all writes since the last sync when the power is cut. */
typedef enum Cut {
        CUT_NOTHING,        /* no write is lost */
        CUT_NAMES,          /* directory entries are those of the last fsync(2) of the directory */
        CUT_NAMES_BUT_LAST, /* the same, but the last change of an entry is not lost */
        CUT_DATA,           /* the contents of files are those of their last fsync(2) */
        CUT_BOTH,
        CUT_HALF, /* only the second half of the last write is lost */
        CUTS,
} Cut;

/* The contents of the directory count as synced. */
void write_log_start(const char *directory);
/* The moments from now on have this note; see write_log_step(). */
void write_log_note(guint note);
void write_log_stop(void);

/* Goes to the next moment (first: the start) and returns its note. Returns FALSE after the last one. */
gboolean write_log_step(guint *ret_note);
/* Makes the files of this moment in an empty directory. Returns whether a cut is possible there. */
gboolean write_log_cut(Cut cut, const char *directory);

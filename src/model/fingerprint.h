/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/string-util.h"

/* What the superblock of a file system says of who has had it mounted for writing. Two that are equal say that nobody had
 * it in between, except as docs/plan.md tells. */

enum { FINGERPRINT_MAX = 128 };

/* "ext4:UUID:LASTCHECK:MTIME:COUNT", "xfs:UUID:LSN:HASH", "btrfs:UUID:GENERATION:HASH"; "" if it is not known, which is equal
 * to nothing. */
typedef struct Fingerprint {
        char text[FINGERPRINT_MAX];
} Fingerprint;

static inline bool fingerprint_is_known(const Fingerprint *f) {
        return !isempty(f->text);
}

static inline bool fingerprint_equal(const Fingerprint *a, const Fingerprint *b) {
        return fingerprint_is_known(a) && streq(a->text, b->text);
}

/* In the place of one, in the record of a volume: it is mounted, and the mark is right. */
#define FINGERPRINT_MOUNTED "mounted"

/* ext4's is right while it is mounted, and for whoever has it next. */
static inline bool fingerprint_is_kept_in_mark(const Fingerprint *f) {
        return startswith(f->text, "ext4:");
}

/* Whether now is what before becomes by one more mount for writing, which only ext4 tells: it counts them. */
bool fingerprint_is_next(const Fingerprint *before, const Fingerprint *now) _pure_;

/* Takes a text from outside: "" or small letters, digits, '-' and ':'. Returns 0 or -EBADMSG. */
int fingerprint_from_string(const char *text, Fingerprint *ret);

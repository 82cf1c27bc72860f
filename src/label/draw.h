/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* Draws entries of directories at random, in a time that does not grow with the directory. A directory of a few
 * hundred entries is read and one of them chosen. In a larger one a position is drawn: ext4, xfs and btrfs number a
 * directory's entries in ascending order (by a hash of the name, a place in the directory, an age), and lseek(2) to
 * any number leads to the next entry. Elsewhere a large directory is read once, up to its millionth entry, and drawn
 * from by the positions seen then. */
typedef struct Draw Draw;

/* seed: of all choices; 0 for a random one. Returns 0 or a negative errno. */
int draw_new(uint64_t seed, Draw **ret) _warn_unused_;
Draw *draw_free(Draw *d);
DEFINE_CLEANUP_FUNC(Draw *, draw_free);

/* A number below n, which must not be 0, all alike. */
uint64_t draw_number(Draw *d, uint64_t n);

typedef struct DrawnEntry {
        const char *name;   /* never "." or ".."; valid until the next draw */
        unsigned char type; /* DT_REG and so on, DT_UNKNOWN if the file system does not say */
} DrawnEntry;

/* Draws an entry of a directory, all alike or very nearly so. fd must be just opened for reading, as its offset is
 * used; it does not come back. What is found out about a large directory is kept for the next draw, so those that
 * come while it is used may not be drawn. Returns 1, 0 if the directory is empty, or a negative errno. */
int draw_entry(Draw *d, int fd, DrawnEntry *ret) _warn_unused_;

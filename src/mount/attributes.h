/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "basic/cleanup.h"

/* The attributes of a mount, as opposed to the options of its file system (mount_setattr(2)). */

/* Gives a detached mount nosuid and nodev, and of the others those that are among the options; a clone comes with those of
 * what it was made from. Returns 0 or a negative errno. */
int attributes_set(int tree, char *const *options, bool read_only) _warn_unused_;

/* Makes a detached mount read-only or writable; nothing else of it changes, nor does the file system. Returns likewise. */
int attributes_set_read_only(int tree, bool read_only) _warn_unused_;

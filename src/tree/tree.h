/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "basic/cleanup.h"
#include "tree/spec.h"

/* The tree engine: visits every entry beneath a directory, with several threads, and counts and names what went wrong.
 * What a visit does is its caller's. Directories are read and entries named by descriptors, never by a path from the
 * root, so that nothing that is renamed or exchanged for a symbolic link meanwhile leads elsewhere; memory does not
 * grow with the tree. */

/* Walks. Entries that vanish meanwhile are no errors; all other errors are counted and the first ones named. Children
 * come before their directory. If entries are changed, directories that others modified meanwhile are looked at a
 * second time, so that what appeared or moved is visited too; when all went well the file system is synced, syncfs(2),
 * then the root is visited, and synced. If anything failed the root is left as it is, unless it failed in what appeared
 * in the root while that was written, in writing it, or in bringing that to disk.
 * Must be called with CAP_DAC_READ_SEARCH. Returns 0, also if entries failed: see *ret; or a negative errno: nothing is
 * known of what was done, or progress() wanted an end. An issue that is an error has no text. */
int tree_walk(const TreeSpec *spec, WalkResult *ret) _warn_unused_;

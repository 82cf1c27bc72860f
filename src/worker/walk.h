/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/files.h"
#include "worker/child.h"

/* Tells selvold that a walk is about to begin, before what may take long and can't be told about. CANCELED if it has
 * hung up. */
int walk_tell_start(Child *child, uint64_t total, Failure *f) _warn_unused_;

/* Walks as spec says, no faster than the worker's own limit, with the configured I/O class; selvold is told how far it
 * is. total is how many entries there are, 0 if that isn't known. Returns as files_walk(), and CANCELED if selvold has
 * hung up. */
int walk_files(Child *child, FilesSpec *spec, uint64_t total, TreeResult *ret, Failure *f) _warn_unused_;

/* Counts the entries beneath the spec's directory, as a total for a walk. */
int walk_count(Child *child, const FilesSpec *spec, uint64_t *ret, Failure *f) _warn_unused_;

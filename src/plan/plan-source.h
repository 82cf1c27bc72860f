/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* Decides whether a source is the volume's. */

/* Whether a holder of the volume has a mount of the observed source, by any name: a disk has several names,
 * and the mount of an image shows a loop device. */
bool plan_is_held_source(const Volume *own, const Observed *observed, const char *source) _pure_;

/* Checks that the source is the volume's, and that its file system is allowed and is the requested one. The
 * source of a held volume has to have the holders' superblock. Otherwise it may have a file system that the
 * record does not have, unless a name has evidently moved: then *ret_renewed is set, and the record begins
 * anew. Returns 0, -ENOMEM, INCOMPATIBLE, SOURCE_CHANGED or TYPE_NOT_ALLOWED. */
int plan_check_source(const Others *others, const Request *q, const Settings *settings, bool *ret_renewed,
                      Failure *f) _warn_unused_;

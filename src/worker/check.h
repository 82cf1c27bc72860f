/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "wire/messages.h"

/* What selvold has checked already. The worker doesn't rely on that. */

/* Checks what a call names; unset strings are NULL or "". Returns 0, a negative errno, or a failure kind. */
int check_call(const Settings *settings, const char *volume, const char *source, const char *fs_type,
               const char *target, Failure *f) _warn_unused_;

/* Checks what selvold's answer wants to be done and brings its options and contexts to their one form: options of the
 * file system's list, contexts of an allowed type that the loaded policy knows. fs may be NULL if nothing is to be
 * mounted. Returns 0, a negative errno, or a failure kind. */
int check_answer(const Settings *settings, const Node *node, const FileSystem *fs, PlanAnswer *a,
                 Failure *f) _warn_unused_;

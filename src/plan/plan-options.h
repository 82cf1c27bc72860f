/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "plan/plan-common.h"

/* A file system that is mounted keeps its options: the kernel drops those of a further mount without a word. Whether it has the
 * options that the request asks for, as far as they aren't attributes of each mount: it does if selvol mounted it with them,
 * or if whoever had it adopted said so. What it has by default is not known. share is what is to be shared, NULL if nothing
 * of selvol's is. Returns 0, -ENOMEM, or INCOMPATIBLE. */
int plan_check_shared_options(const Others *others, const Request *q, const Holder *share, Failure *f) _warn_unused_;

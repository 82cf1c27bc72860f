/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/observed.h"
#include "model/volume-record.h"

/* What there is to tell of a volume that is mounted. */
typedef struct Mounted {
        MountOutcome outcome;
        RecordFound found;
        char *record; /* text; "" unless present */
} Mounted;

void mounted_done(Mounted *m);

/* Reads the label and the record of a directory, which may be opened with O_PATH, through a descriptor on which the
 * kernel asks the file system. Returns 0 or a negative errno. */
int mounted_read_root(int fd, Mounted *m) _warn_unused_;

/* Checks that the root has the context the mount was made with; "" is none. Whatever the mount table says, this is
 * what a container will see. Returns 0, -ENOMEM or LABEL_MISMATCH. */
int mounted_check_label(const Mounted *m, const char *context, Failure *f) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "model/observed.h"

/* The worker's own notes of the mounts that it has made or adopted in this boot, whatever becomes of selvold's record: a
 * symbolic link for each in a directory of /run that only root may write, called by the mount's id, whose text is
 * "DEVICE VOLUME TARGET". Making and reading one is a single step for the kernel (symlink(2), readlink(2)), so that none
 * is ever half written. A mount that others take away leaves its note behind until the watch sees it: whoever reads one compares
 * it with the mount table. */

typedef struct MountNote {
        uint64_t id;  /* of the mount */
        char *device; /* of its superblock, "major:minor" */
        char *volume;
        char *target;
} MountNote;

void mount_note_done(MountNote *n);
/* Returns NULL. */
MountNote *mount_notes_free(MountNote *notes, size_t n);

/* Notes what is mounted, as what volume; replaces what is there of an earlier mount with the id. Without the note a
 * record that is lost can't be made up for, and a tmpfs has no further holder, so what goes wrong is logged and no error: a full
 * /run, a target of nearly PATH_MAX. */
void mount_note_write(const char *directory, const char *volume, const MountFact *fact);

/* Whether this mount is noted, and not another one of the same id. Returns 1, 0 or a negative errno. */
int mount_note_exists(const char *directory, uint64_t id, const char *device, const char *target) _warn_unused_;

/* All of them, in no order. Returns 0 or a negative errno. */
int mount_notes_read(const char *directory, MountNote **ret, size_t *ret_n) _warn_unused_;

/* If this mount is noted, and not another one of the same id. */
void mount_note_remove(const char *directory, uint64_t id, const char *device, const char *target);

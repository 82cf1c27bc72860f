/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* The worker's own notes of the mounts that it has made, or adopted, in this boot, whatever selvold says or
 * has forgotten: what is not noted is nobody's to unmount, to share or to change. Each is a symbolic link in
 * a directory of /run that only root may write, called by the mount's id, whose text is "DEVICE UNIQUE
 * mounted|adopted VOLUME TARGET". Reading one is a single step for the kernel (readlink(2)), and so is
 * putting it in its place. A mount is noted before it is visible, so a note without a mount may be of one
 * that is about to be: it goes when somebody has seen the mount, and sees that it has gone. */

#define MOUNT_NOTES "/run/selvol/mounts"

typedef struct MountNote {
        uint64_t id; /* of the mount, as in mountinfo: the kernel gives it to another mount once it is free */
        /* What no other note of this boot has: the mount's unique id (statx(2), STATX_MNT_ID_UNIQUE), or, before Linux 6.8, the
         * time at which it was noted. */
        uint64_t unique_id;
        bool adopted; /* somebody else has made the mount */
        char *device; /* of its superblock, "major:minor" */
        char *volume;
        char *target;
} MountNote;

void mount_note_done(MountNote *n);
/* Returns NULL. */
MountNote *mount_notes_free(MountNote *notes, size_t n);

/* Notes the mount that fd is on, and fills in its ids; replaces what is there of an earlier mount with the
 * id. Returns 0 or a negative errno: -ENAMETOOLONG for a target of nearly PATH_MAX. */
int mount_note_write(int fd, MountNote *note) _warn_unused_;

/* The note of this mount, not of another one that has its id by now: by its unique id where the kernel knows
 * such. *ret, which may be NULL, is to be released with mount_note_done(). Returns 1, 0 or a negative errno.
 * */
int mount_note_find(uint64_t id, const char *device, const char *target, MountNote *ret) _warn_unused_;

/* All of them, in no order, also of mounts that have gone or are not visible yet. Returns 0 or a negative
 * errno. */
int mount_notes_read(MountNote **ret, size_t *ret_n) _warn_unused_;

/* If it is still that one. What goes wrong is logged: the note is of a mount that has gone. */
void mount_note_remove(uint64_t id, uint64_t unique_id);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "basic/cleanup.h"

/* The worker's notes of the mounts that it made or adopted in this boot, independent of selvold's record:
 * the worker never unmounts or changes a mount without a note, and shares such a mount only if it is of a
 * block device. A note is a symbolic link in a directory of /run that only root may write; the link's name
 * is the mount's id, the text is "DEVICE UNIQUE mounted|adopted VOLUME TARGET", with \x20 and \x5c for
 * blanks and backslashes of the volume's id. readlink(2) reads a note in one step, and rename(2) replaces
 * a note in one step. The worker notes a mount before the mount is visible, so a note without a mount may
 * be of a mount that will be published. The watch or an unmount removes the note when the mount is gone;
 * the note of a child that was killed before its mount was visible may stay until another mount with its
 * id is noted. */

#define MOUNT_NOTES "/run/selvol/mounts"

typedef struct MountNote {
        uint64_t id; /* the mount's id, as in mountinfo; the kernel reuses ids */
        /* unique among all notes of this boot: the mount's unique id (statx(2), STATX_MNT_ID_UNIQUE) or,
         * before Linux 6.8, the time of the note */
        uint64_t unique_id;
        bool adopted; /* another program made the mount */
        char *device; /* of the superblock, "major:minor" */
        char *volume;
        char *target;
} MountNote;

void mount_note_done(MountNote *n);
/* Returns NULL. */
MountNote *mount_notes_free(MountNote *notes, size_t n);

/* The text of a note. NULL: out of memory. */
char *mount_note_format(const MountNote *note);
/* Parses the text of the note with the id, and overwrites the text. Returns 1, 0 if it is no note, or
 * -ENOMEM. */
int mount_note_parse(char *text, uint64_t id, MountNote *ret) _warn_unused_;

/* Notes the mount of fd and sets the ids in note; replaces the note of an earlier mount with the same id.
 * Returns 0 or a negative errno: -ENAMETOOLONG for a target of nearly PATH_MAX. */
int mount_note_write(int fd, MountNote *note) _warn_unused_;

/* Finds the note of this mount; rejects the note of an earlier mount with the same id, by the unique id if
 * the kernel has one. ret may be NULL; release *ret with mount_note_done(). Returns 1, 0 or a negative
 * errno. */
int mount_note_find(uint64_t id, const char *device, const char *target, MountNote *ret) _warn_unused_;

/* Reads all notes, in no order, also notes of mounts that are gone or not visible yet. Returns 0 or a
 * negative errno. */
int mount_notes_read(MountNote **ret, size_t *ret_n) _warn_unused_;

/* Removes the note if it has the unique id. Only logs errors, because the mount is gone. */
void mount_note_remove(uint64_t id, uint64_t unique_id);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* Files of a test, and the namespace in which it mounts them. */

char *path_printf(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* With the directories above it. */
void file_write(const char *path, const char *text);
/* "" if it isn't there. */
char *file_read(const char *path);
/* How many of its lines are, as a whole, like the pattern, in which are '*' and '?'. */
unsigned file_count_lines(const char *path, const char *pattern);
void tree_remove(const char *path);

/* Makes a sparse file with a file system in it (NULL: with none); words are options of mkfs. Returns false if there is no
 * mkfs for it. */
bool image_make(const char *path, uint64_t size, const char *fs_type, ...) G_GNUC_NULL_TERMINATED;

/* A disk of 400 KiB over a directory; flags are those of mount(2), also with MS_REMOUNT. */
void disk_mount(const char *directory, unsigned long flags);
void disk_fill(const char *directory);
void disk_make_room(const char *directory);

/* Puts the process into a private mount namespace; returns false if that can't be done here. */
bool namespace_try(void);
/* Puts the process into a private mount namespace with an empty /run: what is mounted, and its loop devices, go with the
 * last process of it. Prints why and returns false if that can't be done here: main() is to return 77 then. */
bool namespace_enter(void);

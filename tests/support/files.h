/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

/* A test makes files, and mounts file systems in a namespace of its own. */

char *path_printf(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* Writes a file, and makes the directories above it. */
void file_write(const char *path, const char *text);
/* Writes the text to a new temporary file, and returns its path. */
char *file_make(const char *text);
/* Returns "" if there is no such file. */
char *file_read(const char *path);
/* Counts the lines that match the pattern as a whole; '*' and '?' stand for any text and any character. */
unsigned file_count_lines(const char *path, const char *pattern);
void tree_remove(const char *path);

/* Makes a sparse file, with a file system in it unless fs_type is NULL; the words are options of mkfs.
 * Returns false if there is no mkfs for the file system. */
bool image_make(const char *path, uint64_t size, const char *fs_type, ...) G_GNUC_NULL_TERMINATED;

/* Mounts a disk of 400 KiB on the directory. The flags are those of mount(2), and may have MS_REMOUNT. */
void disk_mount(const char *directory, unsigned long flags);
void disk_fill(const char *directory);
void disk_make_room(const char *directory);

/* Puts the process into a private mount namespace; returns false if that is not possible here. */
bool namespace_try(void);
/* Puts the process into a private mount namespace with an empty /run; the mounts and their loop devices end
 * with the last process in the namespace. If that is not possible here, prints why and returns false; main()
 * then has to return 77. */
bool namespace_enter(void);

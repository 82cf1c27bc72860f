/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/files-walk.h"
#include "volumes.h"

/* The tests of the tree engine walk over file systems of their own. SELinux is off, so labels are xattrs like
 * any other. */

#define WANTED "system_u:object_r:container_file_t:s0:c1,c2"
#define OTHER  "system_u:object_r:container_file_t:s0:c3,c4"
#define LABEL  "security.selinux"

typedef struct Scene {
        char *path; /* where the file system is mounted */
        int fd;     /* the same directory, which is the working directory too */
} Scene;

Scene scene_on(const char *fs_type);
void scene_leave(Scene *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Scene, scene_leave)

/* Returns a short name in a buffer, which the thread's eighth next call uses again. */
const char *numbered(const char *format, ...) G_GNUC_PRINTF(1, 2);
void write_file(const char *path);
/* Makes the files PREFIX0, PREFIX1 and so on. */
void write_files(const char *prefix, unsigned n);

uint64_t ctime_of(const char *path); /* in nanoseconds */
/* Waits until the kernel's clock of time stamps has ticked, so that the next change of a ctime shows. */
void let_clock_tick(void);

#define CHANGE(fd, ...)            FILES_SPEC(FILES_CHANGE, fd, __VA_ARGS__)
#define VERIFY(fd, ...)            FILES_SPEC(FILES_VERIFY, fd, __VA_ARGS__)
#define FILES_SPEC(how, root, ...) ((FilesSpec){ .mode = (how), .tree.fd = (root) __VA_OPT__(, ) __VA_ARGS__ })

/* Walks. The wanted context is WANTED if the spec has neither a context nor an ownership. */
WalkResult walk(FilesSpec spec);
/* The same, and no entry may fail. */
WalkCounts walk_well(FilesSpec spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(WalkResult, walk_result_done)

const WalkIssue *find_issue(const WalkResult *r, const char *path);
void assert_issue(const WalkResult *r, const char *path, int error);
/* Checks that so many entries have the label WANTED; entries is 0 for any number. */
void assert_all_right(int fd, uint64_t entries);

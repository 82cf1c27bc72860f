/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/files-walk.h"
#include "volumes.h"

/* What the tests of the tree engine share: file systems to walk over. SELinux is off, so labels are xattrs
 * like any other. */

#define WANTED "system_u:object_r:container_file_t:s0:c1,c2"
#define OTHER  "system_u:object_r:container_file_t:s0:c3,c4"
#define LABEL  "security.selinux"

/* A file system of the test's own, mounted. */
typedef struct Scene {
        char *path;
        int fd; /* of path, and working directory */
} Scene;

/* options: NULL for none. Returns false, and the test is skipped, if there is no mkfs for it. */
bool scene_enter(Scene *s, const char *fs_type, const char *options);
Scene scene_on_tmpfs(void);
void scene_leave(Scene *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Scene, scene_leave)

/* A short name that stays what it is until the thread has asked for eight more. */
const char *numbered(const char *format, ...) G_GNUC_PRINTF(1, 2);
void write_file(const char *path);
/* PREFIX0, PREFIX1 and so on */
void write_files(const char *prefix, unsigned n);
/* For reading, and as root of a walk. */
int open_directory(const char *path);

uint64_t ctime_of(const char *path); /* in nanoseconds */
/* So that a change of ctime shows: time stamps go by the tick. */
void let_clock_tick(void);

#define CHANGE(fd, ...)            FILES_SPEC(FILES_CHANGE, fd, __VA_ARGS__)
#define VERIFY(fd, ...)            FILES_SPEC(FILES_VERIFY, fd, __VA_ARGS__)
#define FILES_SPEC(how, root, ...) ((FilesSpec){ .mode = (how), .tree.fd = (root) __VA_OPT__(, ) __VA_ARGS__ })

/* Walks; with WANTED, unless another context is named, or an ownership. */
WalkResult walk(FilesSpec spec);
/* The same where nothing may fail. */
WalkCounts walk_well(FilesSpec spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(WalkResult, walk_result_done)

const WalkIssue *find_issue(const WalkResult *r, const char *path);
void assert_issue(const WalkResult *r, const char *path, int error);
/* entries: how many there are; 0: any number. */
void assert_all_right(int fd, uint64_t entries);

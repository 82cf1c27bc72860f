/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "label/files.h"
#include "volumes.h"

/* What the tests of the tree engine share: file systems to walk over. SELinux is off, so labels are xattrs like any
 * other. */

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
void scene_leave(Scene *s);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Scene, scene_leave)

void write_file(const char *path);

#define assert_label(path, expected)                        \
        G_STMT_START {                                      \
                g_autofree char *_label_ = get_label(path); \
                g_assert_cmpstr(_label_, ==, expected);     \
        }                                                   \
        G_STMT_END

/* Walks; with WANTED, unless another context is named, or an ownership. */
TreeResult walk(FilesSpec spec);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(TreeResult, tree_result_done)

void assert_issue(const TreeResult *r, const char *path, int error);
/* entries: how many there are; 0: any number. */
void assert_all_right(int fd, uint64_t entries);

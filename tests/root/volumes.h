/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/mark.h"
#include "operation.h"

/* Volumes with files in them, their labels and their mark, as they are on disk: SELinux is off, so these are plain
 * xattrs, and a context is one that the worker would take. */

#define LABEL_1 "system_u:object_r:container_file_t:s0:c1,c2"
#define LABEL_2 "system_u:object_r:container_file_t:s0:c3,c4"

/* An image, mounted at a target by the test itself. */
typedef struct TestVolume {
        char *image, *target, *device;
        int loop;
        uint64_t mount_id;
        char *mount_device; /* "major:minor" */
} TestVolume;

/* NULL if there is no mkfs for the type; tmpfs has no image. */
TestVolume *volume_mount(const char *name, const char *fs_type, unsigned long flags);
/* Checks that nothing keeps it busy. */
void volume_unmount(TestVolume *v);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestVolume, volume_unmount)

/* Works through what is mounted there. */
Arguments live(const TestVolume *v, FilesWanted files);

/* Makes directories with files, a symbolic link and a FIFO beneath path; returns how many entries have no label
 * then. */
unsigned fill_tree(const char *path, unsigned n_dirs, unsigned n_files);
/* How many entries beneath path, and path itself, have the label; mounts aren't entered. */
unsigned count_labeled(const char *path, const char *label);
/* The label of the file itself, "" if none; to be freed. */
char *get_label(const char *path);
void set_label(const char *path, const char *label);
#define assert_label(path, expected)                        \
        G_STMT_START {                                      \
                g_autofree char *_label_ = get_label(path); \
                g_assert_cmpstr(_label_, ==, expected);     \
        }                                                   \
        G_STMT_END

/* The mark, without what it begins with: "label=complete tainted=no ownership=unknown gid=0 context=CONTEXT". */
#define MARK_LABELS(state, tainted, context) \
        "label=" state " tainted=" tainted " ownership=unknown gid=0 context=" context
#define MARK_GROUP(state, gid) "label=unknown tainted=no ownership=" state " gid=" gid " context="
#define MARK_NOTHING           MARK_LABELS("unknown", "no", "")

/* What selvold would know if it had kept the fingerprint that the image has now. */
MarkHistory mark_history_of(const char *image, const char *fs_type);

/* As selvol would write it now. */
void set_mark(const char *path, const char *text);
void set_mark_bytes(const char *path, const void *bytes, size_t n);
/* What is there, all of it; NULL if there is none; to be freed. */
char *get_mark(const char *path);
/* expected NULL: there is none. */
#define assert_mark(path, expected) assert_mark_at(__FILE__, __LINE__, path, expected)
void assert_mark_at(const char *file, int line, const char *path, const char *expected);
/* The same of what the worker says, which is what is there. */
#define assert_told(answer, path) assert_told_at(__FILE__, __LINE__, &(answer)->mark, path)
void assert_told_at(const char *file, int line, const Mark *mark, const char *path);

/* FS_IMMUTABLE_FL. */
void set_immutable(const char *path, bool immutable);

/* "-all,+sys_admin,...": what the unit leaves the worker, as setpriv(1) wants it; to be freed. */
char *read_capabilities(void);

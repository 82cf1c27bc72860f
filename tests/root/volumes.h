/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/mark.h"
#include "operation.h"

/* Volumes with files, labels and the mark. SELinux is off, so labels are xattrs like any other. */

#define LABEL_1 "system_u:object_r:container_file_t:s0:c1,c2"
#define LABEL_2 "system_u:object_r:container_file_t:s0:c3,c4"

/* An image that the test has mounted at a target itself. */
typedef struct TestVolume {
        char *image, *target, *device;
        int loop;
        uint64_t mount_id;
        char *mount_device; /* "major:minor" */
} TestVolume;

/* Returns NULL if the machine has no mkfs for the type. A tmpfs has no image. */
TestVolume *volume_mount(const char *name, const char *fs_type, unsigned long flags);
/* Ends the test if the mount is busy. */
void volume_unmount(TestVolume *v);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestVolume, volume_unmount)

/* The arguments of a change of the files through the mount of the volume. */
Arguments live(const TestVolume *v, FilesWanted files);

/* Makes directories with files, a symbolic link and a FIFO beneath path. Returns how many entries have no
 * label then. */
unsigned fill_tree(const char *path, unsigned n_dirs, unsigned n_files);
/* Makes so many directories, each in the one before, and returns the descriptor of the last one. */
int make_chain(const char *path, unsigned depth);
/* Counts path and the entries beneath that have the label. Mounts inside are not entered. */
unsigned count_labeled(const char *path, const char *label);
/* Returns the label, of a symbolic link its own; "" if the file has none. */
char *get_label(const char *path);
void set_label(const char *path, const char *label);
#define assert_label(path, expected)                        \
        G_STMT_START {                                      \
                g_autofree char *_label_ = get_label(path); \
                g_assert_cmpstr(_label_, ==, expected);     \
        }                                                   \
        G_STMT_END

/* The mark from its label on: "label=complete tainted=no ownership=unknown gid=0 context=CONTEXT". */
#define MARK_LABELS(state, tainted, context) \
        "label=" state " tainted=" tainted " ownership=unknown gid=0 context=" context
#define MARK_GROUP(state, gid) "label=unknown tainted=no ownership=" state " gid=" gid " context="
#define MARK_NOTHING           MARK_LABELS("unknown", "no", "")

/* Returns a history with the fingerprint that the image has now, as if selvold had kept it. */
MarkHistory mark_history_of(const char *image, const char *fs_type);

/* Writes a mark with this text, the identity and the present fingerprint of its file system, and its inode.
 * */
void set_mark(const char *path, const char *text);
void set_mark_bytes(const char *path, const void *bytes, size_t n);
/* Returns the whole mark, NULL if the path has none. */
char *get_mark(const char *path);
/* expected is NULL if the path must have no mark. */
#define assert_mark(path, expected) assert_mark_at(__FILE__, __LINE__, path, expected)
void assert_mark_at(const char *file, int line, const char *path, const char *expected);
/* Compares the mark that the worker has told with the one on disk. */
#define assert_told(answer, path) assert_told_at(__FILE__, __LINE__, &(answer)->mark, path)
void assert_told_at(const char *file, int line, const Mark *mark, const char *path);

void set_immutable(const char *path, bool immutable);

/* Returns the capabilities in the worker's unit, as setpriv(1) takes them: "-all,+sys_admin,...". */
char *read_capabilities(void);

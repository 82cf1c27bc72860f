/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume-record.h"
#include "support.h"

/* Volumes with files in them, their labels and their record, as they are on disk: SELinux is off, so these are plain
 * xattrs, and a context is one that the worker would take. */

#define LABEL_1 "system_u:object_r:container_file_t:s0:c1,c2"
#define LABEL_2 "system_u:object_r:container_file_t:s0:c3,c4"

/* An image, mounted at a target by the test itself. */
typedef struct TestVolume {
        char *image, *target, *device;
        int loop;
        uint64_t mount_id;
} TestVolume;

/* NULL if there is no mkfs for the type; tmpfs has no image. */
TestVolume *volume_mount(const char *name, const char *fs_type, unsigned long flags);
/* Checks that nothing keeps it busy. */
void volume_unmount(TestVolume *v);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TestVolume, volume_unmount)

/* Relabels what is mounted, or what is staged. */
ChangeArguments live(const TestVolume *v, const char *context);
ChangeArguments staged(const char *context);

/* Makes directories with files, a symbolic link and a FIFO beneath path. */
void fill_tree(const char *path, unsigned n_dirs, unsigned n_files);
/* How many entries beneath path, and path itself, have the label; mounts aren't entered. */
unsigned count_labelled(const char *path, const char *label);
/* The label of the file itself, "" if none; to be freed. */
char *get_label(const char *path);
void set_label(const char *path, const char *label);

/* The record's text, NULL if there is none; to be freed. */
char *get_record(const char *path);
void set_record(const char *path, const char *text);
void set_record_bytes(const char *path, const void *bytes, size_t n);

/* Checks what the record says, and that it says so in a form that is understood. */
void assert_record(const char *path, RecordState state, const char *context, bool tainted, uint64_t generation);
/* The same of what the worker tells. */
void assert_told(const Answer *a, const char *path);

/* FS_IMMUTABLE_FL. */
void set_immutable(const char *path, bool immutable);

/* "-all,+sys_admin,...": what the unit leaves the worker, as setpriv(1) wants it; to be freed. */
char *read_capabilities(void);

/* What the signals have said so far. */
typedef struct Progress {
        unsigned n;
        uint64_t done, total;
} Progress;
void watch_progress(sd_bus *bus, Progress *progress);
/* Reads until there were n signals, or the reply has come. */
void wait_for_progress(sd_bus *bus, const Progress *p, unsigned n, sd_bus_message **reply);

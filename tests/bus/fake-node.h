/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "basic/gid-util.h"
#include "model/mark.h"
#include "model/observed.h"
#include "wire/messages.h"

/* The pretended node of the fake worker (fake-worker.c): files of DIRECTORY. Nothing is freed, and what can't be ends the
 * process: it is a child that is gone soon. */

enum { ENTRIES = 300 }; /* of each volume */

extern const char *directory;

/* Groups that a mount swaps; equal: none. */
typedef struct Swap {
        gid_t disk, shown;
} Swap;

/* Ends the process on a negative errno: a broken connection, most of all. */
void check(int r);
void *check_memory(void *p);
#define FORMAT(...) ((char *) check_memory(strdup_printf(__VA_ARGS__)))

void write_text(const char *path, const char *text);
/* NULL if it isn't there. */
char *read_text(const char *path);

/* By the last part of a source's name. */
bool behaves(const char *source, const char *how);
bool keeps_no_mark(const char *source);
const char *type_of(const char *source);
char *device_of(const char *source, uint64_t id);

/* DIRECTORY/node, when there, holds "selinux enforcing". */
Node read_node(void);

/* The mount table, DIRECTORY/mounts, as the mounts of an Observed: one line for each, "ID TARGET SOURCE TYPE CONTEXT
 * READ-ONLY", the context "-" if there is none. */
Observed read_table(void);
void write_table(const Observed *table);
/* To read and write it alone; to be closed. */
int lock_table(void);
void complete_fact(MountFact *m);
void add_fact(Observed *table, const MountFact *m);
/* NULL if nothing is there. */
MountFact *find_mount(const Observed *table, const char *target);
bool has_identity(const MountFact *m, const MountIdentity *identity);
/* Ids are given anew once they are free, so an id alone names no mount. */
bool is_listed(const MountFact *m, const Observed *table);
/* The lowest free id, as the kernel does; it is held as long as this process lives, or one that it forks. */
uint64_t reserve_id(void);

/* What a volume carries, DIRECTORY/WHAT-NAME. */
char *volume_file(const char *what, const char *source);
Mark read_mark(const char *source);
Fingerprint read_fingerprint(const char *source);
Swap read_swap(const MountFact *m);
gid_t swap_group(const Swap *s, gid_t gid);
/* Root's if nobody has changed it yet. */
void read_group(const char *source, gid_t *ret_gid, mode_t *ret_mode);
void write_group(const char *source, gid_t gid, mode_t mode);
char *root_context(const MountFact *m);
MountOutcome outcome_of(const MountFact *m, const Swap *swap);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <sys/stat.h>

#include "model/mark.h"
#include "model/observed.h"
#include "wire/messages.h"

/* The node of the fake worker is files of DIRECTORY (fake-worker.c). Processes free nothing, and end on an
 * error: they are children that end soon anyhow. */

enum { ENTRIES = 300 }; /* each volume has so many */

extern const char *directory;

/* A mount swaps these groups; none if they are equal. */
typedef struct Swap {
        gid_t disk, shown;
} Swap;

/* Ends the process on a negative errno, which is mostly a broken connection. */
void check(int r);
void *check_memory(void *p);
#define FORMAT(...) ((char *) check_memory(strdup_printf(__VA_ARGS__)))

void write_text(const char *path, const char *text);
/* Returns NULL if there is no such file. */
char *read_text(const char *path);

/* The last part of a source's name decides. */
bool behaves(const char *source, const char *how);
bool keeps_no_mark(const char *source);
const char *type_of(const char *source);
char *device_of(const char *source, uint64_t id);

/* DIRECTORY/node holds "SELINUX ENFORCING" as numbers; without it both are 1. */
Node read_node(void);

/* The mount table DIRECTORY/mounts has a line "ID TARGET SOURCE TYPE CONTEXT READ-ONLY" for each mount; the
 * context is "-" if there is none. */
Observed read_table(void);
void write_table(const Observed *table);
/* Keeps others from the mount table until the caller closes the descriptor. */
int lock_table(void);
void complete_fact(MountFact *m);
void add_fact(Observed *table, const MountFact *m);
/* Returns NULL if nothing is mounted there. */
MountFact *find_mount(const Observed *table, const char *target);
bool has_identity(const MountFact *m, const MountIdentity *identity);
/* Compares targets, too, since a later mount may have the same id. */
bool is_listed(const MountFact *m, const Observed *table);
/* Returns the lowest free id, as the kernel does. The id stays reserved while this process, or one that it
 * forks, lives. */
uint64_t reserve_id(void);

/* Returns DIRECTORY/WHAT-NAME: these files are the content of a volume. */
char *volume_file(const char *what, const char *source);
Mark read_mark(const char *source);
Fingerprint read_fingerprint(const char *source);
Identity read_identity(const char *source);
Swap read_swap(const MountFact *m);
gid_t swap_group(const Swap *s, gid_t gid);
/* The group is 0 if nobody has changed it yet. */
void read_group(const char *source, gid_t *ret_gid, mode_t *ret_mode);
void write_group(const char *source, gid_t gid, mode_t mode);
char *root_context(const MountFact *m);
MountOutcome outcome_of(const MountFact *m, const Swap *swap);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/store.h"
#include "support/cases.h"
#include "support/files.h"

/* Each test has a store in a directory of its own. */
typedef struct Fixture {
        char *directory, *path, *tables;
        Schema schema;
        Store *store;
} Fixture;

/* The program sets this if it has a mount namespace of its own; then the tear-down unmounts the directory. */
extern bool private_mounts;

void store_set_up(Fixture *f, gconstpointer data);
void store_tear_down(Fixture *f, gconstpointer data);
void reopen(Fixture *f);
/* Mounts a small file system on the directory, and opens a new store there. */
void mount_small(Fixture *f);

/* Returns a volume with one holder. */
Volume *sample(const char *id, const char *target);
void put(Fixture *f, const Volume *v);
/* Commits the volume a/b, which has a holder at /var/lib/kubelet/a. */
void put_sample(Fixture *f);
/* Writes a new file with these volumes, and returns 0 or a negative errno. */
int write_anew(Fixture *f, const Volumes *all);

/* store_load() calls this for a row that it skips; it appends "VOLUME@TARGET " to a GString. */
void on_skipped(void *userdata, const char *volume, const char *target);
/* Loads all volumes, and asserts that no row is skipped. */
void load(Fixture *f, Volumes *all);
/* Closes the store, and executes SQL on its file. */
void execute(Fixture *f, const char *sql);
/* Makes a file of an older version of an invented schema, with the sample in it, and executes more SQL. From
 * then on the fixture opens its file with the invented schema. */
enum { OLDER_VERSIONS = 2 };
void make_version(Fixture *f, int version, const char *more);

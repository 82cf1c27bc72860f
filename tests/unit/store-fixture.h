/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "store/store.h"
#include "support/cases.h"
#include "support/files.h"

/* A store in a directory of its own. */
typedef struct Fixture {
        char *directory, *path, *tables;
        Schema schema;
        Store *store;
} Fixture;

/* Whether what is mounted is seen by this test alone; the test sets it, and what is mounted on the
 * directory goes with it. */
extern bool private_mounts;

void store_set_up(Fixture *f, gconstpointer data);
void store_tear_down(Fixture *f, gconstpointer data);
void reopen(Fixture *f);
/* A small file system as the directory, with a new store. */
void mount_small(Fixture *f);

/* A volume with one holder. */
Volume *sample(const char *id, const char *target);
void put(Fixture *f, const Volume *v);
/* Commits a/b, held at /var/lib/kubelet/a. */
void put_sample(Fixture *f);
/* Returns how it went. */
int write_anew(Fixture *f, const Volumes *all);

/* For store_load(): appends "VOLUME@TARGET " to a GString. */
void on_skipped(void *userdata, const char *volume, const char *target);
/* Asserts that everything can be read. */
void load(Fixture *f, Volumes *all);
/* Closes the store and has its file changed. */
void execute(Fixture *f, const char *sql);
/* A file as put_sample() and an older version of a made-up schema left it, and then more. From then on the
 * fixture opens it with that schema. */
enum { OLDER_VERSIONS = 2 };
void make_version(Fixture *f, int version, const char *more);

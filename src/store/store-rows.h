/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "model/volume.h"
#include "store/store-file.h"
#include "store/store-types.h"

/* The rows of the store. */

/* Changes that record a volume without its holders, or one of its holders; drop a volume with its holders, or
 * the holder at a target; record the boot of the holders, and the numbers of jobs that are in use. */
void rows_put_volume(Changes *all, const Volume *v);
void rows_put_holder(Changes *all, const Volume *v, const Holder *h);
void rows_delete_volume(Changes *all, const char *id);
void rows_delete_holder(Changes *all, const char *target);
void rows_put_boot_id(Changes *all, const char *boot_id);
void rows_put_job_numbers(Changes *all, uint64_t end);
/* Adds all rows, for an empty file. */
void rows_put_everything(Changes *all, const Volumes *volumes, const char *boot_id);

/* Called for rows that can't be read. */
typedef struct Skipped {
        StoreSkipped callback;
        void *userdata;
} Skipped;

/* See store_load(), store_get_boot_id(), store_get_job_numbers(). */
int rows_load(const StoreFile *f, Volumes *all, const Skipped *skipped) _warn_unused_;
int rows_get_boot_id(const StoreFile *f, char **ret) _warn_unused_;
int rows_get_job_numbers(const StoreFile *f, uint64_t *ret) _warn_unused_;

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>

#include <sqlite3.h>
#include <systemd/sd-bus.h>

/* The ways to mount and unmount that bench-mount compares; docs/bench.md explains the rows. */

typedef enum Row {
        ROW_SELVOL,
        ROW_TAINT,
        ROW_SKIP,
        ROW_FURTHER,
        ROW_BUSCTL,
        ROW_SHELL,
        ROW_BARE,
        ROW_COMMIT,
        ROW_UNMOUNT,
        ROW_UNMOUNT_FURTHER,
        ROW_UNMOUNT_SHELL,
        ROW_UNMOUNT_BARE,
        ROWS
} Row;

extern const char *const row_names[ROWS];

typedef struct Scene {
        bool plain; /* the mounts have no context= option */
        unsigned pause_msec;
        const char *device, *fs_type, *state;
        char *target, *second_target; /* mount points of the measured volume */
        sd_bus *bus;
        sqlite3 *db;
        sqlite3_stmt *insert;
} Scene;

/* measure() returns the time of a mount, and that of the unmount if the way has a row for it. */
typedef struct Way {
        Row row, unmount_row; /* ROWS: none */
        void (*measure)(const Scene *s, double *ret, double *ret_unmount);
} Way;

enum { WAYS = 8 };
extern const Way ways[WAYS];

#define MEASURED_LEVEL "s0:c1,c2"

void database_open(Scene *s);
void database_close(Scene *s);

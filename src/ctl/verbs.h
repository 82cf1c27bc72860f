/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/bus.h"

/* Each returns 0, an exit code after saying what is wrong, or a negative errno. */
int verb_list(sd_bus *bus, const Args *a);
int verb_show(sd_bus *bus, const Args *a);
int verb_plan(sd_bus *bus, const Args *a);
int verb_mount(sd_bus *bus, const Args *a);
int verb_adopt(sd_bus *bus, const Args *a);
int verb_unmount(sd_bus *bus, const Args *a);
int verb_verify(sd_bus *bus, const Args *a);
int verb_relabel(sd_bus *bus, const Args *a);
int verb_chgrp(sd_bus *bus, const Args *a);
int verb_jobs(sd_bus *bus, const Args *a);
int verb_cancel(sd_bus *bus, const Args *a);
int verb_forget(sd_bus *bus, const Args *a);
int verb_metrics(sd_bus *bus, const Args *a);

/* Prints a table, and how many of what are in it. */
int print_list(const Args *a, Table *t, const char *word);

/* The first entries of a volume that went wrong, or have another label or group: a(ss). */
int issues_new(const char *name, Table **ret);
int issues_read(sd_bus_message *m, const char *volume, Table *t);

/* Of org.selvol1.Volume's properties, for list and show. */
enum { VOLUME_ID_COLUMN = 0, VOLUME_HOLDERS_COLUMN = 15, VOLUME_COLUMNS = 16 };
extern const Column volume_columns[VOLUME_COLUMNS];
#define HOLDER_MEMBERS "sssbbtuu"

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "ctl/args.h"

/* Each returns 0, an exit code after saying what is wrong, or a negative errno. */
int verb_list(sd_bus *bus, const Args *a);
int verb_show(sd_bus *bus, const Args *a);
int verb_plan(sd_bus *bus, const Args *a);
int verb_mount(sd_bus *bus, const Args *a);
int verb_adopt(sd_bus *bus, const Args *a);
int verb_unmount(sd_bus *bus, const Args *a);
int verb_verify(sd_bus *bus, const Args *a);
int verb_relabel(sd_bus *bus, const Args *a);
int verb_ownership(sd_bus *bus, const Args *a);
int verb_jobs(sd_bus *bus, const Args *a);
int verb_cancel(sd_bus *bus, const Args *a);
int verb_forget(sd_bus *bus, const Args *a);
int verb_metrics(sd_bus *bus, const Args *a);

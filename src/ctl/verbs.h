/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "ctl/args.h"

/* Each returns 0, an exit code after an error message, or a negative errno. */
int verb_list(sd_bus *bus, const Args *a);
int verb_show(sd_bus *bus, const Args *a);
int verb_plan(sd_bus *bus, const Args *a);
int verb_mount(sd_bus *bus, const Args *a);
int verb_adopt(sd_bus *bus, const Args *a);
int adopt_all(sd_bus *bus, const Args *a); /* called by verb_adopt() */
int verb_unmount(sd_bus *bus, const Args *a);
int verb_doctor(const Args *a);
int verb_history(const Args *a);
int verb_status(sd_bus *bus, const Args *a);
int verb_config(const Args *a);
int verb_monitor(sd_bus *bus, const Args *a);
int verb_verify(sd_bus *bus, const Args *a);
int verb_relabel(sd_bus *bus, const Args *a);
int verb_ownership(sd_bus *bus, const Args *a);
int verb_jobs(sd_bus *bus, const Args *a);
int verb_cancel(sd_bus *bus, const Args *a);
int verb_forget(sd_bus *bus, const Args *a);
int verb_metrics(sd_bus *bus, const Args *a);

/* Return 0, or EXIT_USAGE after an error message about the operands. */
int forget_check(const Args *a);
int adopt_check(const Args *a);
int adopt_all_check(const Args *a); /* called by adopt_check() */
int mount_check(const Args *a);
int unmount_check(const Args *a);
int ownership_check(const Args *a);
int cancel_check(const Args *a);
int config_check(const Args *a);

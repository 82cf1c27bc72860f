/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <systemd/sd-bus.h>

#include "worker/child.h"

/* The methods of wire/protocol.h, as sd-bus calls them; userdata is the Child. */

int verb_observe(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_mount(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_stage(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_publish(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_map(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_change(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_mark(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_inspect(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_verify(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_unmount(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_watch(sd_bus_message *m, void *userdata, sd_bus_error *error);
int verb_expect(sd_bus_message *m, void *userdata, sd_bus_error *error);

struct Watch *watch_free(struct Watch *w);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

/* Calls to the service over a connection to the bus. */

typedef struct MountCall {
        const char *volume, *source, *fs_type, *target;
        const char *level; /* NULL: the mount has no context= option */
        bool shared;       /* several holders may mount the volume */
        uint32_t group;    /* the service may skip the walk if the mark has it; 0: none */
} MountCall;

sd_bus *bus_open(void);

/* All call_*() return the microseconds until the reply. An error ends the program. */
double call_mount(sd_bus *bus, const MountCall *c);
double call_unmount(sd_bus *bus, const char *volume, const char *target);

/* These calls change nothing. call_list() gets all objects of the service. */
double call_plan(sd_bus *bus, const char *volume, const char *source, const char *target);
double call_holders(sd_bus *bus, const char *volume);
double call_list(sd_bus *bus);

/* Returns 0 if the service does not run. */
pid_t service_pid(sd_bus *bus);
/* Returns 0 if the service has no metric of this name; a name may include labels. */
double service_metric(sd_bus *bus, const char *name);

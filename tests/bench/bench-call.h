/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

/* The service, over a connection to the bus. */

typedef struct MountCall {
        const char *volume, *source, *fs_type, *target;
        const char *level; /* NULL: without a context */
        bool shared;       /* by several holders */
        uint32_t group;    /* for which the mark on the volume may vouch; 0: none */
} MountCall;

sd_bus *bus_open(void);

/* Microseconds until the reply. An error ends the program. */
double call_mount(sd_bus *bus, const MountCall *c);
double call_unmount(sd_bus *bus, const char *volume, const char *target);

/* The same, for calls that change nothing: what a mount would do, the holders of a volume, all that is recorded. */
double call_plan(sd_bus *bus, const char *volume, const char *source, const char *target);
double call_holders(sd_bus *bus, const char *volume);
double call_list(sd_bus *bus);

/* 0 if the service is not there. */
pid_t service_pid(sd_bus *bus);
/* The value of a metric without labels; 0 if there is none. */
double service_metric(sd_bus *bus, const char *name);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

/* Memory, idle CPU time and restart time of a service that has many records. */

typedef struct Service {
        pid_t worker;        /* 0: unknown, not measured */
        const char *control; /* a program that takes "stop" or "start"; NULL: no restart is measured */
        unsigned idle_sec;
        bool json;
} Service;

/* Returns microseconds of user and system time, with those of the children that have ended. */
double process_cpu_usec(pid_t pid);
/* Returns the KiB of a line of /proc/PID/status, such as "VmRSS". */
unsigned long process_memory(pid_t pid, const char *key);

void service_report(const Service *s, sd_bus *bus, unsigned volumes, unsigned mounts);

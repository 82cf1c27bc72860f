/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>

/* What the service itself takes while it has much to remember. */

typedef struct Service {
        pid_t worker;        /* 0: not known */
        const char *control; /* a program that takes "stop" or "start"; NULL: selvold is not restarted */
        unsigned idle_sec;
        bool json;
} Service;

/* User and system time of a process and of its children that have ended, in microseconds. */
double process_cpu_usec(pid_t pid);

/* Measures and prints memory, the time that it uses while it is idle, and how long a restart takes. */
void service_report(const Service *s, sd_bus *bus, unsigned volumes, unsigned mounts);

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"
#include "bench-service.h"

enum { READY_SEC = 120, SETTLE_MSEC = 1000 };

double process_cpu_usec(pid_t pid) {
        _cleanup_free_ char *path = format_string("/proc/%i/stat", (int) pid);
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        unsigned long user, system;
        long user_children, system_children;

        if (!file)
                fail("%s: %s", path, strerror(errno));
        if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &user, &system,
                   &user_children, &system_children) != 4)
                fail("%s can't be parsed", path);
        return ((double) (user + system) + (double) (user_children + system_children)) * 1e6 /
               (double) sysconf(_SC_CLK_TCK);
}

unsigned long process_memory(pid_t pid, const char *key) {
        _cleanup_free_ char *path = format_string("/proc/%i/status", (int) pid), *line = NULL;
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        size_t size = 0;

        while (file && getline(&line, &size, file) >= 0) {
                const char *value = startswith(line, key);

                if (value && *value == ':')
                        return strtoul(value + 1, NULL, 10);
        }
        fail("%s has no %s", path, key);
}

static void print_memory(const Service *s, sd_bus *bus, const char *when, unsigned volumes, unsigned mounts) {
        pid_t pid = service_pid(bus);
        unsigned long rss, peak;

        if (pid == 0)
                fail("selvold is gone");
        rss = process_memory(pid, "VmRSS");
        peak = process_memory(pid, "VmHWM");
        if (s->json)
                printf("{\"memory\":\"selvold\",\"when\":\"%s\",\"volumes\":%u,\"mounts\":%u,\"rss_kib\":%lu,"
                       "\"peak_kib\":%lu}\n",
                       when, volumes, mounts, rss, peak);
        else
                printf("  memory, %-20s %9.1f MiB, at most %.1f\n", when, (double) rss / 1024, (double) peak / 1024);
}

/* Makes no call to the service while it measures, because a call would be work for the service. */
static void print_idle(const Service *s, sd_bus *bus, unsigned volumes, unsigned mounts) {
        pid_t pids[2] = { service_pid(bus), s->worker };
        const char *const names[] = { "selvold", "selvol-worker" };
        double before[2] = { 0 };

        sleep_msec(SETTLE_MSEC);
        for (unsigned i = 0; i < ELEMENTSOF(pids); i++)
                if (pids[i] > 0)
                        before[i] = process_cpu_usec(pids[i]);
        sleep_msec(s->idle_sec * 1000);
        for (unsigned i = 0; i < ELEMENTSOF(pids); i++) {
                double usec;

                if (pids[i] <= 0)
                        continue;
                usec = process_cpu_usec(pids[i]) - before[i];
                if (s->json)
                        printf("{\"idle\":\"%s\",\"volumes\":%u,\"mounts\":%u,\"seconds\":%u,\"cpu_usec\":%.0f}\n",
                               names[i], volumes, mounts, s->idle_sec, usec);
                else
                        printf("  CPU time of %u s idle, %-13s %.0f ms\n", s->idle_sec, names[i], usec / 1e3);
        }
}

static void control(const Service *s, const char *verb) {
        run_program((const char *const[]){ s->control, verb, NULL });
}

static void print_restart(const Service *s, sd_bus *bus, unsigned volumes, unsigned mounts) {
        double start, name, answer;

        control(s, "stop");
        while (service_pid(bus) != 0)
                sleep_msec(1);
        start = now_usec();
        control(s, "start");
        while (service_pid(bus) == 0) {
                if (now_usec() - start > READY_SEC * 1e6)
                        fail("selvold is not ready after %i s", READY_SEC);
                sleep_msec(1);
        }
        name = now_usec() - start;
        (void) service_metric(bus, "selvol_holders");
        answer = now_usec() - start;
        if (s->json)
                printf("{\"restart\":\"selvold\",\"volumes\":%u,\"mounts\":%u,\"name_usec\":%.0f,"
                       "\"answer_usec\":%.0f}\n",
                       volumes, mounts, name, answer);
        else
                printf("  start until its name is on the bus %.1f ms, until the first answer %.1f\n", name / 1e3,
                       answer / 1e3);
        print_memory(s, bus, "after a restart", volumes, mounts);
}

void service_report(const Service *s, sd_bus *bus, unsigned volumes, unsigned mounts) {
        if (!s->json)
                printf("\nthe service with %u volumes, %u mounts\n", volumes, mounts);
        print_memory(s, bus, "after all that", volumes, mounts);
        if (s->idle_sec > 0)
                print_idle(s, bus, volumes, mounts);
        if (s->control)
                print_restart(s, bus, volumes, mounts);
        fflush(stdout);
}

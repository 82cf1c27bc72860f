/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

#include "basic/string-util.h"
#include "bench-common.h"

void fail(const char *format, ...) {
        va_list ap;

        fflush(stdout);
        fprintf(stderr, "%s: ", program_invocation_short_name);
        va_start(ap, format);
        vfprintf(stderr, format, ap);
        va_end(ap);
        fputc('\n', stderr);
        exit(EXIT_FAILURE);
}

char *format_string(const char *format, ...) {
        va_list ap;
        char *s;
        int r;

        va_start(ap, format);
        r = vasprintf(&s, format, ap);
        va_end(ap);
        if (r < 0)
                fail("out of memory");
        return s;
}

unsigned parse_number(const char *s, unsigned max) {
        unsigned long long n;

        if (parse_u64(s, &n) < 0 || n > max)
                fail("'%s' is not a number from 0 to %u", s, max);
        return (unsigned) n;
}

void print_usage(const char *usage) {
        fprintf(stderr, "%s\n", usage);
        exit(2);
}

int parse_n_options(const BenchOption *options, size_t n, int argc, char **argv, const char *usage) {
        enum { OPTIONS_MAX = 32, FIRST = 256 };
        struct option list[OPTIONS_MAX + 1] = { 0 };
        int c;

        assert(n <= OPTIONS_MAX);
        for (size_t i = 0; i < n; i++)
                list[i] = (struct option){ options[i].name, options[i].flag ? no_argument : required_argument, NULL,
                                           FIRST + (int) i };
        while ((c = getopt_long(argc, argv, "", list, NULL)) >= 0) {
                const BenchOption *o = options + (c - FIRST);

                if (c < FIRST)
                        print_usage(usage);
                if (o->flag)
                        *o->flag = true;
                else if (o->text)
                        *o->text = optarg;
                else
                        *o->number = parse_number(optarg, o->max);
        }
        return optind;
}

double now_usec(void) {
        struct timespec ts;

        (void) clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double) ts.tv_sec * 1e6 + (double) ts.tv_nsec / 1e3;
}

void sleep_msec(unsigned msec) {
        const struct timespec ts = { .tv_sec = msec / 1000, .tv_nsec = (long) (msec % 1000) * 1000000 };

        (void) nanosleep(&ts, NULL);
}

pid_t start_program(char *const *argv, int output) {
        posix_spawn_file_actions_t actions;
        pid_t pid;
        int r;

        (void) posix_spawn_file_actions_init(&actions);
        (void) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        if (output < 0)
                (void) posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        else
                (void) posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
        r = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
        (void) posix_spawn_file_actions_destroy(&actions);
        if (r != 0)
                fail("%s: %s", argv[0], strerror(r));
        return pid;
}

int wait_for_program(pid_t pid, const char *name, struct rusage *ret) {
        int status;

        while (wait4(pid, &status, 0, ret) < 0)
                if (errno != EINTR)
                        fail("waiting for %s: %s", name, strerror(errno));
        return status;
}

void run_program(const char *const *argv) {
        int status = wait_for_program(start_program((char *const *) argv, -1), argv[0], NULL);

        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail("%s failed with status %i", argv[0], status);
}

static int compare(const void *a, const void *b) {
        const double *x = a, *y = b;

        return *x < *y ? -1 : *x > *y;
}

Series summarize(double *values, size_t n) {
        if (n == 0)
                return (Series){ 0 };
        qsort(values, n, sizeof(*values), compare);
        return (Series){
                .min = values[0],
                .median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2,
                .p99 = values[(n * 99 + 99) / 100 - 1],
                .max = values[n - 1],
        };
}

char **read_lines(const char *path, size_t wanted) {
        _cleanup_fclose_ FILE *file = fopen(path, "re");
        _cleanup_free_ char *line = NULL;
        char **lines = NULL;
        size_t size = 0;
        ssize_t n;

        if (!file)
                fail("%s: %s", path, strerror(errno));
        while ((n = getline(&line, &size, file)) > 0) {
                line[n - 1] = '\0';
                if (strv_extend(&lines, line) < 0)
                        fail("out of memory");
        }
        if (strv_length(lines) < wanted)
                fail("%s has fewer than %zu lines", path, wanted);
        return lines;
}

unsigned count_mounts(const char *directory) {
        _cleanup_free_ char *wanted = format_string(" %s/", directory), *line = NULL;
        _cleanup_fclose_ FILE *file = fopen("/proc/self/mountinfo", "re");
        unsigned n = 0;
        size_t size = 0;

        if (!file)
                fail("/proc/self/mountinfo: %s", strerror(errno));
        while (getline(&line, &size, file) >= 0) {
                const char *found = strstr(line, wanted), *options = found ? strchr(found + 1, ' ') : NULL;

                n += options && startswith(options, " rw");
        }
        return n;
}

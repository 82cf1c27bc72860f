/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "basic/string-util.h"
#include "bench-call.h"
#include "bench-common.h"
#include "bench-fill.h"

void steps_parse(Steps *steps, const char *list) {
        _cleanup_strv_ char **words = NULL;

        if (!list)
                return;
        if (strv_split(list, ",", &words) < 0)
                fail("out of memory");
        steps->n = 0;
        STRV_FOREACH (word, words) {
                unsigned n = parse_number(*word, VOLUMES_MAX);

                if (steps->n == STEPS_MAX || (steps->n > 0 && n <= steps->volumes[steps->n - 1]))
                        fail("--volumes takes at most %i numbers, each larger than the one before", STEPS_MAX);
                steps->volumes[steps->n++] = n;
        }
        if (steps->n == 0)
                fail("--volumes takes numbers");
}

char *fill_target(const Fill *f, const char *name) {
        char *path = format_string("%s/%s", f->targets, name);

        if (mkdir(path, 0755) < 0 && errno != EEXIST)
                fail("%s: %s", path, strerror(errno));
        return path;
}

static double mount_volume(const Fill *f, unsigned i, unsigned holder) {
        _cleanup_free_ char *volume = format_string("bench-%u", i),
                            *level = format_string("s0:c%u,c%u", i % 512, 512 + i / 512),
                            *name = format_string("volume-%u-%u", i, holder), *target = fill_target(f, name);

        return call_mount(f->bus, &(MountCall){ .volume = volume,
                                                .source = f->devices ? f->devices[i] : "tmpfs",
                                                .fs_type = f->devices ? "ext4" : "tmpfs",
                                                .target = target,
                                                .level = f->plain ? NULL : level,
                                                .shared = f->holders > 1 });
}

static void print_filled(const Fill *f, unsigned from, double first_usec, double further_usec) {
        if (f->json) {
                printf("{\"fill\":\"%s\",\"from\":%u,\"to\":%u,\"holders\":%u,\"each_usec\":%.0f,"
                       "\"further_usec\":%.0f}\n",
                       f->devices ? "ext4" : "tmpfs", from, f->n_volumes, f->holders, first_usec, further_usec);
                return;
        }
        printf("\nmounted already: %u; the last %u, one after the other, took %.3f each", f->n_volumes,
               f->n_volumes - from, first_usec / 1e3);
        if (f->holders > 1)
                printf(", further holders, %u of each, %.3f", f->holders - 1, further_usec / 1e3);
        printf("\n");
}

void fill_up(Fill *f, unsigned n) {
        unsigned from = f->n_volumes, added;
        double first_usec = 0, further_usec = 0;

        for (; f->n_volumes < n; f->n_volumes++) {
                first_usec += mount_volume(f, f->n_volumes, 0);
                for (unsigned k = 1; k < f->holders; k++)
                        further_usec += mount_volume(f, f->n_volumes, k);
        }
        added = f->n_volumes - from;
        if (added > 0)
                print_filled(f, from, first_usec / added,
                             f->holders > 1 ? further_usec / (added * (f->holders - 1)) : 0);
}

void fill_empty(Fill *f) {
        unsigned mounts = fill_count_mounts(f);
        double usec = 0;

        while (f->n_volumes > 0) {
                unsigned i = --f->n_volumes;
                _cleanup_free_ char *volume = format_string("bench-%u", i);

                for (unsigned k = f->holders; k-- > 0;) {
                        _cleanup_free_ char *target = format_string("%s/volume-%u-%u", f->targets, i, k);

                        usec += call_unmount(f->bus, volume, target);
                        (void) rmdir(target);
                }
        }
        if (mounts == 0)
                return;
        if (f->json)
                printf("{\"empty\":\"%s\",\"mounts\":%u,\"each_usec\":%.0f}\n", f->devices ? "ext4" : "tmpfs", mounts,
                       usec / mounts);
        else
                printf("\nunmounting these %u, one after the other, took %.3f each\n", mounts, usec / mounts / 1e3);
}

/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <signal.h>
#include <unistd.h>

#include "client/parse.h"
#include "mount-helper/mount.h"
#include "mount-helper/report.h"

/* mount.selvol: what mount(8) runs for the types selvol and selvol.TYPE. */

#define USAGE \
        "Usage: mount.selvol SOURCE DIRECTORY [-fnsv] [-o OPTIONS] [-t TYPE]. It is made for mount(8): mount -t selvol -o 'volume=ID,level=\"LEVEL\"' SOURCE DIRECTORY"

typedef struct Switches {
        const char *type;
        bool fake, verbose;
} Switches;

static void on_signal(int signal_number) {
        static const char text[] = PROGRAM
                ": Interrupted. selvold goes on with what it has begun: the same command collects the result, 'selvolctl jobs' shows it.\n";

        (void) !write(STDERR_FILENO, text, sizeof(text) - 1);
        _exit(MOUNT_INTERRUPTED);
}

static int read_switch(MountRequest *q, Switches *s, int c) {
        int r;

        switch (c) {
        case 'f':
                s->fake = true;
                return 0;
        case 'v':
                s->verbose = true;
                return 0;
        case 'n': /* there is no mtab */
        case 's': /* which options there are only selvold knows */
                return 0;
        case 't':
                s->type = optarg;
                return 0;
        case 'o':
                r = parse_mount_options(optarg, &q->options);
                return r == 0 || r == -ENOMEM
                               ? r
                               : report(MOUNT_USAGE, "A double quote in the options has no end: %s", optarg);
        case 'N':
                return report(
                        MOUNT_USAGE,
                        "-N is not possible: selvold mounts in the mount namespace of the host. Leave it out, or mount without selvol.");
        default:
                return report(MOUNT_USAGE, USAGE);
        }
}

static int read_arguments(int argc, char **argv, MountRequest *q, Switches *s) {
        int c, r;

        opterr = 0;
        while ((c = getopt(argc, argv, "fnsvN:o:t:")) >= 0) {
                r = read_switch(q, s, c);
                if (r != 0)
                        return r;
        }
        if (argc - optind != 2)
                return report(MOUNT_USAGE, USAGE);
        q->source = argv[optind];
        q->target = argv[optind + 1];
        return mount_request_read(q, s->type);
}

static int run(int argc, char **argv) {
        _cleanup_(mount_request_done) MountRequest q = { 0 };
        Switches s = { .type = "selvol" };
        int r;

        r = read_arguments(argc, argv, &q, &s);
        if (r != 0)
                return r;
        if (!s.fake)
                return mount_run(&q, s.type, s.verbose);
        return s.verbose ? report(0, "%s, volume %s, would be mounted at %s; nothing was done.", q.source, q.volume,
                                  q.target)
                         : 0;
}

int main(int argc, char **argv) {
        const struct sigaction interrupt = { .sa_handler = on_signal };
        int r;

        (void) sigaction(SIGINT, &interrupt, NULL);
        (void) sigaction(SIGTERM, &interrupt, NULL);
        r = run(argc, argv);
        return r < 0 ? report(MOUNT_SYSTEM, "%s", strerror(-r)) : r;
}

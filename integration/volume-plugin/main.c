/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <sys/socket.h>

#include <systemd/sd-daemon.h>

#include "basic/log.h"
#include "basic/path-util.h"
#include "basic/time-util.h"
#include "client/values.h"
#include "volume-plugin/plugin-server.h"

#include "selvol-config.h"

/* podman waits five seconds by default. */
#define TIMEOUT_DEFAULT_USEC (4 * USEC_PER_SEC)

typedef struct PluginArguments {
        const char *records, *targets, *id_prefix;
        uint64_t timeout_usec;
} PluginArguments;

static void print_plugin_help(void) {
        printf("selvol-volume-plugin [OPTION...] RECORDS TARGETS\n\n"
               "Mounts volumes of podman with selvold. It is started by selvol-volume-plugin.socket, see\n"
               "selvol-volume-plugin(8). RECORDS is the directory of what it remembers, TARGETS the one where\n"
               "volumes are mounted.\n\n"
               "  --timeout=TIME      How long podman waits for an answer, less a second (4s)\n"
               "  --id-prefix=PREFIX  What selvold's ids of the volumes begin with\n"
               "  --version, --help\n");
}

/* Returns 0 to go on, 1 to end with success. */
static int parse_plugin_arguments(int argc, char *argv[], PluginArguments *a) {
        enum { ARG_TIMEOUT = 256, ARG_ID_PREFIX, ARG_VERSION, ARG_HELP };
        static const struct option options[] = {
                { "timeout", required_argument, NULL, ARG_TIMEOUT },
                { "id-prefix", required_argument, NULL, ARG_ID_PREFIX },
                { "version", no_argument, NULL, ARG_VERSION },
                { "help", no_argument, NULL, ARG_HELP },
                { 0 },
        };
        int c;

        while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0)
                switch (c) {
                case ARG_TIMEOUT:
                        if (parse_timespan(optarg, &a->timeout_usec) < 0 || a->timeout_usec == 0)
                                return log_error_errno(-EINVAL, "'%s' is not a time such as 4s or 1min.", optarg);
                        break;
                case ARG_ID_PREFIX:
                        a->id_prefix = optarg;
                        break;
                case ARG_VERSION:
                        printf("selvol-volume-plugin %s\n", SELVOL_VERSION);
                        return 1;
                case ARG_HELP:
                        print_plugin_help();
                        return 1;
                default:
                        return -EINVAL;
                }
        if (argc - optind != 2 || !path_is_normalized(argv[optind]) || !path_is_normalized(argv[optind + 1]))
                return log_error_errno(-EINVAL, "selvol-volume-plugin takes the absolute paths of two directories.");
        a->records = argv[optind];
        a->targets = argv[optind + 1];
        return 0;
}

/* Returns the listening socket that systemd has passed, or a negative errno. */
static int take_plugin_socket(void) {
        int n = sd_listen_fds(1);

        if (n != 1 || sd_is_socket(SD_LISTEN_FDS_START, AF_UNIX, SOCK_STREAM, 1) <= 0)
                return log_error_errno(
                        -EINVAL,
                        "There is not exactly one listening Unix socket: start selvol-volume-plugin.socket, which has one.");
        /* accept(2) must not wait: a client may have gone already. */
        if (fcntl(SD_LISTEN_FDS_START, F_SETFL, O_NONBLOCK) < 0)
                return log_error_errno(-errno, "Failed to set up the socket: %m");
        return SD_LISTEN_FDS_START;
}

static int open_directory(const char *path) {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        return fd < 0 ? log_error_errno(-errno, "Failed to open %s: %m", path) : fd;
}

static int run_plugin(const PluginArguments *a) {
        _cleanup_close_ int records = open_directory(a->records), targets = open_directory(a->targets);
        const Plugin plugin = {
                .records = records,
                .targets = targets,
                .targets_path = a->targets,
                .id_prefix = a->id_prefix,
                .timeout_usec = a->timeout_usec,
        };
        int fd, r;

        if (records < 0 || targets < 0)
                return records < 0 ? records : targets;
        fd = take_plugin_socket();
        if (fd < 0)
                return fd;
        r = server_run(fd, &plugin);
        return log_error_errno(r, "The HTTP server failed: %m");
}

int main(int argc, char *argv[]) {
        PluginArguments a = { .id_prefix = "", .timeout_usec = TIMEOUT_DEFAULT_USEC };
        int r;

        r = parse_plugin_arguments(argc, argv, &a);
        if (r != 0)
                return r > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
        (void) signal(SIGPIPE, SIG_IGN);
        return run_plugin(&a) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
